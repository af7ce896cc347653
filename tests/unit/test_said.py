"""The days a text speaks of: the most exact of them, seen from when it was said."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remanence.language.english.dates import time_ranges
from remanence.language.traits import NO_TIME, said_days

NOW = datetime(2023, 5, 10, 15, 30, tzinfo=UTC)  # a Wednesday
SPOKEN = [
    *["yesterday", "today", "tonight", "tomorrow", "last", "next", "this", "ago", "early", "first"],
    *["week", "weekend", "month", "year", "decade", "days", "hours", "morning", "1960s"],
    *["May", "June", "Friday", "summer", "Christmas", "Easter", "ayer", "gestern", "昨天", "前年"],
    *["in", "on", "of", "the", "since", "before", "after", "between", "and", "until"],
    *["2", "3rd", "12", "ten", "thousand", "1999", "0001", "9999", "2023-05-07", "7/5/2023"],
]

phrases = st.lists(st.sampled_from(SPOKEN), max_size=8).map(" ".join)
zones = st.timezones() | st.integers(-1439, 1439).map(lambda at: timezone(timedelta(minutes=at)))
moments = st.datetimes(timezones=zones) | st.sampled_from(
    [edge.replace(tzinfo=UTC) for edge in (datetime.min, datetime.max)]
)


def dates(text: str, at: datetime = NOW) -> tuple[str, str]:
    """First day and last, as they are written."""
    first, after = (date(1970, 1, 1) + timedelta(days=day) for day in said_days(text, at))
    return first.isoformat(), (after - timedelta(days=1)).isoformat()


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("We met yesterday.", "2023-05-09", "2023-05-09"),
        ("Let's talk this evening!", "2023-05-10", "2023-05-10"),
        ("I ran the race last week", "2023-05-01", "2023-05-07"),
        ("We moved here last May", "2022-05-01", "2022-05-31"),
        ("It was in 2019", "2019-01-01", "2019-12-31"),
        ("On 7 May 1969 they wed", "1969-05-07", "1969-05-07"),
        ("Born on 1 January 1970", "1970-01-01", "1970-01-01"),
    ],
)
def test_a_text_speaks_of_days(text: str, first: str, last: str) -> None:
    assert dates(text) == (first, last)


def test_of_several_times_the_most_exact_counts_and_of_equals_the_first() -> None:
    assert dates("In 2019 we planned it, in May 2022 we went")[0] == "2022-05-01"
    assert dates("Not on 3 May 2022, on 4 May 2022")[0] == "2022-05-03"


@pytest.mark.parametrize("text", ["", "We met.", "She may march on", "四", "\ud800", "a" * 50_000])
def test_a_text_without_a_time_speaks_of_none(text: str) -> None:
    assert said_days(text, NOW) == NO_TIME == (0, 0)


def test_days_are_those_of_the_clocks_where_it_was_said() -> None:
    late = datetime(2023, 5, 9, 23, tzinfo=timezone(timedelta(hours=-8)))
    assert dates("today", late) == ("2023-05-09", "2023-05-09")
    assert dates("today", late.astimezone(UTC)) == ("2023-05-10", "2023-05-10")


def test_what_lies_beyond_the_calendar_is_no_time() -> None:
    first, last = (edge.replace(tzinfo=UTC) for edge in (datetime.min, datetime.max))
    assert said_days("yesterday", first) == said_days("tomorrow", last) == NO_TIME
    assert dates("yesterday", last) == ("9999-12-30", "9999-12-30")


@given(phrases | st.text(), moments)
@example("this year", datetime.max.replace(tzinfo=UTC))
@example("since 9999", datetime.max.replace(tzinfo=UTC))
def test_any_text_at_any_moment_gives_days_that_fit(text: str, at: datetime) -> None:
    first, after = said_days(text, at)
    assert (first, after) == NO_TIME or first < after
    assert max(abs(first), abs(after)) < 2**31


@given(phrases, st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)))
def test_the_days_are_those_of_a_time_the_text_speaks_of(text: str, at: datetime) -> None:
    first, after = said_days(text, at)
    ranges = [one.range for one in time_ranges(text, at)]
    assert bool(ranges) == ((first, after) != NO_TIME)
    if ranges:
        shortest = min(one.end - one.start for one in ranges)
        held = [one for one in ranges if one.end - one.start == shortest]
        start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=first)
        end = start + timedelta(days=after - first)
        day = timedelta(days=1)
        assert any(start <= one.start < start + day and end - day <= one.end <= end for one in held)
