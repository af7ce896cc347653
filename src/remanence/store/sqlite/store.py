"""SqliteStore: everything the Store port asks, in one file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from remanence.model.clock import Clock, SystemClock
from remanence.model.ports.store import (
    Archive,
    Documents,
    Keys,
    Knowledge,
    Links,
    RecallSource,
    Tiers,
    Upkeep,
    Vectors,
)
from remanence.store.core.documents import StoredDocuments
from remanence.store.core.links import StoredLinks
from remanence.store.core.recall import StoredRecall
from remanence.store.sqlite.archive import SqliteArchive, SqliteKnowledge
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.opening import Habits, Settings
from remanence.store.sqlite.session import Session, parsed
from remanence.store.sqlite.upkeep import SqliteUpkeep
from remanence.store.sqlite.vectors import Dictionaries, SqliteTiers, SqliteVectors
from remanence.store.words import prefixed

_LOOK_S = 0.05
_COMMON = "-"  # what the block `postings` gives for a term with too many


class SqliteRecall(StoredRecall[Database]):
    """The RecallSource port."""

    _watched: int | None = None

    def watch(self, timeout_s: float) -> list[int]:
        """Partitions written to since the last call; SQLite has no bell, so this looks often."""
        deadline = time.monotonic() + timeout_s
        while not (found := self._written_to()) and time.monotonic() < deadline:
            time.sleep(min(_LOOK_S, max(deadline - time.monotonic(), 0)))
        return found

    def _written_to(self) -> list[int]:
        def work(session: Session) -> list[int]:
            newest = session.value("newest_change")
            seen = newest if self._watched is None else self._watched
            self._watched = newest
            if newest == seen:
                return []
            return [id for (id,) in session.rows("changed_partitions", seen=seen, newest=newest)]

        return self._database.read("", work)

    def postings(self, partition: int, terms: Sequence[str], most: int) -> list[Keys | None]:
        """For each term the keys of the memories that hold it, ascending, once per occurrence."""
        if not terms:
            return []

        def work(session: Session) -> str:
            asked = session.texts_of(prefixed(partition, terms))
            return str(session.value("postings", terms=asked, most=most))

        joined = self._database.read_partition(partition, work)
        return [None if keys == _COMMON else parsed(keys) for keys in joined.split("/")]


class SqliteStore:
    """A store in one SQLite file, or in memory with ":memory:".

    Thread-safe; several processes may have the same file open. `durability="full"` survives a power
    loss, `"normal"` may lose the last writes to one and is faster. `words` says how texts become
    terms, `vfs` names a file system registered with apsw, `clock` dates what doctor does,
    `key` encrypts the file (with apsw-sqlite3mc in the place of apsw).
    """

    def __init__(
        self, path: str | Path, *, clock: Clock | None = None, **habits: Unpack[Habits]
    ) -> None:
        self._database = database = Database(str(path), Settings(**habits))
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
