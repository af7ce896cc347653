"""Conformance suite of the VectorIndex port, and the in-memory source of pieces it runs on."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Self, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from remanence.errors import InvalidInput
from remanence.model.embedding import Fingerprint, FloatArray, quantised, restored
from remanence.model.ports.pieces import StoredPiece, StoredPieces
from remanence.model.ports.store import Change, Keys
from remanence.model.ports.vector_index import Nearest, VectorIndex

DIMENSION = 96
FINGERPRINT = Fingerprint("suite", "0" * 64, DIMENSION, "mean")


class PieceSource:
    """Pieces and a change feed in memory: the part of a store that an index follows."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pieces: dict[int, list[bytes]] = {}
        self._partition_of: dict[int, int] = {}
        self._feeds: defaultdict[int, list[Change]] = defaultdict(list)
        self._seq = 0
        self._listed: tuple[int, int, Nearest, FloatArray] | None = None

    @property
    def parts(self) -> Self:
        """What an index reads of a store are parts of it; this is each of them."""
        return self

    recall = vectors = upkeep = parts

    def put(self, partition: int, vectors: dict[int, FloatArray]) -> None:
        """Store (or replace) memories: a key and its pieces' vectors, a row each."""
        packed = {key: [quantised(row) for row in rows] for key, rows in vectors.items()}
        with self._lock:
            self._pieces |= packed
            self._partition_of |= dict.fromkeys(packed, partition)
            self._announce(partition, packed)

    def remove(self, partition: int, keys: Iterable[int]) -> None:
        """Erase memories."""
        gone = list(keys)
        with self._lock:
            self.lose(gone)
            self._announce(partition, gone)

    def lose(self, keys: Iterable[int]) -> None:
        """Erase memories without a word in the feed, as no store should."""
        for key in keys:
            self._pieces.pop(key, None)
            self._partition_of.pop(key, None)

    def position(self, partition: int) -> int:
        with self._lock:
            return self._feeds[partition][-1].seq if self._feeds[partition] else 0

    def changes(self, partition: int, after: int, limit: int) -> list[Change]:
        with self._lock:
            feed = self._feeds[partition]
            first = bisect_right(feed, after, key=attrgetter("seq"))
            return feed[first : first + limit]

    def pieces(self, fingerprint: Fingerprint, partition: int, keys: Sequence[int]) -> StoredPieces:
        assert fingerprint == FINGERPRINT
        with self._lock:
            return StoredPieces.of(
                StoredPiece(key, part, 0, 0, 0, vector, b"")
                for key in sorted(keys)
                for part, vector in enumerate(self._pieces.get(key, []))
            )

    def scan(self, fingerprint: Fingerprint, partition: int) -> Iterator[tuple[int, int, bytes]]:
        assert fingerprint == FINGERPRINT
        with self._lock:
            keys = sorted(key for key, at in self._partition_of.items() if at == partition)
            held = [(key, self._pieces[key]) for key in keys]
        for key, parts in held:
            for part, vector in enumerate(parts):
                yield key, part, vector

    def brute_force(
        self, partition: int, query: FloatArray, limit: int, allowed: Keys | None = None
    ) -> Nearest:
        """The right answer."""
        every, vectors = self._everything(partition)
        within = np.isin(every.keys, [] if allowed is None else allowed) | (allowed is None)
        keys, parts = every.keys[within], every.parts[within]
        scores = np.vecdot(vectors[within], query)
        order = np.lexsort((parts, keys, -scores))[:limit]
        return Nearest(keys[order], parts[order], scores[order])

    def _everything(self, partition: int) -> tuple[Nearest, FloatArray]:
        """All pieces of a partition, kept until something changes."""
        if self._listed is None or self._listed[:2] != (self._seq, partition):
            rows = list(self.scan(FINGERPRINT, partition))
            keys, parts = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
            vectors = restored([vector for _, _, vector in rows]).reshape(-1, DIMENSION)
            found = Nearest(keys, parts, np.empty(0, np.float32))
            self._listed = (self._seq, partition, found, vectors)
        return self._listed[2:]

    def _announce(self, partition: int, keys: Iterable[int]) -> None:
        for key in keys:
            self._seq += 1
            self._feeds[partition].append(Change(self._seq, key))


OpenIndex: TypeAlias = Callable[[PieceSource], VectorIndex]


class VectorIndexSuite:
    """Subclass it, give it an `open_index` fixture, and the index is tested.

    `open_index(source)` opens an index over a source; called again with the same source it is
    the next run of the same program. `exact` is the largest partition answered without error,
    `large` a size beyond it at which recall@10 is measured.
    """

    exact = 300
    large = 3000
    recall = 0.98

    @pytest.fixture
    def open_index(self) -> Iterator[OpenIndex]:
        raise NotImplementedError("give the suite an `open_index` fixture")

    @pytest.fixture
    def source(self) -> PieceSource:
        return PieceSource()

    @pytest.fixture
    def index(self, open_index: OpenIndex, source: PieceSource) -> VectorIndex:
        return open_index(source)

    def test_a_small_partition_is_answered_exactly(
        self, index: VectorIndex, source: PieceSource
    ) -> None:
        source.put(1, memories(self.exact // 2, seed=1))
        for query in queries(20):
            same(index.nearest(1, query, 10), source.brute_force(1, query, 10))

    def test_a_large_partition_is_answered_nearly_exactly(
        self, index: VectorIndex, source: PieceSource
    ) -> None:
        source.put(1, memories(self.large, seed=2))
        assert recall(index, source) >= self.recall

    def test_scores_are_cosines_best_first(self, index: VectorIndex, source: PieceSource) -> None:
        source.put(1, memories(self.large, seed=3))
        query = queries(1)[0]
        found = index.nearest(1, 3 * query, 50)
        assert np.all(np.diff(found.scores) <= 0)
        truth = scores_of(source, query)
        told = [truth[key, part] for key, part in pairs(found)]
        np.testing.assert_allclose(found.scores, told, atol=1e-5)

    def test_an_unknown_partition_is_empty(self, index: VectorIndex, source: PieceSource) -> None:
        assert not len(index.nearest(7, queries(1)[0], 10).keys)
        source.put(7, memories(1, seed=4))
        assert len(index.nearest(7, queries(1)[0], 10).keys)

    @pytest.mark.parametrize("limit", [0, 1, 10, 200, 10_000])
    def test_as_many_pieces_as_asked_for_come_back(
        self, index: VectorIndex, source: PieceSource, limit: int
    ) -> None:
        for partition, count in ((1, self.exact // 2), (2, self.large)):
            source.put(partition, memories(count, seed=5, first=100_000 * partition))
            there = len(list(source.scan(FINGERPRINT, partition)))
            found = pairs(index.nearest(partition, queries(1)[0], limit))
            assert min(limit, there) <= len(found) == len(set(found))

    @pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.2, 0.7, 1.0])
    def test_only_allowed_memories_come_back_and_all_that_are_asked_for(
        self, index: VectorIndex, source: PieceSource, share: float
    ) -> None:
        source.put(1, memories(self.large, seed=6))
        keys = np.unique([key for key, _, _ in source.scan(FINGERPRINT, 1)])
        rng = np.random.default_rng(6)
        allowed = np.sort(rng.choice(keys, int(share * len(keys)), replace=False))
        assert recall(index, source, allowed) >= self.recall

    def test_allowed_keys_may_be_unknown(self, index: VectorIndex, source: PieceSource) -> None:
        for partition, count in ((1, self.exact // 2), (2, self.large)):
            source.put(partition, memories(count, seed=7, first=100_000 * partition))
            known = np.arange(100_000 * partition + 1, 100_000 * partition + 9, dtype=np.int64)
            allowed = np.concatenate([np.arange(-3, 3), known, [2**40, 2**62]]).astype(np.int64)
            query = queries(1)[0]
            found = index.nearest(partition, query, 30, allowed)
            same(found, source.brute_force(partition, query, 30, allowed))
            assert not len(index.nearest(partition, query, 30, allowed[:6]).keys)

    def test_partitions_never_see_each_other(self, index: VectorIndex, source: PieceSource) -> None:
        source.put(1, memories(self.exact // 2, seed=8))
        source.put(2, memories(self.large, seed=8, first=50_000))
        for partition in (1, 2, 1):
            own = {key for key, _, _ in source.scan(FINGERPRINT, partition)}
            assert set(index.nearest(partition, queries(1)[0], 50).keys.tolist()) <= own

    @pytest.mark.parametrize("size", ["exact", "large"])
    def test_it_follows_every_kind_of_change(
        self, index: VectorIndex, source: PieceSource, size: str
    ) -> None:
        count = {"exact": self.exact // 3, "large": self.large}[size]
        source.put(1, memories(count, seed=9))
        for step in range(6):
            index.nearest(1, queries(1)[0], 10)
            change_some(source, count, step)
            assert recall(index, source, asked=10) >= (1 if size == "exact" else self.recall)
            index.flush()
            assert index.stats().behind == 0

    def test_what_was_just_written_is_found_and_what_was_erased_is_not(
        self, index: VectorIndex, source: PieceSource
    ) -> None:
        source.put(1, memories(self.large, seed=10))
        for key, query in enumerate(queries(30), start=1_000_000):
            source.put(1, {key: query[None]})
            assert index.nearest(1, query, 1).keys.tolist() == [key]
            source.remove(1, [key])
            assert key not in index.nearest(1, query, 10).keys

    def test_a_partition_may_grow_and_shrink(self, index: VectorIndex, source: PieceSource) -> None:
        many = memories(self.large, seed=11)
        source.put(1, many)
        index.nearest(1, queries(1)[0], 10)
        source.remove(1, list(many)[self.exact // 4 :])
        for query in queries(10):
            same(index.nearest(1, query, 10), source.brute_force(1, query, 10))
        source.put(1, many)
        assert recall(index, source) >= self.recall

    def test_rebuilding_changes_no_answer(self, index: VectorIndex, source: PieceSource) -> None:
        source.put(1, memories(self.large, seed=12))
        before = [index.nearest(1, query, 10) for query in queries(10)]
        index.rebuild()
        for query, found in zip(queries(10), before, strict=True):
            same(index.nearest(1, query, 10), found)

    def test_the_next_run_gives_the_same_answers(
        self, open_index: OpenIndex, source: PieceSource
    ) -> None:
        source.put(1, memories(self.large, seed=13))
        source.put(2, memories(self.exact // 2, seed=13, first=50_000))
        first = open_index(source)
        before = [first.nearest(n, query, 10) for n in (1, 2) for query in queries(10)]
        first.close()
        second = open_index(source)
        after = [second.nearest(n, query, 10) for n in (1, 2) for query in queries(10)]
        for one, other in zip(before, after, strict=True):
            same(one, other)

    def test_changes_between_two_runs_are_seen(
        self, open_index: OpenIndex, source: PieceSource
    ) -> None:
        source.put(1, memories(self.large, seed=14))
        source.put(2, memories(self.large, seed=15, first=50_000))
        first = open_index(source)
        for partition in (1, 2):
            first.nearest(partition, queries(1)[0], 10)
        first.close()
        change_some(source, self.large, step=1)
        second = open_index(source)
        assert recall(second, source) >= self.recall
        second.flush()
        assert recall(open_index(source), source, partition=2) >= self.recall
        assert recall(open_index(source), source) >= self.recall

    def test_two_indexes_on_one_source_see_the_same(
        self, open_index: OpenIndex, source: PieceSource
    ) -> None:
        source.put(1, memories(self.large, seed=16))
        one, other = open_index(source), open_index(source)
        for step in range(4):
            change_some(source, self.large, step)
            assert recall(one, source, asked=5) >= self.recall
            assert recall(other, source, asked=5) >= self.recall
            one.flush()
            other.flush()

    def test_readers_and_a_writer_at_once(self, index: VectorIndex, source: PieceSource) -> None:
        source.put(1, memories(self.large, seed=17))
        anchor = queries(1)[0]
        source.put(1, {900_000: anchor[None]})
        failures: list[BaseException] = []
        readers = [threading.Thread(target=_read, args=(index, anchor, failures)) for _ in range(4)]
        for reader in readers:
            reader.start()
        for step in range(20):
            change_some(source, self.large, step)
        for reader in readers:
            reader.join()
        assert not failures
        assert recall(index, source) >= self.recall

    def test_a_vector_of_another_size_is_refused(self, index: VectorIndex) -> None:
        for wrong in (np.ones(DIMENSION + 1), np.full(DIMENSION, np.nan)):
            with pytest.raises(InvalidInput):
                index.nearest(1, wrong.astype(np.float32), 10)

    def test_stats_tell_what_is_held(self, index: VectorIndex, source: PieceSource) -> None:
        source.put(1, memories(self.large, seed=18))
        index.nearest(1, queries(1)[0], 10)
        stats = index.stats()
        assert stats.vectors == len(list(source.scan(FINGERPRINT, 1)))
        assert stats.bytes_in_memory > 0
        assert (stats.behind, stats.healthy) == (0, True)

    def test_closing_twice_is_safe(self, index: VectorIndex, source: PieceSource) -> None:
        source.put(1, memories(self.large, seed=19))
        index.nearest(1, queries(1)[0], 10)
        index.close()
        index.close()


def memories(count: int, seed: int, first: int = 1) -> dict[int, FloatArray]:
    """Clustered unit vectors of `count` memories, one to three pieces each, keys with gaps."""
    rng = np.random.default_rng(seed)
    keys = first + np.cumsum(rng.integers(1, 3, count)) - 1
    pieces = rng.choice([1, 1, 1, 2, 3], count)
    vectors = clustered(rng, int(pieces.sum()))
    split = np.split(vectors, np.cumsum(pieces)[:-1])
    return dict(zip(keys.tolist(), split, strict=True))


def queries(count: int) -> FloatArray:
    """Questions from the same clusters."""
    return clustered(np.random.default_rng(20), count)


def clustered(rng: np.random.Generator, count: int) -> FloatArray:
    """Unit vectors around common centres, as sentences are around topics."""
    centres = np.random.default_rng(0).standard_normal((40, DIMENSION))
    vectors = centres[rng.integers(0, len(centres), count)]
    vectors = vectors + rng.standard_normal((count, DIMENSION))
    return unit(vectors)


def unit(vectors: NDArray[np.float64]) -> FloatArray:
    """Each row scaled to length 1."""
    lengths = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return np.asarray(vectors / lengths, np.float32)


def change_some(source: PieceSource, count: int, step: int) -> None:
    """Add, replace and remove a few memories of partition 1."""
    fresh = memories(max(count // 50, 2), seed=100 + step, first=200_000 * (step + 1))
    known = sorted({key for key, _, _ in source.scan(FINGERPRINT, 1)})
    chosen = np.random.default_rng(step).choice(known[:-2], max(count // 50, 4), replace=False)
    half = len(chosen) // 2
    source.put(1, fresh)
    replaced = zip(chosen[:half].tolist(), fresh.values(), strict=False)
    source.put(1, {key: -rows for key, rows in replaced if key != 900_000})
    source.remove(1, [key for key in chosen[half:].tolist() if key != 900_000])


def recall(
    index: VectorIndex,
    source: PieceSource,
    allowed: Keys | None = None,
    *,
    partition: int = 1,
    asked: int = 25,
) -> float:
    """The share of the ten truly nearest pieces that come back, over some questions."""
    hits = total = 0
    for query in queries(asked):
        truth = set(pairs(source.brute_force(partition, query, 10, allowed)))
        found = pairs(index.nearest(partition, query, 10, allowed))
        if allowed is not None:
            assert set(np.array([key for key, _ in found])) <= set(allowed)
        assert len(found) >= len(truth)
        hits += len(truth & set(found))
        total += len(truth)
    return hits / total if total else 1.0


def same(found: Nearest, expected: Nearest) -> None:
    """Both hold the same pieces, best first; processors round the last bits of a score differently.

    So pieces whose scores are alike but for that may change places, also at the end.
    """
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)
    least = float(expected.scores[-1]) if len(expected.scores) else 0.0
    true = dict(zip(pairs(expected), expected.scores.tolist(), strict=True))
    assert len(set(pairs(found))) == len(true)
    np.testing.assert_allclose(
        [true.get(pair, least) for pair in pairs(found)], found.scores, atol=1e-6
    )


def pairs(found: Nearest) -> list[tuple[int, int]]:
    """The (key, part) of each piece."""
    return list(zip(found.keys.tolist(), found.parts.tolist(), strict=True))


def scores_of(source: PieceSource, query: FloatArray) -> dict[tuple[int, int], float]:
    """The true cosine of every piece of partition 1."""
    every = source.brute_force(1, query, 10**9)
    return dict(zip(pairs(every), every.scores.tolist(), strict=True))


def _read(index: VectorIndex, anchor: FloatArray, failures: list[BaseException]) -> None:
    try:
        for _ in range(40):
            found = index.nearest(1, anchor, 10)
            assert found.keys[0] == 900_000
            assert len(set(pairs(found))) == 10
    except BaseException as failure:
        failures.append(failure)
