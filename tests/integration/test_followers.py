"""Qdrant and Chroma following real stores: restarts, losses, erasure, several processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from remanence.backends.index.chroma import ChromaEngine
from remanence.backends.index.qdrant import QdrantEngine
from remanence.backends.index.remote import Engine, FollowingIndex, Points
from remanence.backends.index.remote.engine import points_of
from remanence.errors import Closed, IndexUnavailable
from remanence.model.ports.store import Store
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore
from remanence.testing.patience import HANG_S
from remanence.testing.store_suites.making import partition_of, revise
from support.following import (
    DIMENSION,
    FINGERPRINT,
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
from support.program import Program

ENGINES = ("qdrant", "chroma")
FAR = 700  # more than a search applies itself
Open = Callable[[], FollowingIndex]

FOLLOWER = """
import sys
from support.following import (FINGERPRINT, erase, followed, patiently, put, vectors)
from remanence.testing.patience import HANG_S
from remanence.testing.store_suites.making import partition_of
if sys.argv[1].startswith("postgresql://"):
    from remanence.store.postgres import PostgresStore as Opened
else:
    from remanence.store.sqlite import SqliteStore as Opened
if sys.argv[2] == "qdrant":
    from remanence.backends.index.qdrant import QdrantEngine as Engine
    where = [sys.argv[3]]
else:
    from remanence.backends.index.chroma import ChromaEngine as Engine
    where = sys.argv[3]
store = Opened(sys.argv[1])
index = followed(store, Engine(where, timeout_s=HANG_S))
partition = partition_of(store)
for n in range(12):
    rows = vectors(6, int(sys.argv[4]) * 1000 + n)
    records = put(store, rows)
    patiently(index, partition, rows[0], 5)
    erase(store, records[::2])
    patiently(index, partition, rows[0], 5)
index.close()
store.close()
"""


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return str(tmp_path / "memory.db")


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    server = database.startswith("postgresql://")
    opened: Store = PostgresStore(database) if server else SqliteStore(database)
    yield opened
    opened.close()


@pytest.fixture(params=ENGINES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def address(request: pytest.FixtureRequest, kind: str) -> str:
    return str(request.getfixturevalue(f"{kind}_url"))


@pytest.fixture
def open_index(store: Store, kind: str, address: str) -> Iterator[Open]:
    opened: list[FollowingIndex] = []

    def open_index() -> FollowingIndex:
        opened.append(
            followed(store, QdrantEngine([address], timeout_s=HANG_S))
            if kind == "qdrant"
            else followed(store, ChromaEngine(address, timeout_s=HANG_S))
        )
        return opened[-1]

    yield open_index
    for index in opened:
        index.close()


@pytest.fixture
def engine(kind: str, address: str, open_index: Open) -> Iterator[Engine]:
    """Another connection to the same collection, to look into it and to spoil it."""
    made: Engine = (
        QdrantEngine([address], timeout_s=HANG_S)
        if kind == "qdrant"
        else ChromaEngine(address, timeout_s=HANG_S)
    )
    made.ensure(open_index().collection, DIMENSION)
    yield made
    made.drop()
    made.close()


def filled(store: Store, open_index: Open, count: int = FAR) -> tuple[FollowingIndex, int]:
    """An index that is up to date with so many memories, and their partition."""
    put(store, vectors(count, 1))
    index, partition = open_index(), partition_of(store)
    patiently(index, partition, vectors(1, 1)[0], 5)
    return index, partition


def _none() -> Points:
    return points_of([], DIMENSION)


def _points(store: Store, partition: int) -> Points:
    return points_of(store.vectors.scan(FINGERPRINT, partition), DIMENSION)


@contextmanager
def held_back(store: Store, index: FollowingIndex, partition: int) -> Iterator[None]:
    """Nobody can bring the partition up to date meanwhile."""
    with ExitStack() as tried:
        name = f"follow:{index.collection}:{partition}"
        until(lambda: tried.enter_context(store.upkeep.alone(name)))
        yield


def test_far_behind_it_says_so_and_catches_up(
    store: Store, open_index: Open, engine: Engine
) -> None:
    rows = vectors(2 * FAR, 1)
    put(store, vectors(1, 2))
    index, partition = open_index(), partition_of(store)
    for part, behind in ((rows[:FAR], FAR + 1), (rows[FAR:], FAR)):
        with held_back(store, index, partition):
            put(store, part)
            with pytest.raises(IndexUnavailable, match="behind the store"):
                index.nearest(partition, part[0], 5)
            assert index.stats().behind == behind
        assert patiently(index, partition, part[0], 5).scores[0] > 0.99
        index.flush()
        assert index.stats().behind == 0
    assert index.stats().vectors == 2 * FAR + 1
    assert held(engine, partition) == stored(store, partition)


def test_what_the_engine_has_yet_to_hear_of_is_found_all_the_same(
    store: Store, open_index: Open, engine: Engine
) -> None:
    index, partition = filled(store, open_index, 50)
    with held_back(store, index, partition):
        at = engine.position(partition)
        (record,) = put(store, vectors(1, 2))
        (key,) = keys_of(store, [record])
        for exact in (True, False):
            found = index.nearest(partition, vectors(1, 2)[0], 5, exact=exact)
            assert (found.keys[0], len(found.keys)) == (key, 5)
        erase(store, [record])
        assert key not in index.nearest(partition, vectors(1, 2)[0], 5).keys
        assert engine.position(partition) == at
    until(lambda: engine.position(partition) == store.recall.position(partition))


def test_a_little_behind_it_answers_with_what_is_new(store: Store, open_index: Open) -> None:
    index, partition = filled(store, open_index, 50)
    for seed in range(10, 20):
        (row,) = vectors(1, seed)
        (record,) = put(store, row[None])
        (key,) = keys_of(store, [record])
        assert index.nearest(partition, row, 1).keys.tolist() == [key]
        revise(store, record.id, text="another", pieces=None)
        assert key not in index.nearest(partition, row, 5).keys


def test_the_next_run_goes_on_from_the_position(
    store: Store, open_index: Open, engine: Engine
) -> None:
    index, partition = filled(store, open_index)
    index.close()
    with pytest.raises(Closed):
        index.nearest(partition, vectors(1, 1)[0], 5)
    put(store, vectors(20, 2))
    assert engine.position(partition) is not None
    assert len(open_index().nearest(partition, vectors(1, 2)[0], 5).keys) == 5
    until(lambda: engine.position(partition) == store.recall.position(partition))
    assert held(engine, partition) == stored(store, partition)


@pytest.mark.parametrize("running", [True, False])
def test_a_lost_collection_is_filled_again(
    store: Store, open_index: Open, engine: Engine, running: bool
) -> None:
    index, partition = filled(store, open_index)
    if not running:
        index.close()
        index = open_index()
    engine.drop()
    with pytest.raises(IndexUnavailable):
        index.nearest(partition, vectors(1, 1)[0], 5)
    assert len(patiently(index, partition, vectors(1, 1)[0], 5).keys) == 5
    engine.ensure(index.collection, DIMENSION)
    assert held(engine, partition) == stored(store, partition)


def test_lost_points_are_noticed_and_filled_again(
    store: Store, open_index: Open, engine: Engine
) -> None:
    index, partition = filled(store, open_index, 40)
    gone = keys_of(store, put(store, vectors(1, 2)))
    index.flush()
    position = engine.position(partition)
    assert position is not None
    lost = [key for key, _ in stored(store, partition)][:30]
    engine.replace(partition, lost, _none(), position)
    found = index.nearest(partition, vectors(1, 2)[0], 20)
    assert (len(found.keys), found.keys[0]) == (20, gone[0])
    until(lambda: engine.position(partition) is not None and engine.count(partition) == 41)
    assert held(engine, partition) == stored(store, partition)


def test_what_is_erased_leaves_the_engine_with_the_flush(
    store: Store, open_index: Open, engine: Engine
) -> None:
    index, partition = filled(store, open_index, 50)
    (row,) = vectors(1, 3)
    records = put(store, row[None])
    (key,) = keys_of(store, records)
    index.flush()
    assert (key, 0) in held(engine, partition)
    erase(store, records)
    index.flush()
    assert (key, 0) not in held(engine, partition)


def test_a_flush_reaches_partitions_it_is_told_of(
    store: Store, open_index: Open, engine: Engine
) -> None:
    records = put(store, vectors(3, 1), user="ana")
    partition = partition_of(store, user_id="ana")
    open_index().flush([partition])
    erase(store, records[:1])
    open_index().flush([partition])
    assert held(engine, partition) == stored(store, partition)


def test_what_others_write_is_followed_in_the_background(
    store: Store, open_index: Open, engine: Engine
) -> None:
    _, partition = filled(store, open_index, 5)
    put(store, vectors(5, 2))
    until(lambda: engine.position(partition) == store.recall.position(partition))
    assert held(engine, partition) == stored(store, partition)


def test_rebuilding_fills_every_partition_and_tells_how_far_it_is(
    store: Store, open_index: Open, engine: Engine
) -> None:
    for tenant in ("t", "other"):
        for user in ("ana", "bo", None):
            put(store, vectors(7, 1), user, tenant)
    index = open_index()
    told: list[tuple[int, int]] = []
    index.follow_all(lambda done, total: told.append((done, total)))
    assert told == [(done, 6) for done in range(7)]
    engine.upsert(10**6, _points(store, partition_of(store)))
    told.clear()
    index.rebuild(lambda done, total: told.append((done, total)))
    assert told == [(done, 6) for done in range(7)]
    engine.ensure(index.collection, DIMENSION)
    assert engine.count() == index.stats().vectors == 6 * 7
    mine = partition_of(store, tenant="other", user_id="bo")
    assert held(engine, mine) == stored(store, mine)


def test_two_processes_that_follow_at_once_leave_exactly_the_stores_pieces(
    database: str, store: Store, kind: str, address: str, open_index: Open, engine: Engine
) -> None:
    _, partition = filled(store, open_index, 5)
    running = [Program(FOLLOWER, database, kind, address, seed) for seed in range(2)]
    assert [program.ended() for program in running] == [0, 0]
    open_index().flush([partition])
    assert len(stored(store, partition)) == 5 + 2 * 12 * 3
    assert held(engine, partition) == stored(store, partition)


def test_a_forked_child_follows_by_itself(store: Store, open_index: Open, engine: Engine) -> None:
    index, partition = filled(store, open_index, 20)
    (row,) = vectors(1, 2)
    child = os.fork()
    if not child:
        try:
            put(store, row[None])
            done = patiently(index, partition, row, 1).scores[0] > 0.99
            put(store, -row[None])
            until(lambda: engine_position(index, partition) == store.recall.position(partition))
            os._exit(0 if done else 3)
        except BaseException:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert index.nearest(partition, -row, 1).scores[0] > 0.99
    assert held(engine, partition) == stored(store, partition)


def test_very_long_memories_reach_qdrant(qdrant_url: str) -> None:
    engine, partition, count = QdrantEngine([qdrant_url], timeout_s=HANG_S), 5, 9000
    engine.ensure(f"remanence_long_{uuid4().hex}", 384)
    try:
        engine.set_position(partition, 1)
        rows = np.random.default_rng(1).standard_normal((count, 384)).astype(np.float32)
        points = Points(np.full(count, 7), np.arange(count), rows)
        engine.replace(partition, [7], points, 2)
        assert (engine.count(partition), engine.position(partition)) == (count, 2)
        engine.replace(partition, [7], points_of([], 384), 3)
        assert (engine.count(partition), engine.position(partition)) == (0, 3)
    finally:
        engine.drop()
        engine.close()


SECOND = """
import sys
from remanence.errors import IndexUnavailable
from remanence.backends.index.chroma import ChromaEngine
from remanence.store.sqlite import SqliteStore
from support.following import followed, patiently, vectors
from remanence.testing.store_suites.making import partition_of
store = SqliteStore(sys.argv[1])
index = followed(store, ChromaEngine(sys.argv[2]))
try:
    index.nearest(partition_of(store), vectors(1, 1)[0], 5)
except IndexUnavailable as error:
    print("another process has the folder" in str(error), flush=True)
sys.stdin.readline()
for seed in (1, 2):
    print(patiently(index, partition_of(store), vectors(1, seed)[0], 1).scores[0] > 0.99)
index.close()
store.close()
"""


def test_a_chroma_folder_serves_one_process_and_then_the_next(tmp_path: Path) -> None:
    database, folder = str(tmp_path / "memory.db"), str(tmp_path / "chroma")
    store = SqliteStore(database)
    index = followed(store, ChromaEngine(folder))
    put(store, vectors(20, 1))
    patiently(index, partition_of(store), vectors(1, 1)[0], 5)
    with Program(SECOND, database, folder) as other:
        assert other.hear() == "True"
        put(store, vectors(20, 2))
        index.flush()
        index.close()
        assert (other.rest(), other.returncode) == ("True\nTrue\n", 0)
    store.close()


def engine_position(index: FollowingIndex, partition: int) -> int | None:
    """The position as the index's own connection reads it."""
    with index._following.access.engine() as engine:
        return engine.position(partition)
