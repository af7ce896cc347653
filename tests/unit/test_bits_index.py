"""BitsIndex: when it reads the store, when it writes its file, what it holds."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from remanence.backends.index.bits import BitsIndex
from remanence.backends.index.bits.cache_file import CacheFile
from remanence.errors import Closed, StoreError
from remanence.model.embedding import Fingerprint, quantised
from remanence.model.ports.pieces import StoredPieces
from remanence.testing.vector_index import (
    FINGERPRINT,
    PieceSource,
    change_some,
    memories,
    queries,
    recall,
    same,
)

QUERY = queries(1)[0]


class CountingSource(PieceSource):
    def __init__(self) -> None:
        super().__init__()
        self.scans: list[int] = []

    def scan(self, fingerprint: Fingerprint, partition: int) -> Iterator[tuple[int, int, bytes]]:
        self.scans.append(partition)
        return super().scan(fingerprint, partition)


@pytest.fixture
def source() -> CountingSource:
    source = CountingSource()
    source.put(1, memories(900, seed=1))
    source.put(2, memories(900, seed=2, first=50_000))
    source.put(3, memories(20, seed=3, first=90_000))
    return source


def opened(source: PieceSource, file: Path | None = None, budget: int = 1 << 30) -> BitsIndex:
    return BitsIndex(source, FINGERPRINT, identity="it", file=file, small=100, budget_bytes=budget)


def test_a_partition_is_read_once_and_only_when_asked_for(source: CountingSource) -> None:
    index = opened(source)
    assert source.scans == []
    for partition in (1, 3, 1, 3):
        index.nearest(partition, QUERY, 5)
    assert source.scans == [1, 3]


def test_a_few_changes_do_not_scan_again(source: CountingSource) -> None:
    index = opened(source)
    index.nearest(1, QUERY, 5)
    source.put(1, {70_000: QUERY[None]})
    assert index.nearest(1, QUERY, 1).keys.tolist() == [70_000]
    assert source.scans == [1]


def test_many_changes_do(source: CountingSource) -> None:
    index = opened(source)
    index.nearest(3, QUERY, 5)
    source.put(3, memories(1500, seed=4, first=100_000))
    index.nearest(3, QUERY, 5)
    assert source.scans == [3, 3]


def test_the_budget_lets_go_of_what_was_not_used_lately(source: CountingSource) -> None:
    index = opened(source, budget=45_000)
    for partition in (1, 3, 2, 3, 1):
        index.nearest(partition, QUERY, 5)
    assert source.scans == [1, 3, 2, 1]
    assert index.stats().bytes_in_memory < 60_000


def test_the_next_run_reads_the_file_instead_of_the_store(
    source: CountingSource, tmp_path: Path
) -> None:
    file = tmp_path / "agent.db.index"
    first = opened(source, file)
    before = [first.nearest(n, QUERY, 10) for n in (1, 2)]
    first.close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    change_some(source, 900, step=1)
    source.scans.clear()
    second = opened(source, file)
    assert recall(second, source) == 1
    same(second.nearest(2, QUERY, 10), before[1])
    assert 2 not in source.scans


def test_a_run_that_used_one_partition_keeps_the_others_in_the_file(
    source: CountingSource, tmp_path: Path
) -> None:
    file = tmp_path / "agent.db.index"
    first = opened(source, file)
    for n in (1, 2):
        first.nearest(n, QUERY, 10)
    first.close()
    source.put(1, {70_000: QUERY[None]})
    second = opened(source, file)
    second.nearest(1, QUERY, 10)
    second.close()
    source.scans.clear()
    third = opened(source, file)
    assert third.nearest(1, QUERY, 1).keys.tolist() == [70_000]
    third.nearest(2, QUERY, 10)
    assert source.scans == []


def test_an_unchanged_file_is_not_written_again(source: CountingSource, tmp_path: Path) -> None:
    file = tmp_path / "agent.db.index"
    written = set()
    for _ in range(2):
        index = opened(source, file)
        index.nearest(1, QUERY, 10)
        index.close()
        written.add(file.stat().st_mtime_ns)
    assert len(written) == 1


def test_the_file_is_read_once(
    source: CountingSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "agent.db.index"
    first = opened(source, file)
    first.nearest(1, QUERY, 10)
    first.close()
    read: list[int] = []
    original = CacheFile.read
    monkeypatch.setattr(CacheFile, "read", lambda self, n: read.append(n) or original(self, n))
    second = opened(source, file)
    for _ in range(3):
        second.nearest(1, QUERY, 10)
    assert read == [1]


def test_small_partitions_need_no_file(source: CountingSource, tmp_path: Path) -> None:
    index = opened(source, tmp_path / "agent.db.index")
    index.nearest(3, QUERY, 10)
    index.close()
    assert list(tmp_path.iterdir()) == []


def test_after_a_flush_nothing_of_an_erased_memory_is_in_the_file(
    source: CountingSource, tmp_path: Path
) -> None:
    file = tmp_path / "agent.db.index"
    source.put(1, {70_000: QUERY[None]})
    kept = np.frombuffer(quantised(QUERY)[4:], np.int8)
    bits = np.packbits(kept > 0).tobytes()[:8]
    first = opened(source, file)
    for n in (1, 2):
        first.nearest(n, QUERY, 10)
    first.close()
    assert bits in file.read_bytes()
    source.remove(1, [70_000])
    second = opened(source, file)
    second.flush()
    assert bits not in file.read_bytes()
    assert file.exists()


def test_a_memory_that_vanishes_in_between_is_made_up_for(source: CountingSource) -> None:
    class Vanishing(PieceSource):
        def pieces(
            self, fingerprint: Fingerprint, partition: int, keys: Sequence[int]
        ) -> StoredPieces:
            if len(keys) > 5 and not self.done:
                self.done = True
                self.remove(1, list(keys)[5:])
            return super().pieces(fingerprint, partition, keys)

    vanishing = Vanishing()
    vanishing.done = False
    vanishing.put(1, memories(900, seed=1))
    assert len(opened(vanishing).nearest(1, QUERY, 50).keys) == 50


def test_pieces_that_vanish_unannounced_are_noticed(source: CountingSource) -> None:
    index = opened(source)
    index.nearest(1, QUERY, 5)
    source.lose(list(memories(900, seed=1))[60:])
    assert len(index.nearest(1, QUERY, 50).keys) == 50
    assert source.scans == [1, 1]


def test_a_failing_store_leaves_the_index_able_to_go_on(source: CountingSource) -> None:
    index = opened(source)
    index.nearest(1, QUERY, 5)
    source.put(1, {70_000: QUERY[None]})
    real, source.pieces = source.pieces, _failing  # type: ignore[method-assign]
    with pytest.raises(StoreError):
        index.nearest(1, QUERY, 5)
    source.pieces = real  # type: ignore[method-assign]
    assert index.nearest(1, QUERY, 1).keys.tolist() == [70_000]


def test_closing_over_a_failing_store_is_no_error(source: CountingSource, tmp_path: Path) -> None:
    index = opened(source, tmp_path / "agent.db.index")
    index.nearest(1, QUERY, 5)
    source.position = _failing  # type: ignore[method-assign]
    index.close()


def test_a_closed_index_says_so(source: CountingSource) -> None:
    index = opened(source)
    index.close()
    for use in (lambda: index.nearest(1, QUERY, 5), index.flush, index.rebuild):
        with pytest.raises(Closed):
            use()


def _failing(*_: object) -> StoredPieces:
    raise StoreError("the disk is on fire; put it out")
