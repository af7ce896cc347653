from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.errors import InvalidInput
from remanence.language.english.dates import (
    TimeRange,
    asks_when,
    has_time,
    recency_cue,
    time_ranges,
)
from remanence.language.english.dates.tokens import meanings, phrases
from remanence.language.timerange import easter

WEDNESDAY = datetime(2023, 8, 16, 15, 30, tzinfo=UTC)


def said(text: str, **options: object) -> list[str]:
    """Each time as "first day..day after the last"."""
    found = time_ranges(text, WEDNESDAY, **options)  # type: ignore[arg-type]
    return [f"{m.range.start:%Y-%m-%d}..{m.range.end:%Y-%m-%d}" for m in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did I do today?", "2023-08-16..2023-08-17"),
        ("Yesterday I ran", "2023-08-15..2023-08-16"),
        ("the day before yesterday", "2023-08-14..2023-08-15"),
        ("see you tomorrow", "2023-08-17..2023-08-18"),
        ("two days ago", "2023-08-14..2023-08-15"),
        ("a few days ago", "2023-08-10..2023-08-15"),
        ("the other day", "2023-08-06..2023-08-16"),
        ("two weekends ago", "2023-08-05..2023-08-07"),
        ("two Tuesdays ago", "2023-08-08..2023-08-09"),
        ("last week", "2023-08-07..2023-08-14"),
        ("this week", "2023-08-14..2023-08-21"),
        ("next week", "2023-08-21..2023-08-28"),
        ("last month's trip", "2023-07-01..2023-08-01"),
        ("next month", "2023-09-01..2023-10-01"),
        ("last year", "2022-01-01..2023-01-01"),
        ("last weekend", "2023-08-12..2023-08-14"),
        ("over the weekend", "2023-08-12..2023-08-14"),
        ("this weekend", "2023-08-19..2023-08-21"),
        ("the week before last", "2023-07-31..2023-08-07"),
        ("last Friday", "2023-08-11..2023-08-12"),
        ("this past Friday", "2023-08-11..2023-08-12"),
        ("on Monday", "2023-08-14..2023-08-15"),
        ("on Wednesday", "2023-08-09..2023-08-10"),
        ("this Friday", "2023-08-18..2023-08-19"),
        ("next Friday", "2023-08-18..2023-08-19"),
        ("Monday of last week", "2023-08-07..2023-08-08"),
        ("last summer", "2022-06-01..2022-09-01"),
        ("last winter", "2022-12-01..2023-03-01"),
        ("this spring", "2023-03-01..2023-06-01"),
        ("in the fall of 2022", "2022-09-01..2022-12-01"),
        ("in summer 2021", "2021-06-01..2021-09-01"),
        ("last Christmas", "2022-12-25..2022-12-26"),
        ("at Easter", "2023-04-09..2023-04-10"),
        ("on Valentine's day", "2023-02-14..2023-02-15"),
        ("Thanksgiving 2022", "2022-11-24..2022-11-25"),
        ("three days before Christmas", "2022-12-22..2022-12-23"),
        ("last May", "2023-05-01..2023-06-01"),
        ("last September", "2022-09-01..2022-10-01"),
        ("in May", "2023-05-01..2023-06-01"),
        ("in october", "2022-10-01..2022-11-01"),
        ("in August", "2023-08-01..2023-09-01"),
        ("next May", "2024-05-01..2024-06-01"),
        ("my May trip", "2023-05-01..2023-06-01"),
        ("in 2021", "2021-01-01..2022-01-01"),
        ("What about 2021?", "2021-01-01..2022-01-01"),
        ("in June 2022", "2022-06-01..2022-07-01"),
        ("on 7 May", "2023-05-07..2023-05-08"),
        ("on 3 June, 2022", "2022-06-03..2022-06-04"),
        ("May 7th, 2023", "2023-05-07..2023-05-08"),
        ("on the 5th of June", "2023-06-05..2023-06-06"),
        ("Friday, 7 May 2021", "2021-05-07..2021-05-08"),
        ("Dec 24", "2022-12-24..2022-12-25"),
        ("2023-05-07", "2023-05-07..2023-05-08"),
        ("7/5/2023", "2023-07-05..2023-07-06"),
        ("13/5/2023", "2023-05-13..2023-05-14"),
        ("7.5.2023", "2023-05-07..2023-05-08"),
        ("12/25/22", "2022-12-25..2022-12-26"),
        ("early March", "2023-03-01..2023-03-11"),
        ("mid-March", "2023-03-11..2023-03-21"),
        ("late April", "2023-04-21..2023-05-01"),
        ("the beginning of November 2022", "2022-11-01..2022-11-11"),
        ("the end of last month", "2023-07-21..2023-08-01"),
        ("in early 2022", "2022-01-01..2022-05-02"),
        ("the past three weeks", "2023-07-26..2023-08-17"),
        ("in the last 10 days", "2023-08-06..2023-08-17"),
        ("the past week", "2023-08-09..2023-08-17"),
        ("since March", "2023-03-01..2023-08-17"),
        ("since last week", "2023-08-07..2023-08-17"),
        ("before June 2023", "1900-01-01..2023-06-01"),
        ("after 5 June", "2023-06-06..2023-08-17"),
        ("between March and May", "2023-03-01..2023-06-01"),
        ("between November and February", "2022-11-01..2023-03-01"),
        ("from March 2022 to April 2023", "2022-03-01..2023-05-01"),
        ("March to May 2022", "2022-03-01..2022-06-01"),
        ("from 3 to 7 May", "2023-05-03..2023-05-08"),
        ("May 3-7, 2022", "2022-05-03..2022-05-08"),
        ("between Monday and Friday", "2023-08-07..2023-08-12"),
        ("the first week of April", "2023-04-01..2023-04-08"),
        ("the last week of May", "2023-05-25..2023-06-01"),
        ("the first Monday of May 2022", "2022-05-02..2022-05-03"),
        ("the week before 9 June 2023", "2023-06-02..2023-06-09"),
        ("two weeks before August 11, 2023", "2023-07-25..2023-08-01"),
        ("the day after Christmas", "2022-12-26..2022-12-27"),
        ("the weekend of 14 May", "2023-05-13..2023-05-15"),
        ("the Friday before 15 July 2023", "2023-07-14..2023-07-15"),
        ("the week of 9 June", "2023-06-05..2023-06-12"),
        ("in the 90s", "1990-01-01..2000-01-01"),
        ("Q3 2022", "2022-07-01..2022-10-01"),
        ("around 2016", "2015-10-01..2017-04-03"),
        ("about May 2022", "2022-04-23..2022-06-09"),
        ("about three weeks ago", "2023-07-22..2023-07-31"),
        ("from 2021 to 2022 as a cook", "2021-01-01..2023-01-01"),
        ("the 12th of last month", "2023-07-12..2023-07-13"),
        ("at the end of the month", "2023-08-21..2023-09-01"),
    ],
)
def test_english(text: str, expected: str) -> None:
    assert said(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ayer", "2023-08-15..2023-08-16"),
        ("hier j'ai couru", "2023-08-15..2023-08-16"),
        ("gestern", "2023-08-15..2023-08-16"),
        ("la semana pasada", "2023-08-07..2023-08-14"),
        ("la semaine dernière", "2023-08-07..2023-08-14"),
        ("letzte Woche", "2023-08-07..2023-08-14"),
        ("na semana passada", "2023-08-07..2023-08-14"),
        ("il mese scorso", "2023-07-01..2023-08-01"),
        ("l'année dernière", "2022-01-01..2023-01-01"),
        ("il y a trois jours", "2023-08-13..2023-08-14"),
        ("hace tres días", "2023-08-13..2023-08-14"),
        ("vor drei Tagen", "2023-08-13..2023-08-14"),
        ("tre giorni fa", "2023-08-13..2023-08-14"),
        ("el 7 de mayo de 2023", "2023-05-07..2023-05-08"),
        ("am 7. Mai 2023", "2023-05-07..2023-05-08"),
        ("le 7 mai 2023", "2023-05-07..2023-05-08"),
        ("maggio 2023", "2023-05-01..2023-06-01"),
        ("2023年5月", "2023-05-01..2023-06-01"),
        ("我2023年5月7日去了", "2023-05-07..2023-05-08"),
        ("昨天", "2023-08-15..2023-08-16"),
        ("先月", "2023-07-01..2023-08-01"),
    ],
)
def test_other_languages(text: str, expected: str) -> None:
    assert said(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "You may go", "May I come?", "march on", "one second", "the sun is out", "walk in the sun",
        "a day", "have a great day", "version 1.2.3", "it costs $2023", "in 2 minutes", "Mark 4:5",
        "he is 3 years old", "a one-year-old child", "What does April like?", "June said hi",
        "at June's house", "summer camp", "Christmas tree", "every Friday", "2000 calories",
        "the first may be", "5 days a week", "ich bin hier", "31 February 2023", "2023-13-45",
        "the last one", "five minutes ago", "in the past", "", "last time", "the spring water",
    ],
)  # fmt: skip
def test_what_is_no_time(text: str) -> None:
    assert said(text) == []
    assert not has_time(text)


@pytest.mark.parametrize(
    ("text", "day", "far"),
    [
        ("two weeks ago", "2023-08-02", "2023-07-20"),
        ("a couple of months ago", "2023-06-10", "2023-01-01"),
        ("half a year ago", "2023-02-16", "2022-08-16"),
        ("a year and a half ago", "2022-02-16", "2023-02-16"),
        ("two or three weeks ago", "2023-07-29", "2023-06-29"),
        ("4 years ago", "2019-08-16", "2021-08-16"),
        ("a few months ago", "2023-04-16", "2022-08-16"),
        ("in two weeks", "2023-08-30", "2023-08-17"),
    ],
)
def test_vague_times_have_slack(text: str, day: str, far: str) -> None:
    (found,) = time_ranges(text, WEDNESDAY)
    assert found.range.contains(datetime.fromisoformat(f"{day}T12:00+00:00"))
    assert not found.range.contains(datetime.fromisoformat(f"{far}T12:00+00:00"))
    assert found.certainty < 0.9


@pytest.mark.parametrize(
    ("text", "hour"),
    [("last night", "15T22"), ("this morning", "16T09"), ("Monday evening", "14T19")],
)
def test_parts_of_a_day(text: str, hour: str) -> None:
    (found,) = time_ranges(text, WEDNESDAY)
    assert found.range.contains(datetime.fromisoformat(f"2023-08-{hour}:00+00:00"))
    assert found.range.end - found.range.start <= timedelta(hours=12)
    assert found.range.precision == "hours"


def test_the_future_may_be_meant() -> None:
    assert said("in May", prefer="future") == ["2024-05-01..2024-06-01"]
    assert said("on Friday", prefer="future") == ["2023-08-18..2023-08-19"]


def test_days_may_come_first() -> None:
    assert said("7/5/2023", day_first=True) == ["2023-05-07..2023-05-08"]
    assert said("5/13/2023", day_first=True) == ["2023-05-13..2023-05-14"]


def test_mentions_say_where_they_stand() -> None:
    text = "We met in May 2022 and again last Friday."
    found = time_ranges(text, WEDNESDAY)
    assert [mention.text for mention in found] == ["May 2022", "last Friday"]
    assert all(text[slice(*mention.span)] == mention.text for mention in found)


def test_ranges_are_in_the_zone_of_now() -> None:
    zone = ZoneInfo("Europe/Lisbon")
    (found,) = time_ranges("yesterday", datetime(2023, 3, 27, 1, tzinfo=zone))
    assert found.range.start == datetime(2023, 3, 26, tzinfo=zone)
    assert found.range.end == datetime(2023, 3, 27, tzinfo=zone)


def test_now_needs_a_zone() -> None:
    with pytest.raises(InvalidInput, match="time zone"):
        time_ranges("hello", datetime(2023, 1, 1))


def test_a_range_checks_itself() -> None:
    with pytest.raises(InvalidInput):
        TimeRange(WEDNESDAY, WEDNESDAY - timedelta(1), "day")


def test_a_month_to_itself_is_a_span() -> None:
    assert len(said("sept to sept")) == 1


vocabulary = st.sampled_from(
    sorted(meanings())
    + sorted(phrases())
    + ["7", "31", "2023", "99999", "7th", ",", "-", ".", "5/6/2023"]
)
moments = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=14))]))


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(vocabulary, max_size=8).map(" ".join), moments)
def test_any_words_of_time_at_any_moment(text: str, now: datetime) -> None:
    for mention in time_ranges(text, now):
        assert mention.range.start <= mention.range.end
        assert text[slice(*mention.span)] == mention.text
        assert 0 < mention.certainty <= 1


@given(st.text(), moments)
def test_any_text_at_any_moment(text: str, now: datetime) -> None:
    time_ranges(text, now)
    time_ranges(text, now, prefer="future", day_first=True)
    recency_cue(text)
    asks_when(text)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("When did Ana move?", True),
        ("what year was it", True),
        ("On which day did we meet?", True),
        ("How long ago was that?", True),
        ("Tell me when she left", True),
        ("¿Cuándo llegó?", True),
        ("Where were you when I called?", False),
        ("What did Ana buy?", False),
    ],
)
def test_asks_when(text: str, asks: bool) -> None:
    assert asks_when(text) is asks


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("What is Ana's latest job?", "latest"),
        ("Which book is she currently reading?", "latest"),
        ("the last time we met", "latest"),
        ("When did I first meet her?", "earliest"),
        ("Where did she originally live?", "earliest"),
        ("What did Ana buy?", None),
    ],
)
def test_recency_cue(text: str, cue: str | None) -> None:
    assert recency_cue(text) == cue


@pytest.mark.parametrize(
    ("year", "day"),
    [(2000, (4, 23)), (2008, (3, 23)), (2023, (4, 9)), (2024, (3, 31)), (2038, (4, 25))],
)
def test_easter(year: int, day: tuple[int, int]) -> None:
    assert easter(year) == day


@pytest.mark.parametrize("text", ["we left the next day", "it was on a Saturday morning"])
def test_a_day_that_only_the_story_knows_is_none(text: str) -> None:
    assert said(text) == []
