"""Labels' values as bytes: their order is the order of the values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remanence.store.conditions import SOMETHING, label_value
from remanence.store.postgres.arrays import LONG_TEXTS, NUMBERS, SHORT_TEXTS, encoded

whole = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1, 0])
real = st.floats(allow_nan=False, allow_infinity=False) | whole.map(float)


@given(whole | real, whole | real)
def test_numbers_are_in_order(one: float, other: float) -> None:
    assert (encoded(one) < encoded(other)) == (one < other)
    assert (encoded(one) == encoded(other)) == (one == other)
    assert NUMBERS[0] <= encoded(one) < NUMBERS[1]


@given(st.text(max_size=60), st.text(max_size=60))
def test_texts_are_in_order(one: str, other: str) -> None:
    assert (encoded(one) < encoded(other)) == (one < other)
    assert SHORT_TEXTS[0] <= encoded(one) < SHORT_TEXTS[1]


def test_other_values_are_apart() -> None:
    assert LONG_TEXTS[0] <= encoded(label_value("x" * 1000)) < LONG_TEXTS[1]
    assert encoded(SOMETHING) < NUMBERS[0]
