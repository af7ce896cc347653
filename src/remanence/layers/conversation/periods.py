"""Days, weeks and months as a calendar has them, in any time zone. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from remanence.errors import InvalidInput
from remanence.model.conversation import Level
from remanence.model.validation import local_moment_of

# Levels that sum up a time, and the names under which a summary's metadata says which.
DAY = timedelta(days=1)
PERIODS = (Level.DAY, Level.WEEK, Level.MONTH)


def name_of(level: Level, day: date) -> str:
    """What the period is called that holds the day: 2026-03-02, 2026-W10 or 2026-03.

    >>> name_of(Level.WEEK, date(2027, 1, 3))
    '2026-W53'
    """
    if level is Level.WEEK:
        year, week, _ = day.isocalendar()
        return f"{year:04}-W{week:02}"
    return f"{day.year:04}-{day.month:02}" if level is Level.MONTH else day.isoformat()


def day_of(day: object) -> date:
    """The day meant by a date, a moment or a text like 2026-03-01."""
    if isinstance(day, datetime):
        return local_moment_of("day", day).date()
    if isinstance(day, date):
        return day
    try:
        return date.fromisoformat(day if isinstance(day, str) else "")
    except ValueError:
        raise InvalidInput(f"day must be a date like 2026-03-01; got {str(day)[:40]!r}.") from None


def days_of(level: Level, day: date) -> list[date]:
    """All days of the period that holds the day, in order; the calendar ends with 9999."""
    at, last = first_of(level, day).toordinal(), date.max.toordinal()
    near = [date.fromordinal(n) for n in range(at, min(at + 31, last + 1))]
    return [one for one in near if name_of(level, one) == name_of(level, day)]


def first_of(level: Level, day: date) -> date:
    """The first day of the period that holds the day."""
    if level is Level.WEEK:
        return date.fromordinal(day.toordinal() - day.weekday())
    return day.replace(day=1) if level is Level.MONTH else day


def parts_of(day: date) -> list[tuple[Level, date]]:
    """What a month is told from: its whole weeks, and the days at its ends that are in none."""
    parts: dict[tuple[Level, date], None] = {}
    for one in days_of(Level.MONTH, day):
        week = days_of(Level.WEEK, one)
        whole = len(week) == 7 and {d.month for d in week} == {one.month}
        parts[(Level.WEEK, week[0]) if whole else (Level.DAY, one)] = None
    return list(parts)


def over(level: Level, days: Iterable[date], today: date) -> list[date]:
    """The first days of the periods that hold some of the days and have ended before today."""
    found = sorted({first_of(level, day) for day in days})
    return [first for first in found if days_of(level, first)[-1] < today]


def bounds(day: date, zone: tzinfo = UTC) -> tuple[datetime, datetime]:
    """When a day begins there, and when the next one does, in UTC."""
    return _midnight(day, zone), _midnight(None if day == date.max else day + DAY, zone)


def _midnight(day: date | None, zone: tzinfo) -> datetime:
    try:
        if day is not None:
            return datetime.combine(day, time(), zone).astimezone(UTC)
    except OverflowError:  # on the first or last day there is
        if day == date.min:
            return datetime.min.replace(tzinfo=UTC)
    return datetime.max.replace(tzinfo=UTC)
