"""PostgresStore: everything the Store port asks, in one PostgreSQL database."""

from __future__ import annotations

from remanence.clock import Clock, SystemClock
from remanence.store.postgres.archive import PostgresArchive
from remanence.store.postgres.database import Database
from remanence.store.postgres.dictionaries import Dictionaries
from remanence.store.postgres.documents import PostgresDocuments
from remanence.store.postgres.knowledge import PostgresKnowledge
from remanence.store.postgres.known import PostgresKnowledgeSource
from remanence.store.postgres.links import PostgresLinks
from remanence.store.postgres.opening import Settings
from remanence.store.postgres.recall import PostgresRecall
from remanence.store.postgres.tiers import PostgresTiers
from remanence.store.postgres.upkeep import PostgresUpkeep
from remanence.store.postgres.vectors import PostgresVectors
from remanence.store.postgres.watching import Watcher
from remanence.store.postgres.wording import follow_terms
from remanence.store.quotas import Quotas
from remanence.store.words import Words


class PostgresStore(
    PostgresArchive,
    PostgresLinks,
    PostgresDocuments,
    PostgresKnowledge,
    PostgresKnowledgeSource,
    PostgresRecall,
    PostgresVectors,
    PostgresTiers,
    PostgresUpkeep,
):
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
        self._database = Database(settings)
        self._clock = clock or SystemClock()
        self._watcher = Watcher(self._database)
        self._dictionaries = Dictionaries(self._database)
        follow_terms(self._database)
