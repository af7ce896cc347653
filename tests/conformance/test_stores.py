"""Every store against the one suite, and against a dictionary under random actions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings

from remanence.ports.store import Store
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore
from remanence.testing.services.postgres import Databases
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


@pytest.fixture(scope="module")
def database(postgres: Databases) -> Iterator[str]:
    """One database for the whole module; who uses it empties it first."""
    url = postgres.database()
    PostgresStore(url).close()
    yield url
    postgres.drop(url)


def emptied(url: str) -> str:
    """The database without a row of any tenant; tables and numbers stay as they are."""
    with psycopg.connect(url) as connection:
        walled = connection.execute(
            "SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid"
            " WHERE a.attname = 'tenant' AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
        ).fetchall()
        for (tenant,) in connection.execute("SELECT id::text FROM tenants").fetchall():
            connection.execute("SELECT set_config('remanence.tenant', %s, true)", (tenant,))
            for (name,) in walled:
                connection.execute(f"DELETE FROM {name}")
        connection.execute("DELETE FROM tenants")
        connection.execute("DELETE FROM embedders")
    return url


class TestPostgresStore(StoreSuite):
    @pytest.fixture
    def opened(self) -> Iterator[list[Store]]:
        stores: list[Store] = []
        yield stores
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, database: str, opened: list[Store]) -> Store:
        opened.append(PostgresStore(emptied(database)))
        return opened[-1]

    @pytest.fixture
    def reopen(self, database: str, opened: list[Store]) -> Reopen:
        def reopen(store: Store) -> Store:
            store.close()
            opened.append(PostgresStore(database))
            return opened[-1]

        return reopen


MACHINE = settings(
    max_examples=200,
    stateful_step_count=50,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class SqliteMachine(StoreMachine):
    def open_store(self) -> Store:
        return SqliteStore(":memory:")


TestSqliteMachine = SqliteMachine.TestCase
TestSqliteMachine.settings = MACHINE


class PostgresMachine(StoreMachine):
    url = ""

    def open_store(self) -> Store:
        return PostgresStore(emptied(self.url))


@pytest.mark.usefixtures("machine_database")
class TestPostgresMachine(PostgresMachine.TestCase):
    settings = MACHINE

    @pytest.fixture
    def machine_database(self, database: str) -> None:
        PostgresMachine.url = database
