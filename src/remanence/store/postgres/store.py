"""PostgresStore: everything the Store port asks, in one PostgreSQL database."""

from __future__ import annotations

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
from remanence.store.postgres.archive import PostgresArchive
from remanence.store.postgres.database import Database
from remanence.store.postgres.doctor import follow_terms
from remanence.store.postgres.knowledge import PostgresKnowledge
from remanence.store.postgres.opening import Settings
from remanence.store.postgres.recall import PostgresRecall, Watcher
from remanence.store.postgres.upkeep import PostgresUpkeep
from remanence.store.postgres.vectors import Dictionaries, PostgresTiers, PostgresVectors
from remanence.store.quotas import Quotas
from remanence.store.words import Words


class PostgresStore:
    """A store in a PostgreSQL database that many processes share.

    The role must be a plain one that owns the database, with pgvector in it; what is missing is
    refused with the command that mends it. `pool_size` connections stay open and up to `overflow`
    more come under load; a lost server is waited for until `timeout_s`, a statement may take
    `statement_timeout_s`. `tls` is libpq's sslmode, unless the URL has one. With `migrate=False` a
    schema that is missing or old is refused rather than brought up to date. A pooler in between
    must work by session: settings and prepared statements belong to a connection here.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 4,
        overflow: int = 4,
        timeout_s: float = 10.0,
        statement_timeout_s: float = 30.0,
        tls: str = "prefer",
        migrate: bool = True,
        words: Words | None = None,
        quotas: Quotas | None = None,
        clock: Clock | None = None,
    ) -> None:
        settings = Settings(
            url=url,
            pool_size=pool_size,
            overflow=overflow,
            timeout_s=timeout_s,
            statement_timeout_s=statement_timeout_s,
            tls=tls,
            migrate=migrate,
            words=words or Words(),
            quotas=quotas or Quotas(),
        )
        database = Database(settings)
        self._watcher = Watcher(database)
        self._clock = clock or SystemClock()
        self._divide(database)
        follow_terms(database)

    def _divide(self, database: Database) -> None:
        """Make the parts, over this database."""
        self._database, dictionaries = database, Dictionaries(database)
        self.archive: Archive = PostgresArchive(database, dictionaries)
        self.links: Links = StoredLinks(database)
        self.documents: Documents = StoredDocuments(database)
        self.knowledge: Knowledge = PostgresKnowledge(database)
        self.recall: RecallSource = PostgresRecall(database, self._watcher)
        self.vectors: Vectors = PostgresVectors(database)
        self.tiers: Tiers = PostgresTiers(database, dictionaries)
        self.upkeep: Upkeep = PostgresUpkeep(database, dictionaries, self._clock)

    def close(self) -> None:
        """Release everything; safe to call twice."""
        self._watcher.close()
        self._database.connections.close()
