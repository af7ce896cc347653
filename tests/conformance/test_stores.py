"""Every store against the one suite, and against a dictionary under random actions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import settings

from remanence.model.ports.store import Store
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore
from remanence.testing.store import Reopen, StoreMachine, StoreSuite
from support.services.database_pool import DatabasePool


class TestSqliteStore(StoreSuite):
    @pytest.fixture
    def opened(self) -> Iterator[list[Store]]:
        stores: list[Store] = []
        yield stores
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, tmp_path: Path, opened: list[Store]) -> Store:
        opened.append(SqliteStore(tmp_path / "memory.db", durability="normal"))
        return opened[-1]

    @pytest.fixture
    def reopen(self, tmp_path: Path, opened: list[Store]) -> Reopen:
        def reopen(store: Store) -> Store:
            store.close()
            opened.append(SqliteStore(tmp_path / "memory.db", durability="normal"))
            return opened[-1]

        return reopen


class TestSqliteStoreInMemory(StoreSuite):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        store = SqliteStore(":memory:")
        yield store
        store.close()

    @pytest.fixture
    def reopen(self) -> Reopen:
        return lambda store: store


class TestPostgresStore(StoreSuite):
    @pytest.fixture
    def opened(self) -> Iterator[list[Store]]:
        stores: list[Store] = []
        yield stores
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, postgres_url: str, opened: list[Store]) -> Store:
        opened.append(PostgresStore(postgres_url))
        return opened[-1]

    @pytest.fixture
    def reopen(self, postgres_url: str, opened: list[Store]) -> Reopen:
        def reopen(store: Store) -> Store:
            store.close()
            opened.append(PostgresStore(postgres_url))
            return opened[-1]

        return reopen


MACHINE = settings.get_profile("machine")
HANGS = pytest.mark.timeout(MACHINE.max_examples * 60)  # an example takes about one second


class SqliteMachine(StoreMachine):
    def open_store(self) -> Store:
        return SqliteStore(":memory:")


@HANGS
@pytest.mark.soak
class TestSqliteMachine(SqliteMachine.TestCase):
    settings = MACHINE


class PostgresMachine(StoreMachine):
    pool: ClassVar[DatabasePool]

    def open_store(self) -> Store:
        self.lent = ExitStack()
        return PostgresStore(self.lent.enter_context(self.pool.lent()))

    def teardown(self) -> None:
        with self.lent:
            super().teardown()


@HANGS
@pytest.mark.soak
@pytest.mark.usefixtures("machine_pool")
class TestPostgresMachine(PostgresMachine.TestCase):
    settings = MACHINE

    @pytest.fixture
    def machine_pool(self, postgres_pool: DatabasePool) -> None:
        PostgresMachine.pool = postgres_pool
