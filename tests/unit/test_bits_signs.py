"""Packing, scanning and narrowing of sign bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.backends.index.bits.signs import (
    SignBits,
    closest,
    distances,
    joined,
    planes_of,
    signed_sums,
    words_for,
)

RNG = np.random.default_rng(3)
NOTHING = np.empty(0, np.intp)


@pytest.mark.parametrize("dimension", [1, 7, 63, 64, 65, 96, 256, 384, 400, 1024])
@pytest.mark.parametrize("rows", [0, 1, 40, (1 << 14) + 3])
def test_distance_is_the_number_of_signs_that_differ(dimension: int, rows: int) -> None:
    values = RNG.integers(-3, 4, (rows, dimension)).astype(np.int8)
    query = RNG.standard_normal(dimension).astype(np.float32)
    planes = planes_of(values)
    assert planes.shape == (words_for(dimension), rows)
    found = distances(planes, planes_of(query[None])[:, 0])
    expected = ((values > 0) != (query > 0)).sum(axis=1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dimension", [5, 64, 100, 384])
def test_signed_sum_adds_the_query_where_the_row_is_positive(dimension: int) -> None:
    values = RNG.standard_normal((30, dimension)).astype(np.float32)
    query = RNG.standard_normal(dimension).astype(np.float32)
    expected = (values > 0).astype(np.float32) @ query
    np.testing.assert_allclose(
        signed_sums(planes_of(values), query), expected, rtol=1e-4, atol=1e-4
    )


@given(st.lists(st.integers(0, 20), max_size=200), st.integers(0, 250))
def test_closest_gives_exactly_as_many_and_none_is_farther(found: list[int], wanted: int) -> None:
    column = np.array(found, np.uint16)
    rows = closest(column, wanted)
    assert len(rows) == len(set(rows.tolist())) == min(wanted, len(found))
    assert sorted(column[rows].tolist()) == sorted(found)[: len(rows)]


@pytest.mark.parametrize("wanted", [1, 500, 20_000, 39_999])
def test_closest_among_more_rows_than_the_sample(wanted: int) -> None:
    column = RNG.binomial(384, 0.45, 40_000).astype(np.uint16)
    column[:: 40_000 // (1 << 13)] = 384  # a sample that misleads
    rows = closest(column, wanted)
    assert len(set(rows.tolist())) == wanted
    np.testing.assert_array_equal(np.sort(column[rows]), np.sort(column)[:wanted])


def test_rows_that_are_gone_are_never_the_nearest() -> None:
    values = RNG.standard_normal((500, 64)).astype(np.float32)
    bits = SignBits(np.arange(500, dtype=np.int32), planes_of(values))
    gone = np.arange(0, 500, 2)
    for wanted in (1, 10, 250, 1000):
        rows = bits.nearest(values[0], wanted, gone)
        assert len(rows) == min(wanted, 250)
        assert not set(rows.tolist()) & set(gone.tolist())


def test_a_crowd_of_equal_vectors_does_not_widen_the_choice() -> None:
    bits = SignBits(np.arange(5000, dtype=np.int32), planes_of(np.ones((5000, 64), np.int8)))
    assert len(bits.nearest(np.ones(64, np.float32), 10, NOTHING)) == 10


def test_joining_sorts_by_key_and_widens_keys_if_needed() -> None:
    values = RNG.standard_normal((3, 64))
    late = SignBits(np.array([9, 11], np.int32), planes_of(values[:2]))
    early = SignBits(np.array([2**40], np.int64), planes_of(values[2:]))
    both = joined([early, late])
    assert both.keys.tolist() == [9, 11, 2**40]
    np.testing.assert_array_equal(both.planes, planes_of(values))
    assert joined([late, late]).keys.dtype == np.int32
