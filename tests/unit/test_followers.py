"""The following index over an engine in memory, whose faults a test can choose."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from remanence.backends.index.bits import BitsIndex
from remanence.backends.index.chroma import Hold
from remanence.backends.index.remote import Engine, EngineDown, FollowingIndex, Points
from remanence.backends.index.remote.engine import MOST, NUMBERS, Nodes, Refused, points_of
from remanence.backends.index.remote.index import FAR, NARROW, WithStandby
from remanence.errors import IndexUnavailable
from remanence.model.embedding import FloatArray
from remanence.model.ports.store import Keys
from remanence.model.ports.vector_index import Nearest
from remanence.testing.patience import until
from remanence.testing.vector_index import DIMENSION, FINGERPRINT, memories, pairs, queries, same
from support.following import FollowedPieces
from support.program import Program

MANY = 8000
QUERY = queries(1)[0]


class HeldEngine:
    """An `Engine` that searches exactly, what it holds in dicts that tests may spoil."""

    def __init__(self, chooses: int = 0) -> None:
        self.chooses = chooses
        self.points: dict[int, dict[tuple[int, int], FloatArray]] = {}
        self.positions: dict[int, int] = {}
        self.refuses: set[int] = set()
        self.before_upsert: Callable[[int], None] = lambda partition: None

    def ensure(self, collection: str, dimension: int) -> None:
        pass

    def nearest(
        self, partition: int, vector: FloatArray, limit: int, allowed: Keys | None = None
    ) -> Nearest:
        held = dict(self.points.get(partition, {}))
        keys, parts = np.array(list(held), np.int64).reshape(-1, 2).T
        scores = np.array(list(held.values()), np.float32).reshape(-1, DIMENSION) @ vector
        wanted = np.isin(keys, allowed) if allowed is not None else np.ones(len(keys), bool)
        order = np.argsort(-scores[wanted])[:limit]
        return Nearest(keys[wanted][order], parts[wanted][order], scores[wanted][order])

    def position(self, partition: int) -> int | None:
        return self.positions.get(partition)

    def replace(self, partition: int, keys: Sequence[int], points: Points, position: int) -> None:
        held = self.points.get(partition, {})
        kept = {where: row for where, row in held.items() if where[0] not in keys}
        self.points[partition] = kept
        self.upsert(partition, points)
        if partition in self.positions:
            self.positions[partition] = position

    def upsert(self, partition: int, points: Points) -> None:
        self.before_upsert(partition)
        if partition in self.refuses:
            raise Refused("too long")
        places = zip(points.keys.tolist(), points.parts.tolist(), strict=True)
        rows = dict(zip(places, points.vectors, strict=True))
        self.points[partition] = {**self.points.get(partition, {}), **rows}

    def set_position(self, partition: int, position: int) -> None:
        self.positions[partition] = position

    def clear(self, partition: int) -> None:
        self.positions.pop(partition, None)
        self.points.pop(partition, None)

    def count(self, partition: int | None = None) -> int:
        chosen = list(self.points) if partition is None else [partition]
        return sum(len(self.points.get(each, {})) for each in chosen)

    def drop(self) -> None:
        self.points, self.positions = {}, {}

    def close(self) -> None:
        pass


@pytest.fixture
def source() -> FollowedPieces:
    return FollowedPieces()


@pytest.fixture
def engine() -> HeldEngine:
    return HeldEngine()


@pytest.fixture
def index(source: FollowedPieces, engine: HeldEngine) -> Iterator[FollowingIndex]:
    made: Engine = engine
    opened = FollowingIndex(source, FINGERPRINT, made, identity=source.identity, small=0)
    yield opened
    opened.close()


def filled(index: FollowingIndex, source: FollowedPieces, count: int = MANY) -> None:
    """Bring so many memories into the engine."""
    source.put(1, memories(count, seed=1))
    index.flush([1])


def far_from_the_query(source: FollowedPieces) -> Keys:
    """Many memories, none of which is among the points an engine is asked for at most."""
    every = source.brute_force(1, QUERY, 10**6).keys
    far = np.setdiff1d(every, every[:FAR])
    assert len(far) > NARROW
    return far


@pytest.mark.parametrize("limit", [5, 3000])
def test_a_filtered_search_finds_the_old_while_the_new_is_unseen(
    index: FollowingIndex, source: FollowedPieces, limit: int
) -> None:
    filled(index, source)
    new = np.arange(10**6, 10**6 + 40)
    allowed = np.concatenate([far_from_the_query(source), new])
    with source.alone(f"follow:{index.collection}:1") as mine:
        assert mine
        source.put(1, dict.fromkeys(new.tolist(), -QUERY[None]))
        same(
            index.nearest(1, QUERY, limit, allowed),
            source.brute_force(1, QUERY, limit, allowed),
        )


@pytest.mark.slow
def test_old_pieces_of_a_changed_memory_do_not_crowd_others_out(
    index: FollowingIndex, source: FollowedPieces
) -> None:
    source.put(1, {10**6: np.repeat(QUERY[None], 200, axis=0)})
    filled(index, source)
    with source.alone(f"follow:{index.collection}:1"):
        source.put(1, {10**6: np.repeat(-QUERY[None], 200, axis=0)})
        same(index.nearest(1, QUERY, 10), source.brute_force(1, QUERY, 10))


def test_an_engine_that_was_not_asked_for_all_is_not_doubted(
    index: FollowingIndex, source: FollowedPieces
) -> None:
    filled(index, source)
    assert len(index.nearest(1, QUERY, 10, far_from_the_query(source)).keys) == 10
    assert not index._worker._doubted


def test_one_partition_that_is_refused_holds_no_other_up(
    index: FollowingIndex, source: FollowedPieces, engine: HeldEngine
) -> None:
    engine.refuses = {1}
    index.stats()
    for partition in (1, 2):
        source.put(partition, memories(600, seed=partition, first=10_000 * partition))
    until(lambda: 2 in engine.positions)
    same(index.nearest(2, QUERY, 5), source.brute_force(2, QUERY, 5))
    with pytest.raises(IndexUnavailable):
        index.nearest(1, QUERY, 5)
    assert index.stats().healthy
    engine.refuses = set()
    until(lambda: 1 in engine.positions)


def test_a_request_is_never_longer_than_a_server_takes() -> None:
    for dimension, most in ((384, MOST), (4096, NUMBERS // 4096)):
        vectors = np.zeros((9000, dimension), np.float32)
        numbers = np.arange(9000)
        cut = list(Points(numbers, numbers, vectors).slices())
        assert max(len(some) for some in cut) == most
        assert np.concatenate([some.keys for some in cut]).tolist() == numbers.tolist()


def test_an_engine_ahead_of_the_store_is_filled_anew(
    index: FollowingIndex, source: FollowedPieces, engine: HeldEngine
) -> None:
    filled(index, source, 100)
    engine.positions[1] += 1000  # the store was set back to an earlier time
    engine.upsert(1, points_of([(10**6, 0, next(source.scan(FINGERPRINT, 1))[2])], DIMENSION))
    index._following.forget()
    source.put(1, {10**7: QUERY[None]})
    assert index.nearest(1, QUERY, 1).keys.tolist() == [10**7]
    until(lambda: engine.position(1) == source.position(1))
    assert (10**6, 0) not in engine.points[1]
    same(index.nearest(1, QUERY, 50), source.brute_force(1, QUERY, 50))


def test_an_engine_emptied_by_another_process_gives_no_short_answer(
    index: FollowingIndex, source: FollowedPieces, engine: HeldEngine
) -> None:
    filled(index, source, 30)
    same(index.nearest(1, QUERY, 100), source.brute_force(1, QUERY, 100))
    with source.alone(f"follow:{index.collection}:1"):
        engine.clear(1)
        same(index.nearest(1, QUERY, 100), source.brute_force(1, QUERY, 100))


def test_nothing_seen_before_is_believed_while_a_partition_is_being_filled(
    index: FollowingIndex, source: FollowedPieces, engine: HeldEngine
) -> None:
    filled(index, source)
    told: list[str] = []

    def search(partition: int) -> None:
        if engine.points.get(partition):
            try:
                found = index.nearest(1, QUERY, 5)
            except IndexUnavailable as error:
                told.append(str(error))
            else:
                told.append(str(pairs(found) == pairs(source.brute_force(1, QUERY, 5))))

    engine.before_upsert = search
    with source.alone(f"follow:{index.collection}:1"):  # the searches wake one who would fill too
        index._following._fill(1)
    assert told
    assert all("is being filled" in each for each in told)


def test_a_client_closed_under_a_request_is_an_engine_that_is_down() -> None:
    nodes = Nodes(["http://127.0.0.1:9"], {})
    nodes.close()
    with pytest.raises(EngineDown):
        nodes.ask("GET", "/", timeout_s=1)


def test_without_a_standby_its_file_goes_with_what_was_erased(
    index: FollowingIndex, source: FollowedPieces, tmp_path: Path
) -> None:
    for act in (WithStandby.flush, WithStandby.rebuild):
        file = tmp_path / "agent.db.index"
        file.write_bytes(b"signs")

        def bits() -> BitsIndex:
            raise AssertionError("nobody needs it")

        act(WithStandby(index, bits, file))
        assert not file.exists()


HOLDER = """
import sys
from remanence.backends.index.chroma import Hold
hold = Hold(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_folder_is_held_by_one_process(tmp_path: Path) -> None:
    folder = str(tmp_path / "chroma")
    with Program(HOLDER, folder) as other:
        assert other.hear() == "held"
        with pytest.raises(EngineDown, match="chroma run"):
            Hold(folder)
        assert other.ended() == 0
    holds = [Hold(folder), Hold(folder)]
    holds[0].release()
    assert refused_to_a_child(folder)
    holds[1].release()
    assert not refused_to_a_child(folder)


def refused_to_a_child(folder: str) -> bool:
    """Whether a forked child cannot have it."""
    child = os.fork()
    if not child:
        try:
            Hold(folder)
        except EngineDown:
            os._exit(7)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
