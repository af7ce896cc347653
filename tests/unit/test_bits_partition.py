"""A partition through any sequence of changes, beside a plain dictionary."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.backends.index.bits.partition import Partition, scanned, unpacked
from remanence.model.embedding import quantised

DIMENSION = 70
SMALL = 12
Contents = dict[int, list[bytes]]


def listed(contents: Contents) -> Iterator[tuple[int, int, bytes]]:
    for key, parts in sorted(contents.items()):
        for part, vector in enumerate(parts):
            yield key, part, vector


def vectors(count: int, seed: int) -> list[bytes]:
    rng = np.random.default_rng(seed)
    return [quantised(row) for row in rng.standard_normal((count, DIMENSION)).astype(np.float32)]


def changed(partition: Partition, contents: Contents, keys: list[int]) -> Partition:
    rows = unpacked(listed({key: contents[key] for key in keys if key in contents}), DIMENSION)
    return partition.changed(np.array(sorted(keys), np.int64), rows)


def signs(partition: Partition) -> list[tuple[int, bytes]]:
    bits = partition.folded().bits
    rows = np.ascontiguousarray(bits.planes.T)
    return sorted((int(key), row.tobytes()) for key, row in zip(bits.keys, rows, strict=True))


step = st.dictionaries(st.integers(1, 40), st.integers(0, 3), min_size=1, max_size=9)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(step, max_size=15), st.integers(0, 10_000))
def test_changes_lead_where_a_fresh_scan_leads(steps: list[dict[int, int]], seed: int) -> None:
    contents: Contents = {}
    partition = scanned(listed(contents), DIMENSION, SMALL)
    for number, change in enumerate(steps):
        for key, pieces in change.items():
            contents[key] = vectors(pieces, seed + 100 * number + key)
        partition = changed(partition, contents, list(change))
        assert signs(partition) == signs(scanned(listed(contents), DIMENSION, SMALL))
        assert len(partition) == len(list(listed(contents)))
        again = changed(partition, contents, list(change))
        assert signs(again) == signs(partition)


def test_a_change_leaves_the_old_value_as_it_was() -> None:
    contents = {key: vectors(1, key) for key in range(100)}
    before = scanned(listed(contents), DIMENSION, SMALL)
    kept = signs(before)
    contents[5], contents[200] = vectors(2, 999), vectors(1, 200)
    after = changed(before, contents, [5, 200])
    assert signs(before) == kept
    assert len(after) == len(before) + 2


@pytest.mark.parametrize("count", [SMALL - 1, SMALL, SMALL + 1, 5000])
def test_more_than_the_small_number_becomes_sign_bits(count: int) -> None:
    partition = scanned(listed({key: vectors(1, key) for key in range(count)}), DIMENSION, SMALL)
    assert (len(partition.bits) > 0) == (count > SMALL)
    assert len(partition) == count


def test_among_keeps_allowed_rows_that_are_not_gone() -> None:
    contents = {key: vectors(1, key) for key in range(100)}
    partition = scanned(listed(contents), DIMENSION, SMALL)
    del contents[7]
    contents[300] = vectors(2, 300)
    partition = changed(partition, contents, [7, 300])
    inside = partition.among(np.array([-1, 6, 7, 8, 300, 301]))
    assert [key for key, _ in signs(inside)] == [6, 8, 300, 300]


def test_vectors_of_another_size_are_left_out() -> None:
    rows = unpacked([(1, 0, b"short"), (2, 0, vectors(1, 2)[0]), (3, 0, b"")], DIMENSION)
    assert rows.keys.tolist() == [2]


def test_a_large_partition_takes_at_most_60_bytes_a_vector() -> None:
    rng = np.random.default_rng(0)
    raw = rng.integers(-127, 128, (50_000, 384), np.int8).tobytes()
    stream = ((key, 0, b"\0\0\0?" + raw[key * 384 : (key + 1) * 384]) for key in range(50_000))
    partition = scanned(stream, 384, 4096)
    assert partition.nbytes <= 60 * 50_000
