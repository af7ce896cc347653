"""Where keys stand among rows, by table and by search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.recall.columns import CLOSE, places_of

KEYS = st.lists(st.integers(1, 400), min_size=1, max_size=60, unique=True)


@given(KEYS, st.lists(st.integers(-5, 500), max_size=40), st.sampled_from([1, 10**9]))
def test_every_key_finds_its_row_and_no_other_does(
    keys: list[int], asked: list[int], apart: int
) -> None:
    column = np.array(keys, np.int64) * apart
    wanted = np.array([*keys, *asked], np.int64) * apart
    rows = places_of(column).rows_of(wanted)
    assert rows.tolist() == [keys.index(k) if k in keys else -1 for k in [*keys, *asked]]


def test_a_key_between_two_that_lie_far_apart_is_nowhere() -> None:
    assert places_of(np.array([1, 10**12])).rows_of(np.array([1, 2, 10**12])).tolist() == [0, -1, 1]


@pytest.mark.parametrize("apart", [1, CLOSE, CLOSE + 1, 10**6])
def test_places_take_no_more_room_than_keys_and_rows_would(apart: int) -> None:
    places = places_of(np.arange(1000, dtype=np.int64) * apart)
    held = places.rows.nbytes + (0 if places.keys is None else places.keys.nbytes)
    assert held <= 12 * 1000


def test_nothing_is_found_where_nothing_is() -> None:
    assert places_of(np.zeros(0, np.int64)).rows_of(np.array([1, 2])).tolist() == [-1, -1]
