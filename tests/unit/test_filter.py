"""Filters as callers write them, read into a tree; what could reach SQL as a name is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.errors import InvalidInput
from remanence.model.filter import (
    FIELDS,
    OPERATORS,
    TEXT_FIELDS,
    Both,
    Compare,
    Contains,
    Either,
    Not,
    parse_filter,
)
from remanence.model.memory import Kind, State

WHEN = datetime(2024, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        ({}, Both(())),
        ({"team": "sales"}, Compare("team", "eq", "sales")),
        ({"team": None}, Compare("team", "eq", None)),
        ({"n": {"$gte": 3}}, Compare("n", "gte", 3)),
        ({"n": {">": 3, "<=": 5}}, Both((Compare("n", "gt", 3), Compare("n", "lte", 5)))),
        ({"n": {"nin": [1, 2]}}, Compare("n", "not_in", (1, 2))),
        ({"n": {"in": {1}}}, Compare("n", "in", (1,))),
        ({"n": {"exists": False}}, Compare("n", "exists", False)),
        ({"a": 1, "b": 2}, Both((Compare("a", "eq", 1), Compare("b", "eq", 2)))),
        ({"$or": [{"a": 1}, {"b": 2}]}, Either((Compare("a", "eq", 1), Compare("b", "eq", 2)))),
        ({"and": []}, Both(())),
        ({"or": []}, Either(())),
        ({"NOT": {"a": 1}}, Not(Compare("a", "eq", 1))),
        ({"text": {"contains": "Lis"}}, Contains("Lis")),
        ({"text": {"$not_contains": "Lis"}}, Contains("Lis", wanted=False)),
        ({"text": "Lis"}, Compare("text", "eq", "Lis")),
        ({"or": "a value"}, Compare("or", "eq", "a value")),
        ({"field.source": "crm"}, Compare("source", "eq", "crm", field=True)),
        ({"field.happened_at": {"lt": WHEN}}, Compare("happened_at", "lt", WHEN, field=True)),
        ({"when": {"lt": WHEN}}, Compare("when", "lt", WHEN.isoformat())),
        ({"field.pinned": True}, Compare("pinned", "eq", True, field=True)),
    ],
)
def test_what_is_written_is_what_is_meant(given: Any, expected: Any) -> None:
    assert parse_filter(given) == expected


@pytest.mark.parametrize("operator", [*OPERATORS, *(f"${name}" for name in OPERATORS)])
def test_every_operator_with_and_without_a_dollar(operator: str) -> None:
    name = operator.removeprefix("$")
    value: Any = {"in": [1], "not_in": [1], "exists": True}.get(name, 1)
    parsed = parse_filter({"n": {operator: value}})
    assert isinstance(parsed, Compare)
    assert parsed.operator == name


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_every_field_can_be_asked_for(name: str) -> None:
    value: Any = {
        "kind": Kind.SEMANTIC, "state": State.ACTIVE, "importance": 0.5, "trust": 0.5,
        "uses": 3, "pinned": True, "happened_at": WHEN, "created_at": WHEN, "updated_at": WHEN,
    }.get(name, "x")  # fmt: skip
    assert parse_filter({f"field.{name}": value}) == Compare(name, "eq", value, field=True)


@pytest.mark.parametrize(
    "name", ["tenant", "user_id", "id", "rowid", "text", "partition", "", "x'"]
)
def test_the_wall_is_no_field(name: str) -> None:
    with pytest.raises(InvalidInput):
        parse_filter({f"field.{name}": "x"})


@given(st.text(min_size=1, max_size=20))
def test_keys_are_letters_digits_and_a_few_marks(key: str) -> None:
    try:
        parse_filter({key: 1})
    except InvalidInput:
        return
    assert not set(key) & set("'\"`;()[]{}<>=*%\\/\0\n\t,:!?@#&|~^+")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["and", "or", "not", "a", "$gt", "in", "field.kind", "text"]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=8,
    )
)
def test_anything_is_parsed_or_refused(given: Any) -> None:
    try:
        parse_filter(given)
    except InvalidInput as refused:
        assert str(refused)  # noqa: PT017


def test_the_size_of_a_filter_is_bounded() -> None:
    assert parse_filter({"or": [{"n": n} for n in range(256)]})
    with pytest.raises(InvalidInput, match="256"):
        parse_filter({"or": [{"n": n} for n in range(257)]})
    deep: dict[str, Any] = {"a": 1}
    for _ in range(16):
        deep = {"not": deep}
    assert parse_filter(deep)
    with pytest.raises(InvalidInput, match="nested"):
        parse_filter({"not": deep})


@pytest.mark.parametrize("empty", [{}, {"and": []}, {"not": {}}], ids=str)
def test_empty_parts_count_too(empty: dict[str, Any]) -> None:
    assert parse_filter({"or": [empty] * 256})
    with pytest.raises(InvalidInput, match="256"):
        parse_filter({"or": [empty] * 257})


@pytest.mark.parametrize("name", sorted(TEXT_FIELDS))
def test_a_text_field_is_compared_with_a_text(name: str) -> None:
    assert parse_filter({f"field.{name}": None})
    for value in (5, True, {"in": ["a", 5]}, {"gt": 1.5}):
        with pytest.raises(InvalidInput, match=name):
            parse_filter({f"field.{name}": value})
