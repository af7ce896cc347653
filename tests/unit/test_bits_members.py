"""Rows of given keys, whatever the shape of the two columns."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from remanence.backends.index.bits.signs import narrow, rows_of

NUMBERS = st.integers(-50, 400) | st.integers(-(2**62), 2**62)


@given(st.lists(NUMBERS), st.sets(NUMBERS))
def test_rows_are_those_a_plain_loop_finds(column: list[int], wanted: set[int]) -> None:
    ascending = np.array(sorted(column + [n for n in list(wanted)[::2] for _ in "ab"]), np.int64)
    expected = [row for row, key in enumerate(ascending) if key in wanted]
    assert rows_of(ascending, np.array(sorted(wanted), np.int64)).tolist() == expected


def test_a_sparse_and_a_dense_choice_agree() -> None:
    column = narrow(np.repeat(np.arange(0, 3000, 3), 2))
    for step in (1, 2, 500):
        wanted = np.arange(-9, 4000, step, dtype=np.int64)
        expected = np.flatnonzero(np.isin(column, wanted))
        np.testing.assert_array_equal(rows_of(column, wanted), expected)


def test_keys_take_32_bits_only_if_they_fit() -> None:
    assert narrow(np.array([1, 2**31 - 1])).dtype == np.int32
    assert narrow(np.array([1, 2**31])).dtype == np.int64
    assert narrow(np.empty(0, np.int64)).dtype == np.int32
