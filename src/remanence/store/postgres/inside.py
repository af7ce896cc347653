"""A store inside a transaction that is open already: what it does is kept or lost with that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from remanence.store.postgres.database import Database
from remanence.store.postgres.dictionaries import Dictionaries
from remanence.store.postgres.opening import PatientConnection
from remanence.store.postgres.schema import read_facts
from remanence.store.postgres.session import Session
from remanence.store.postgres.store import PostgresStore
from remanence.store.postgres.transactions import Transactions

T = TypeVar("T")


class Inside(Transactions):
    """Reads and writes on one connection; nothing is tried again."""

    def __init__(self, database: Database, connection: PatientConnection) -> None:
        super().__init__(database.connections)
        self._connection = connection

    def read(self, tenant: int, work: Callable[[Session], T]) -> T:
        """Do it now."""
        return work(Session(self._connection, tenant))

    def write(
        self, find_tenant: Callable[[PatientConnection], int], work: Callable[[Session], T]
    ) -> T:
        """Do it now, whole or not at all."""
        with self._connection.transaction():
            return work(Session(self._connection, find_tenant(self._connection)))


class StoreInside(PostgresStore):
    """The store as the open transaction sees it. It is not closed: the connection is another's."""

    def __init__(self, store: PostgresStore, connection: PatientConnection) -> None:
        self._database = store._database.inside(
            read_facts(connection), Inside(store._database, connection)
        )
        self._clock = store._clock
        self._watcher = store._watcher
        self._dictionaries = Dictionaries(self._database)
