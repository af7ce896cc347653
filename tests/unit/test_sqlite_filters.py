"""Filters as SQL: names and values are bound, never written into the statement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.errors import InvalidInput
from remanence.model.filter import Compare, Contains, Filter, Not
from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore
from remanence.store.sqlite.database import reached, within
from remanence.testing.store_suites.making import add, memory

hostile = st.text(min_size=1).map(lambda text: f"'{text}') OR 1=1 --")


@given(name=hostile, value=hostile, operator=st.sampled_from(["eq", "ne", "gt", "lte", "exists"]))
def test_nothing_of_the_caller_is_in_the_statement(name: str, value: str, operator: str) -> None:
    where = Compare(name, operator, value)
    condition = within(1, where)
    assert name not in condition.sql
    assert value not in condition.sql
    assert name in condition.values
    assert condition.sql.count("?") == len(condition.values)


@pytest.mark.slow
@given(hostile)
def test_hostile_filters_find_nothing(text: str) -> None:
    store = SqliteStore(":memory:")
    add(store, memory("x", metadata={"a": 1}))
    hostile: list[Filter] = [Compare(text, "eq", text), Contains(text), Not(Contains("x"))]
    for where in hostile:
        assert store.archive.find(Reach(tenant="t"), where) == []
    store.close()


def test_one_partition_is_compared_directly_and_many_as_a_list() -> None:
    reach = Reach(tenant="t", all_users=True, agent_id="a", session_id="s")
    one, many = reached([4], reach, None), reached([4, 5], reach, None)
    assert one.values == (4, "a", "s")
    assert many.values == ("[4,5]", "a", "s")


def test_more_values_than_sqlite_takes_are_refused() -> None:
    where = Compare("n", "in", tuple(range(40_000)))
    with pytest.raises(InvalidInput, match="in parts"):
        within(1, where)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_a_number_past_64_bits_is_refused(value: int) -> None:
    with pytest.raises(InvalidInput, match="64 bits"):
        within(1, Compare("n", "eq", value))
