"""Weeks and months as the calendar has them: every day in one, none left out, none twice."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from remanence.layers.conversation.derivation import (
    PERIODS,
    bounds,
    days_of,
    first_of,
    name_of,
    over,
    parts_of,
)
from remanence.model.conversation import Level


@settings(deadline=None)
@given(st.dates())
@example(date.min)
@example(date.max)
def test_a_period_holds_its_days_and_no_others(day: date) -> None:
    for level in PERIODS:
        days = days_of(level, day)
        assert day in days
        assert days == sorted(days)
        assert days[0] == first_of(level, day)
        assert {name_of(level, one) for one in days} == {name_of(level, day)}
        assert len(days) <= 31
    assert days_of(Level.DAY, day) == [day]


@pytest.mark.slow
@settings(deadline=None)
@given(st.dates())
@example(date.min)
@example(date.max)
def test_a_month_is_told_once_from_weeks_and_days(day: date) -> None:
    parts = parts_of(day)
    told = [one for level, first in parts for one in days_of(level, first)]
    assert told == days_of(Level.MONTH, day)
    assert len(parts) <= 17


def test_a_week_is_the_calendars() -> None:
    assert days_of(Level.WEEK, date(2026, 3, 4))[::6] == [date(2026, 3, 2), date(2026, 3, 8)]
    assert name_of(Level.WEEK, date(2026, 3, 4)) == "2026-W10"
    assert name_of(Level.WEEK, date(2024, 12, 30)) == "2025-W01"


@pytest.mark.parametrize(("today", "count"), [(8, 0), (9, 1)])
def test_a_week_is_over_on_monday(today: int, count: int) -> None:
    said = [date(2026, 3, 2), date(2026, 3, 8)]
    assert len(over(Level.WEEK, said, date(2026, 3, today))) == count


def test_the_last_day_ends() -> None:
    start, end = bounds(date.max)
    assert start < end
