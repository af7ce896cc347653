"""SqliteStore: everything the Store port asks, in one file."""

from __future__ import annotations

from pathlib import Path

from remanence.model.clock import Clock, SystemClock
from remanence.model.ports.store import (
    Archive,
    Documents,
    Knowledge,
    Links,
    RecallSource,
    Tiers,
    Upkeep,
    Vectors,
)
from remanence.store.core.documents import StoredDocuments
from remanence.store.core.links import StoredLinks
from remanence.store.quotas import Quotas
from remanence.store.sqlite.archive import SqliteArchive
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.knowledge import SqliteKnowledge
from remanence.store.sqlite.opening import Settings
from remanence.store.sqlite.recall import SqliteRecall
from remanence.store.sqlite.tiers import Dictionaries, SqliteTiers
from remanence.store.sqlite.upkeep import SqliteUpkeep
from remanence.store.sqlite.vectors import SqliteVectors
from remanence.store.words import Words


class SqliteStore:
    """A store in one SQLite file, or in memory with ":memory:".

    Thread-safe; several processes may have the same file open. `durability="full"` survives a power
    loss, `"normal"` may lose the last writes to one and is faster. `words` says how texts become
    terms, `vfs` names a file system registered with apsw, `clock` dates what doctor does,
    `key` encrypts the file (with apsw-sqlite3mc in the place of apsw).
    """

    def __init__(
        self,
        path: str | Path,
        *,
        durability: str = "full",
        busy_timeout_s: float = 10.0,
        cache_mb: int = 8,
        words: Words | None = None,
        quotas: Quotas | None = None,
        vfs: str | None = None,
        clock: Clock | None = None,
        key: str = "",
    ) -> None:
        settings = Settings(
            durability=durability,
            busy_timeout_s=busy_timeout_s,
            cache_mb=cache_mb,
            words=words or Words(),
            quotas=quotas or Quotas(),
            vfs=vfs,
            key=key,
        )
        self._database = database = Database(str(path), settings)
        dictionaries = Dictionaries(database)
        self.archive: Archive = SqliteArchive(database, dictionaries)
        self.links: Links = StoredLinks(database)
        self.documents: Documents = StoredDocuments(database)
        self.knowledge: Knowledge = SqliteKnowledge(database)
        self.recall: RecallSource = SqliteRecall(database)
        self.vectors: Vectors = SqliteVectors(database)
        self.tiers: Tiers = SqliteTiers(database, dictionaries)
        self.upkeep: Upkeep = SqliteUpkeep(database, dictionaries, clock or SystemClock())

    def close(self) -> None:
        """Release everything; safe to call twice."""
        self._database.connections.close()
