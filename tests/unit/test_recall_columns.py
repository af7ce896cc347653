"""Columns: conversation order, neighbours, and staying right when memories change."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from remanence.model.ports.store import Trait
from remanence.recall.columns import changed, columns_of


def trait(key: int, session: str | None = None, happened: int = 0, **more: object) -> Trait:
    fields = {
        "partition": 1,
        "agent": None,
        "speaker": None,
        "role": None,
        "kind": "message",
        "state": "active",
        "created": 0,
        "terms": 5,
        "characters": 30,
        "flags": 0,
        "importance": 0.5,
        "trust": 1.0,
        "said_from": 0,
        "said_to": 0,
    }
    return Trait(key=key, session=session, happened=happened, **(fields | more))  # type: ignore[arg-type]


def test_neighbours_stand_in_the_order_of_their_conversation() -> None:
    columns = columns_of(
        [trait(1, "a", 10), trait(2, "b", 11), trait(3, "a", 12), trait(4, "a", 5)]
    )
    rows = columns.rows_of(np.array([4, 1, 3, 2]))
    assert columns.key[columns.neighbours(rows[:1], 1)].tolist() == [1]
    assert columns.key[columns.neighbours(rows[1:2], 1)].tolist() == [3]
    assert columns.neighbours(rows[2:], 1).tolist() == [-1, -1]


def test_a_memory_without_a_session_has_no_neighbours() -> None:
    columns = columns_of([trait(1), trait(2), trait(3)])
    assert columns.neighbours(np.arange(3), 1).tolist() == [-1, -1, -1]


def test_unknown_keys_have_no_row() -> None:
    assert columns_of([trait(7)]).rows_of(np.array([6, 7, 8])).tolist() == [-1, 0, -1]
    assert columns_of([]).rows_of(np.array([1])).tolist() == [-1]


@given(
    st.lists(
        st.tuples(st.integers(1, 12), st.sampled_from([None, "a", "b"]), st.integers(0, 5)),
        max_size=30,
    )
)
def test_moving_along_equals_loading_anew(steps: list[tuple[int, str | None, int]]) -> None:
    held: dict[int, Trait] = {}
    columns = columns_of([])
    for key, session, happened in steps:
        if key in held and happened == 0:
            del held[key]
        else:
            held[key] = trait(key, session, happened)
        columns = changed(columns, [key], [held[key]] if key in held else [])
    fresh = columns_of(sorted(held.values(), key=lambda t: t.key))
    assert sorted(columns.key.tolist()) == sorted(fresh.key.tolist())
    for offset in (-1, 1):
        assert _pairs(columns, offset) == _pairs(fresh, offset)


def _pairs(columns: object, offset: int) -> set[tuple[int, int]]:
    rows = np.arange(len(columns.key))  # type: ignore[attr-defined]
    moved = columns.neighbours(rows, offset)  # type: ignore[attr-defined]
    keys = columns.key.tolist()  # type: ignore[attr-defined]
    return {(keys[a], keys[b]) for a, b in zip(rows, moved, strict=True) if b >= 0}
