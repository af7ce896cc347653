"""Every store against the one suite, and against a dictionary under random actions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from remanence.ports.store import Store
from remanence.store.sqlite import SqliteStore
from remanence.testing.store import Reopen, StoreMachine, StoreSuite


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


class SqliteMachine(StoreMachine):
    def open_store(self) -> Store:
        return SqliteStore(":memory:")


TestSqliteMachine = SqliteMachine.TestCase
TestSqliteMachine.settings = settings(
    max_examples=200,
    stateful_step_count=50,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
