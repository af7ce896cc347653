"""Calendar words are local: against an oracle that looks at clocks hour by hour."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from remanence import Memory
from remanence.errors import ConfigError, InvalidInput
from remanence.language.english.dates import time_ranges
from remanence.model.clock import FixedClock
from remanence.model.zones import zone_of

DAY = timedelta(days=1)
STEP = timedelta(minutes=15)
ZONES = (
    *("UTC", "Asia/Kathmandu", "Pacific/Tongatapu", "Pacific/Pago_Pago", "America/New_York"),
    *("Europe/Lisbon", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo", "Asia/Tokyo"),
    *("America/Havana", "Pacific/Kiritimati", "America/St_Johns", "Asia/Kolkata", "+05:45"),
    *("+13:00", "-11:00", "Pacific/Auckland", "Atlantic/Azores", "America/Asuncion"),
)
MOMENTS = tuple(
    datetime.fromisoformat(text).replace(tzinfo=UTC)
    for text in (
        *("2026-03-08T05:30", "2026-03-08T23:10", "2026-03-29T00:40", "2026-03-29T22:59"),
        *("2026-10-25T00:30", "2026-10-25T23:59", "2026-11-01T05:45", "2026-11-01T06:15"),
        *("2026-04-05T03:10", "2026-04-24T22:30", "2026-09-06T04:10", "2026-07-15T11:00"),
        *("2026-01-01T00:00", "2025-12-31T23:59", "2028-02-29T12:34", "2026-06-30T10:01"),
    )
)


def first(zone: tzinfo, day: date, hour: int = 0) -> datetime:
    """The first moment that clocks there show this day and hour, or later; found by looking."""
    naive = datetime.combine(day, time()) + timedelta(hours=hour)
    at = naive.replace(tzinfo=UTC) - timedelta(hours=15)
    while at.astimezone(zone).replace(tzinfo=None) < naive:
        at += STEP
    return at


def on(day: date, zone: tzinfo, count: int = 1) -> tuple[datetime, datetime]:
    return first(zone, day), first(zone, day + count * DAY)


def month(day: date, zone: tzinfo, months: int) -> tuple[datetime, datetime]:
    index = day.year * 12 + day.month - 1 + months
    start, end = (date(n // 12, n % 12 + 1, 1) for n in (index, index + 1))
    return first(zone, start), first(zone, end)


def back_to(weekday: int) -> Callable[[date, tzinfo], tuple[datetime, datetime]]:
    return lambda day, zone: on(day - ((day.weekday() - weekday) % 7 or 7) * DAY, zone)


PHRASES: dict[str, Callable[[date, tzinfo], tuple[datetime, datetime]]] = {
    "what did I do yesterday?": lambda day, zone: on(day - DAY, zone),
    "what did I do today?": lambda day, zone: on(day, zone),
    "what happened the day before yesterday?": lambda day, zone: on(day - 2 * DAY, zone),
    "who called this morning?": lambda day, zone: (first(zone, day, 5), first(zone, day, 12)),
    "who called yesterday evening?": lambda day, zone: (
        first(zone, day - DAY, 17),
        first(zone, day),
    ),
    "what did I eat last Friday?": back_to(4),
    "whom did I meet on Monday?": back_to(0),
    "what did I do last week?": lambda day, zone: on(day - (day.weekday() + 7) * DAY, zone, 7),
    "what did I do this week?": lambda day, zone: on(day - day.weekday() * DAY, zone, 7),
    "what did I do last month?": lambda day, zone: month(day, zone, -1),
    "what did I do this month?": lambda day, zone: month(day, zone, 0),
    "what did I buy two days ago?": lambda day, zone: on(day - 2 * DAY, zone),
    "what did I do last year?": lambda day, zone: (
        first(zone, date(day.year - 1, 1, 1)),
        first(zone, date(day.year, 1, 1)),
    ),
    "what happened on 8 March 2026?": lambda day, zone: on(date(2026, 3, 8), zone),
}


def in_utc(start: datetime, end: datetime) -> tuple[datetime, datetime]:
    return start.astimezone(UTC), end.astimezone(UTC)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("phrase", PHRASES)
def test_words_mean_days_on_local_clocks(zone: str, phrase: str) -> None:
    place = zone_of(zone)
    for moment in MOMENTS:
        local = moment.astimezone(place)
        [found] = time_ranges(phrase, local)
        wanted = PHRASES[phrase](local.date(), place)
        assert in_utc(found.range.start, found.range.end) == wanted, (moment, local)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(datetime(2026, 3, 4, 12, tzinfo=UTC))


@pytest.fixture
def where(kept_in: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    return (
        str(tmp_path / "m.db") if kept_in == "sqlite" else request.getfixturevalue("postgres_url")
    )


@pytest.fixture
def memory(where: str, clock: FixedClock) -> Iterator[Memory]:
    with Memory(where, clock=clock, embedder="none") as opened:
        yield opened


def understood(memory: Memory, user: str, **asked: object) -> tuple[datetime, datetime]:
    found = memory.search("what did I do yesterday?", user_id=user, **asked).understood  # type: ignore[arg-type]
    assert found.since is not None
    assert found.until is not None
    return in_utc(found.since, found.until)


@pytest.mark.parametrize("zone", ZONES)
def test_a_search_goes_by_the_zone_of_now_of_the_user_and_of_the_settings(
    memory: Memory, clock: FixedClock, where: str, zone: str
) -> None:
    memory.add("a note", user_id="ana")
    memory.add("a note", user_id="bo")
    place = zone_of(zone)
    memory.set_timezone(zone, user_id="ana")
    assert memory.timezone(user_id="ana") == zone
    assert memory.timezone(user_id="bo") == memory.timezone() == "UTC"
    with Memory(where, clock=clock, embedder="none", timezone=zone) as other:
        for moment in MOMENTS[::5]:
            clock.at = moment
            yesterday = on(moment.astimezone(place).date() - DAY, place)
            there = on(moment.date() - DAY, UTC)
            assert understood(memory, "ana") == yesterday
            assert understood(memory, "ana", now=moment) == yesterday  # UTC says no zone
            assert understood(memory, "bo", now=moment.astimezone(place)) == yesterday
            assert understood(memory, "bo") == there
            assert understood(other, "bo") == yesterday
            tokyo = ZoneInfo("Asia/Tokyo")
            assert understood(other, "ana", now=moment.astimezone(tokyo)) == on(
                moment.astimezone(tokyo).date() - DAY, tokyo
            )


@pytest.mark.parametrize("hours", [-11, -5, 0, 5.75, 9, 13])
def test_a_memory_speaks_of_days_where_it_was_said(memory: Memory, hours: float) -> None:
    place = timezone(timedelta(hours=hours))
    said = datetime(2026, 3, 4, 0, 30, tzinfo=place)
    memory.add("I moved to Porto yesterday.", user_id="ana", role="user", happened_at=said)
    late = datetime(2026, 3, 4, 23, 30, tzinfo=place)
    memory.add("I sold my boat yesterday.", user_id="ana", role="user", happened_at=late)
    days = [
        (date(1970, 1, 1) + trait.said_from * DAY, date(1970, 1, 1) + trait.said_to * DAY)
        for partition in memory.parts.store.recall.partitions(memory.service._reach("ana"))
        for trait in memory.parts.store.recall.traits(partition)
    ]
    assert days == [(date(2026, 3, 3), date(2026, 3, 4))] * 2
    [lives] = memory.facts.find(predicate="lives in", user_id="ana")
    assert lives.when == "since 2026-03-03"
    assert lives.valid_from == datetime(2026, 3, 3, tzinfo=place)


def test_days_of_conversations_are_the_users_own(memory: Memory, clock: FixedClock) -> None:
    memory.set_timezone("Asia/Tokyo", user_id="ana")
    talk = [
        *(("2026-03-03T15:30:00+00:00", f"I planted the tulips in bed {n}") for n in range(4)),
        *(("2026-03-04T14:30:00+00:00", f"I watered the roses in bed {n}") for n in range(4)),
        *(("2026-03-04T15:30:00+00:00", f"I cut the hedge in row {n}") for n in range(4)),
    ]
    for number, (at, text) in enumerate(talk):
        memory.conversations.append(
            [{"role": "user", "content": text, "at": at}], session_id=f"s{number}", user_id="ana"
        )
    told = memory.conversations.day("2026-03-04", user_id="ana")
    assert "tulips" in told.text
    assert "roses" in told.text
    assert "hedge" not in told.text
    clock.at = datetime(2026, 3, 7, tzinfo=UTC)
    memory.sleep.run("talks")
    days = [
        one.metadata["day"]
        for one in memory.find(user_id="ana", kinds="summary", limit=50)
        if one.metadata.get("level") == "day"
    ]
    assert "2026-03-04" in days
    assert "2026-03-03" not in days
    context = memory.context("who cut the hedge?", user_id="ana")
    assert "5 Mar 2026" in context.text


def test_a_users_zone_goes_with_the_user(memory: Memory) -> None:
    memory.add("a note", user_id="ana")
    memory.set_timezone("Asia/Tokyo", user_id="ana")
    memory.forget(user_id="ana", erase=True)
    memory.parts.zones._known.clear()
    assert memory.timezone(user_id="ana") == "UTC"
    memory.set_timezone("+05:45", user_id="ana")
    assert memory.set_timezone(None, user_id="ana") == "UTC"


@pytest.mark.parametrize("zone", ["Mars/Phobos", "", "../../etc/passwd", "+25:00", "a\0b", 7])
def test_a_zone_that_nobody_knows_is_refused(tmp_path: Path, zone: str) -> None:
    with Memory(tmp_path / "m.db", embedder="none") as memory, pytest.raises(InvalidInput):
        memory.set_timezone(zone, user_id="ana")
    with pytest.raises(ConfigError, match="timezone"):
        Memory(tmp_path / "m.db", embedder="none", timezone=zone)


def test_a_machine_without_a_database_of_zones_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remanence.model.zones.available_timezones", set)

    def gone(name: str) -> tzinfo:
        raise KeyError(name)

    monkeypatch.setattr("remanence.model.zones.ZoneInfo", gone)
    with pytest.raises(InvalidInput, match="pip install tzdata"):
        zone_of("Europe/Nowhere")
    assert zone_of("-03:30").utcoffset(None) == -timedelta(hours=3, minutes=30)
    assert zone_of("UTC") is UTC
