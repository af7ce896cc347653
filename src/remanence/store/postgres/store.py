"""PostgresStore: everything the Store port asks, in one PostgreSQL database."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Unpack

import numpy as np
import psycopg

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
from remanence.store.postgres.archive import PostgresArchive
from remanence.store.postgres.arrays import int8s, occurrences, term_numbers
from remanence.store.postgres.database import Database
from remanence.store.postgres.doctor import follow_terms
from remanence.store.postgres.faults import is_lost, translated
from remanence.store.postgres.knowledge import PostgresKnowledge
from remanence.store.postgres.opening import Habits, PatientConnection, Settings, connect_for_upkeep
from remanence.store.postgres.transactions import CHANNEL
from remanence.store.postgres.upkeep import PostgresUpkeep
from remanence.store.postgres.vectors import Dictionaries, PostgresTiers, PostgresVectors

_PAUSE_S = 0.2
_BELL = re.compile(r"([0-9]{1,9}):([0-9]{1,18})")


class Watcher:
    """Listens from its first call on. Whatever it may have missed counts as written to."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._begin()

    def watch(self, timeout_s: float) -> list[int]:
        """Partitions that somebody rang for since the last call."""
        deadline = time.monotonic() + timeout_s
        with self._own_lock(), translated(self._database.settings.where):
            while True:
                self._database.connections.check_open()
                try:
                    if self._begins():
                        return self._database.known()
                    return self._heard(max(deadline - time.monotonic(), 0))
                except psycopg.Error as error:
                    self._drop()
                    if not is_lost(error) or time.monotonic() + _PAUSE_S > deadline:
                        raise
                    time.sleep(_PAUSE_S)

    def close(self) -> None:
        """Stop listening."""
        with self._own_lock():
            self._drop()

    def _begin(self) -> None:
        self._process, self._lock = os.getpid(), threading.Lock()
        self._connection: PatientConnection | None = None

    def _own_lock(self) -> threading.Lock:
        """A forked child has its own: a thread of the parent may hold the inherited one for ever.

        Nor can the lock be held across forks: each would wait out a watch.
        """
        if self._process != os.getpid():
            self._begin()
        return self._lock

    def _begins(self) -> bool:
        if self._connection is not None:
            return False
        connection = connect_for_upkeep(self._database.settings)
        connection.execute(f"LISTEN {CHANNEL}")
        self._connection = connection
        return True

    def _heard(self, timeout_s: float) -> list[int]:
        assert self._connection is not None
        found: dict[int, None] = {}
        for wait in (timeout_s, 0):
            for bell in self._connection.notifies(timeout=wait, stop_after=1):
                # Every role of the database may ring, with whatever it likes.
                if told := _BELL.fullmatch(bell.payload):
                    tenant, partition = map(int, told.groups())
                    self._database.heard_of(tenant, partition)
                    found[partition] = None
            if not found:
                break
        return list(found)

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
        self._connection = None


class PostgresRecall(StoredRecall[Database]):
    """The RecallSource port."""

    def __init__(self, database: Database, watcher: Watcher) -> None:
        super().__init__(database)
        self._watcher = watcher

    def watch(self, timeout_s: float) -> list[int]:
        """Partitions written to since the last call; the server rings."""
        return self._watcher.watch(timeout_s)

    def postings(self, partition: int, terms: Sequence[str], most: int) -> list[Keys | None]:
        """For each term the keys of the memories that hold it, ascending, once per occurrence."""
        asked = {"terms": int8s(term_numbers(partition, terms)), "most": most + 1}
        rows = self._database.read_partition(
            partition, lambda session: session.rows("postings", **asked)
        )
        if rows is None:
            return [np.empty(0, np.int64) for _ in terms]
        found = [occurrences(places) for (places,) in rows]
        return [keys if len(keys) <= most else None for keys in found]


class PostgresStore:
    """A store in a PostgreSQL database that many processes share.

    The role must be a plain one that owns the database, with pgvector in it; what is missing is
    refused with the command that mends it. `pool_size` connections stay open and up to `overflow`
    more come under load; a lost server is waited for until `timeout_s`, a statement may take
    `statement_timeout_s`. `tls` is libpq's sslmode, unless the URL has one. With `migrate=False` a
    schema that is missing or old is refused rather than brought up to date. A pooler in between
    must work by session: settings and prepared statements belong to a connection here.
    """

    def __init__(self, url: str, *, clock: Clock | None = None, **habits: Unpack[Habits]) -> None:
        database = Database(Settings(url=url, **habits))
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
