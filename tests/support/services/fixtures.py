"""The services as pytest fixtures: shared ones that start once per run, private ones to kill."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TypeVar

import pytest
import redis

from support.services.chroma import Chroma
from support.services.database_pool import DatabasePool
from support.services.postgres import Databases, Postgres
from support.services.process import Service
from support.services.qdrant import Qdrant
from support.services.shared import Run, Running, short_folder
from support.services.valkey import Valkey

NODES = 3
S = TypeVar("S", bound=Service)


@pytest.fixture(scope="session")
def service_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """This run. Its workers come and go, so services end with the process that controls them."""
    own = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        return Run(own.parent, os.getppid())
    return Run(own, os.getpid())


@pytest.fixture(scope="session")
def postgres(service_run: Run) -> Iterator[Databases]:
    """The run's PostgreSQL, which never syncs; private ones do."""
    with service_run.service(
        "postgres", lambda folder, owner: Postgres.start(folder, durable=False, owner=owner)
    ) as running:
        yield Databases(running.url)


@pytest.fixture(scope="session")
def postgres_pool(postgres: Databases) -> Iterator[DatabasePool]:
    """Databases with the schema in them, which are emptied and lent again."""
    with closing(DatabasePool(postgres)) as pool:
        yield pool


@pytest.fixture
def postgres_url(postgres_pool: DatabasePool) -> Iterator[str]:
    """A database as a store leaves it that opens an empty one; it is owned by a plain role."""
    with postgres_pool.lent() as url:
        yield url


@pytest.fixture(scope="module")
def postgres_database(postgres_pool: DatabasePool) -> Iterator[str]:
    """Such a database for all tests of a module, which keep apart in it, by tenants for one."""
    with postgres_pool.lent() as url:
        yield url


@pytest.fixture
def bare_postgres_url(postgres: Databases) -> Iterator[str]:
    """A new database with pgvector and nothing else in it, dropped after the test."""
    url = postgres.database()
    yield url
    postgres.drop(url)


@pytest.fixture(scope="session")
def valkey(service_run: Run) -> Iterator[Running]:
    """The run's Valkey; it writes nothing to disk."""
    with service_run.service(
        "valkey", lambda folder, owner: Valkey.start(folder, durable=False, owner=owner)
    ) as running:
        yield running


@pytest.fixture
def valkey_url(valkey: Running) -> Iterator[str]:
    """A database of its own on the run's Valkey, emptied before and after the test."""
    with redis.Redis.from_url(valkey.url) as server:
        databases = int(server.config_get("databases")["databases"])
        number = int(server.incr("remanence:tests")) % (databases - 1) + 1
    url = f"{valkey.url.rstrip('/')}/{number}"
    with redis.Redis.from_url(url) as database:
        database.flushdb()
        yield url
        database.flushdb()


@pytest.fixture(scope="session")
def valkey_cluster(service_run: Run) -> Iterator[Running]:
    """The run's Valkey cluster of three masters; tests part their keys by a prefix."""
    with service_run.service(
        "valkey_cluster",
        lambda folder, owner: Valkey.start(folder, nodes=NODES, durable=False, owner=owner),
    ) as running:
        yield running


@pytest.fixture(scope="session")
def qdrant(service_run: Run) -> Iterator[Running]:
    """The run's Qdrant; tests part their data by the names of collections."""
    with service_run.service(
        "qdrant", lambda folder, owner: Qdrant.start(folder, owner=owner)
    ) as running:
        yield running


@pytest.fixture
def qdrant_url(qdrant: Running) -> str:
    """The address of the run's Qdrant."""
    return qdrant.url


@pytest.fixture(scope="session")
def qdrant_cluster(service_run: Run) -> Iterator[Running]:
    """The run's Qdrant cluster of three nodes."""
    with service_run.service(
        "qdrant_cluster", lambda folder, owner: Qdrant.start(folder, nodes=NODES, owner=owner)
    ) as running:
        yield running


@pytest.fixture(scope="session")
def chroma_server(service_run: Run) -> Iterator[Running]:
    """The run's Chroma; tests part their data by the names of collections."""
    with service_run.service(
        "chroma", lambda folder, owner: Chroma.start(folder, owner=owner)
    ) as running:
        yield running


@pytest.fixture
def chroma_url(chroma_server: Running) -> str:
    """The address of the run's Chroma."""
    return chroma_server.url


@pytest.fixture
def private_postgres() -> Iterator[Callable[..., Postgres]]:
    """Makes PostgreSQL servers for this test alone; takes the options of `Postgres.start`."""
    with _private(Postgres.start) as make:
        yield make


@pytest.fixture
def private_valkey() -> Iterator[Callable[..., Valkey]]:
    """Makes Valkey servers and clusters for this test alone."""
    with _private(Valkey.start) as make:
        yield make


@pytest.fixture
def private_qdrant() -> Iterator[Callable[..., Qdrant]]:
    """Makes Qdrant servers and clusters for this test alone."""
    with _private(Qdrant.start) as make:
        yield make


@pytest.fixture
def private_chroma() -> Iterator[Callable[..., Chroma]]:
    """Makes Chroma servers for this test alone."""
    with _private(Chroma.start) as make:
        yield make


@contextmanager
def _private(start: Callable[..., S]) -> Iterator[Callable[..., S]]:
    with ExitStack() as ends:

        def make(**options: object) -> S:
            folder = short_folder()
            ends.callback(shutil.rmtree, folder)
            service = start(folder, **options)
            ends.callback(service.stop)
            return service

        yield make
