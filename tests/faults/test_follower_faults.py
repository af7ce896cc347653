"""Engines that die or hang while the store goes on: nothing is lost, and nobody waits long."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remanence import Memory
from remanence.backends.index.chroma import ChromaEngine
from remanence.backends.index.qdrant import QdrantEngine
from remanence.backends.index.remote import Engine, FollowingIndex
from remanence.backends.index.remote.engine import PART_BITS
from remanence.errors import IndexUnavailable
from remanence.model.embedding import FloatArray
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import partition_of
from support import http
from support.following import (
    DIMENSION,
    erase,
    followed,
    held,
    keys_of,
    patiently,
    put,
    stored,
    until,
    vectors,
)
from support.services.process import Service
from support.services.qdrant import Qdrant

TIMEOUT_S = 1.0
ONCE_S = 3 * TIMEOUT_S  # for one wait on a busy machine


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "memory.db", durability="normal")
    yield opened
    opened.close()


@pytest.fixture(params=["qdrant", "chroma"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(request: pytest.FixtureRequest, kind: str) -> Service:
    make: Callable[..., Service] = request.getfixturevalue(f"private_{kind}")
    return make()


@pytest.fixture
def index(store: Store, kind: str, server: Service) -> Iterator[FollowingIndex]:
    engine = (
        QdrantEngine(server.urls, timeout_s=TIMEOUT_S)
        if kind == "qdrant"
        else ChromaEngine(server.url, timeout_s=TIMEOUT_S)
    )
    opened = followed(store, engine)
    yield opened
    opened.close()


@pytest.fixture
def engine(kind: str, server: Service) -> Iterator[Engine]:
    """Another connection to the same server."""
    made: Engine = QdrantEngine(server.urls) if kind == "qdrant" else ChromaEngine(server.url)
    yield made
    made.close()


def seconds(index: FollowingIndex, partition: int) -> float:
    """How long a search takes to say that the index is down."""
    began = time.monotonic()
    with pytest.raises(IndexUnavailable, match="does not answer"):
        index.nearest(partition, vectors(1, 1)[0], 5)
    return time.monotonic() - began


def test_a_dead_engine_costs_little_and_catches_up_when_it_is_back(
    store: Store, index: FollowingIndex, server: Service, engine: Engine
) -> None:
    records = put(store, vectors(50, 1))
    partition = partition_of(store)
    patiently(index, partition, vectors(1, 1)[0], 5)
    assert index.stats().vectors == 50
    server.kill()
    assert seconds(index, partition) < ONCE_S
    assert min(seconds(index, partition) for _ in range(20)) < TIMEOUT_S
    gone = keys_of(store, records[:10])
    erase(store, records[:10])
    put(store, vectors(20, 2))
    index.flush()
    told = index.stats()
    assert (told.healthy, told.vectors, told.behind) == (False, 50, 30)
    assert told.detail
    server.restart()
    assert patiently(index, partition, vectors(1, 2)[0], 1).scores[0] > 0.99
    assert index.stats().healthy
    engine.ensure(index.collection, DIMENSION)
    assert held(engine, partition) == stored(store, partition)
    assert not {key for key, _ in held(engine, partition)} & set(gone)


def test_a_hung_engine_is_waited_for_once(
    store: Store, index: FollowingIndex, server: Service, engine: Engine
) -> None:
    put(store, vectors(50, 1))
    partition = partition_of(store)
    patiently(index, partition, vectors(1, 1)[0], 5)
    hung = server.processes[0].pid
    os.kill(hung, signal.SIGSTOP)
    try:
        put(store, vectors(5, 2))
        assert seconds(index, partition) < ONCE_S
        assert min(seconds(index, partition) for _ in range(20)) < TIMEOUT_S
        began = time.monotonic()
        index.flush(range(1000, 1010))
        assert time.monotonic() - began < ONCE_S
    finally:
        os.kill(hung, signal.SIGCONT)
    assert patiently(index, partition, vectors(1, 2)[0], 1).scores[0] > 0.99
    engine.ensure(index.collection, DIMENSION)
    assert held(engine, partition) == stored(store, partition)


def test_an_engine_that_was_never_there_is_found_when_it_comes(
    store: Store, index: FollowingIndex, server: Service
) -> None:
    server.kill()
    put(store, vectors(5, 1))
    partition = partition_of(store)
    assert seconds(index, partition) < ONCE_S
    assert min(seconds(index, partition) for _ in range(20)) < TIMEOUT_S
    server.restart()
    assert patiently(index, partition, vectors(1, 1)[0], 1).scores[0] > 0.99


class Traffic:
    """Searches and writes without a pause, and how many the index has answered rightly."""

    def __init__(self, store: Store, index: FollowingIndex, partition: int) -> None:
        self._store, self._index, self._partition = store, index, partition
        self._ended = threading.Event()
        self.searched = self.found_new = 0
        self.wrong: list[float] = []
        self.slowest = 0.0
        self._threads = [threading.Thread(target=each) for each in (self._search, self._write)]

    def __enter__(self) -> Traffic:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def more(self, count: int) -> None:
        """Wait for so many answers more, a fifth of them about what was just written."""
        searched, found = self.searched + count, self.found_new + count // 5
        until(lambda: self.searched >= searched and self.found_new >= found)

    def _search(self) -> None:
        (row,) = vectors(1, 1)
        while not self._ended.is_set():
            self.searched += self._answered(row)

    def _write(self) -> None:
        seed = 1000
        while not self._ended.is_set():
            (row,) = vectors(1, seed := seed + 1)
            put(self._store, row[None])
            self.found_new += self._answered(row)

    def _answered(self, row: FloatArray) -> bool:
        began = time.monotonic()
        try:
            (score,) = self._index.nearest(self._partition, row, 1).scores
        except IndexUnavailable:
            return False
        finally:
            self.slowest = max(self.slowest, time.monotonic() - began)
        if score < 0.99:
            self.wrong.append(float(score))
        return True


@pytest.mark.parametrize("node", [0, 2])
def test_one_node_of_three_dies_while_others_search_and_write(
    store: Store, private_qdrant: Callable[..., Qdrant], node: int, request: pytest.FixtureRequest
) -> None:
    cluster = private_qdrant(nodes=3)
    put(store, vectors(200, 1))
    partition = partition_of(store)
    index = followed(store, QdrantEngine(cluster.urls, timeout_s=2, replicas=2))
    request.addfinalizer(index.close)
    patiently(index, partition, vectors(1, 1)[0], 5)
    with Traffic(store, index, partition) as traffic:
        traffic.more(50)
        cluster.kill(node)
        traffic.more(200)
        cluster.restart(node)
        traffic.more(200)
    assert not traffic.wrong
    assert traffic.slowest < 2 * 2 + 1  # a read and a write of one search, at worst
    index.flush()
    until(lambda: all_active(cluster.urls[node], index.collection))
    expected = {key << PART_BITS | part for key, part in stored(store, partition)}
    for url in cluster.urls:
        assert agreed(url, index.collection) == expected


def all_active(url: str, collection: str) -> bool:
    """Whether every replica of every shard is in use."""
    told = http.get(f"{url}/collections/{collection}/cluster").json()["result"]
    shards = [*told["local_shards"], *told["remote_shards"]]
    return all(shard["state"] == "Active" for shard in shards)


def agreed(url: str, collection: str) -> set[int]:
    """The points that all replicas hold alike."""
    told = http.post(
        f"{url}/collections/{collection}/points/scroll?consistency=all",
        json={"limit": 100_000, "with_payload": False},
    ).json()["result"]["points"]
    return {point["id"] for point in told if isinstance(point["id"], int)}


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return str(tmp_path / "erased.db")


def test_erasing_empties_the_index_or_says_that_it_could_not(
    database: str, kind: str, server: Service, engine: Engine
) -> None:
    def erased(user: str) -> list[str]:
        receipt = memory.forget(user_id=user, erase=True).receipt
        assert receipt is not None
        assert memory.erasures.verify(receipt)
        return [one for one in receipt.remains if "could not be reached" in one]

    with Memory(database, index=kind, index_url=server.urls[0]) as memory:
        for user in ("ana", "bob", "eve"):
            memory.add_many([f"{user} keeps bees", f"{user} likes tea"], user_id=user)
        assert memory.search("bees", user_id="ana")
        store, index = memory.parts.store, memory.parts.recall.vectors()
        first = index.first  # type: ignore[attr-defined]
        engine.ensure(first.collection, memory.parts.embedder.fingerprint.dimension)
        everybody = store.recall.partitions(Reach(tenant=memory.tenant, all_users=True))
        until(lambda: index.flush(everybody) and engine.count() == 6)
        assert erased("ana") == []
        assert engine.count() == 4
        server.kill()
        (told,) = erased("bob")
        assert kind in told
        server.restart()
        until(lambda: index.flush(everybody) and engine.count() == 2)
        assert erased("eve") == []
        assert engine.count() == 0
