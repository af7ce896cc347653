"""An index that may take almost no memory finds what one with room does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from remanence.backends.index.bits import BitsIndex
from remanence.backends.index.bits.signs import BLOCK_ROWS, FilePlanes, SignBits, planes_of, spilled
from remanence.testing.vector_index import (
    FINGERPRINT,
    PieceSource,
    change_some,
    memories,
    queries,
    same,
)

ASKED = queries(10)
KEYS = 24_000  # of the large partition: the least that an index holds


def opened(source: PieceSource, budget: int, file: Path | None = None) -> BitsIndex:
    return BitsIndex(source, FINGERPRINT, identity="it", file=file, small=100, budget_bytes=budget)


@pytest.fixture
def source() -> PieceSource:
    source = PieceSource()
    source.put(1, memories(3000, seed=1))
    source.put(2, memories(90, seed=2, first=50_000))
    return source


def alike(one: BitsIndex, other: BitsIndex) -> None:
    allowed = np.arange(0, 3000, 3)
    for query in ASKED:
        for partition in (1, 2):
            same(one.nearest(partition, query, 10), other.nearest(partition, query, 10))
        same(one.nearest(1, query, 10, allowed), other.nearest(1, query, 10, allowed))
        same(one.nearest(1, query, 10, exact=False), other.nearest(1, query, 10, exact=False))


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0, 20_000, 40_000])
def test_what_is_found_does_not_depend_on_the_budget(source: PieceSource, budget: int) -> None:
    tight, roomy = opened(source, budget), opened(source, 1 << 30)
    alike(tight, roomy)
    assert tight.stats().bytes_in_memory <= max(budget, KEYS)
    assert roomy.stats().bytes_in_memory > 100_000
    change_some(source, 3000, step=7)
    alike(tight, roomy)
    assert tight.stats().bytes_in_memory <= max(budget, KEYS)


def test_bits_on_disk_are_saved_and_read_again(source: PieceSource, tmp_path: Path) -> None:
    file = tmp_path / "agent.db.index"
    first = opened(source, 40_000, file)
    first.nearest(1, ASKED[0], 5)
    first.close()
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    second = opened(source, 40_000, file)
    alike(second, opened(source, 1 << 30))
    second.close()


def test_planes_in_a_file_read_as_planes_in_memory() -> None:
    chance = np.random.default_rng(5)
    values = chance.standard_normal((BLOCK_ROWS + 77, 70)).astype(np.float32)
    bits = SignBits(np.arange(len(values), dtype=np.int32), planes_of(values))
    filed = spilled(bits, None)
    assert isinstance(filed.planes, FilePlanes)
    assert filed.nbytes == bits.keys.nbytes
    assert np.array_equal(np.asarray(filed.planes), np.asarray(bits.planes))
    gone = np.array([3, BLOCK_ROWS + 1])
    query = values[5] / np.linalg.norm(values[5])
    assert filed.nearest(query, 20, gone).tolist() == bits.nearest(query, 20, gone).tolist()
    few, same_few = filed.without(gone), bits.without(gone)
    assert np.array_equal(np.asarray(few.planes), np.asarray(same_few.planes))
