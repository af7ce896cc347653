"""A stretch of time and the calendar arithmetic that makes one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from remanence.errors import InvalidInput

DAY = timedelta(days=1)
UNIT_DAYS = {
    "hour": 1 / 24, "minute": 1 / 1440, "day": 1.0, "night": 1.0, "week": 7.0, "weekend": 7.0,
    "fortnight": 14.0, "month": 30.44, "quarter": 91.3, "year": 365.25, "decade": 3652.5,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From `start` up to and not including `end`.

    `precision` is how exactly it was said: "hours" (part of a day), "day", "weekend", "week",
    "month", "season", "quarter", "year", "decade", or "open" where one end was not said.
    """

    start: datetime
    end: datetime
    precision: str

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise InvalidInput("TimeRange: give start and end with a time zone.")
        if self.start > self.end:
            raise InvalidInput("TimeRange: start must not be after end.")

    def contains(self, moment: datetime) -> bool:
        """Whether the moment lies inside."""
        return self.start <= moment < self.end


def midnight(moment: datetime) -> datetime:
    """The beginning of the moment's day."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def days(moment: datetime, first: float, count: float = 1, precision: str = "day") -> TimeRange:
    """`count` days beginning `first` days from the moment's own day."""
    start = midnight(moment) + first * DAY
    return TimeRange(start, start + count * DAY, precision)


def date(moment: datetime, year: int, month: int, day: int) -> TimeRange:
    """That day, in the moment's time zone."""
    return days(moment.replace(year=year, month=month, day=day), 0)


def calendar(moment: datetime, year: int, month: int | None, day: int | None) -> TimeRange:
    """A year, month or day by its numbers, in the moment's zone; `ValueError` if there is none."""
    start = midnight(moment).replace(
        year=year, month=1 if month is None else month, day=1 if day is None else day
    )
    if day is not None:
        return days(start, 0)
    if month is None:
        return months(start, year, 1, 12, "year")
    return months(start, year, month, 1, "month")


def months(moment: datetime, year: int, month: int, count: int, precision: str) -> TimeRange:
    """`count` months from that one on; `month` may lie outside 1 to 12."""
    return TimeRange(_first(moment, year, month), _first(moment, year, month + count), precision)


def unit(moment: datetime, name: str, offset: int) -> TimeRange:
    """The calendar unit that holds the moment, moved by `offset` units. Weeks begin on Monday."""
    if name in ("week", "fortnight", "weekend"):
        return _week(moment, name, offset)
    if name == "month":
        return months(moment, moment.year, moment.month + offset, 1, name)
    if name == "quarter":
        return months(moment, moment.year, (moment.month - 1) // 3 * 3 + 1 + 3 * offset, 3, name)
    if name == "year":
        return months(moment, moment.year + offset, 1, 12, name)
    if name == "decade":
        return months(moment, moment.year // 10 * 10 + 10 * offset, 1, 120, name)
    return days(moment, offset)


def shifted(moment: datetime, name: str, count: float) -> datetime:
    """The moment `count` units later, by the calendar for whole months and years."""
    span = {"month": 1, "quarter": 3, "year": 12, "decade": 120}.get(name)
    if span is None or not float(count * span).is_integer():
        return moment + timedelta(days=count * UNIT_DAYS[name])
    there = _first(moment, moment.year, moment.month + int(count * span))
    last = (_first(there, there.year, there.month + 1) - DAY).day
    return moment.replace(year=there.year, month=there.month, day=min(moment.day, last))


def easter(year: int) -> tuple[int, int]:
    """Month and day of Easter Sunday (Gregorian; Meeus, Jones, Butcher)."""
    century, rest = divmod(year, 100)
    moon = (19 * (year % 19) + century - century // 4 - (8 * century + 13) // 25 + 15) % 30
    sunday = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    shift = (year % 19 + 11 * moon + 22 * sunday) // 451
    month, day = divmod(moon + sunday - 7 * shift + 114, 31)
    return month, day + 1


def nth_weekday(moment: datetime, year: int, month: int, weekday: int, nth: int) -> TimeRange:
    """The nth such weekday of a month; -1 is the last."""
    first = _first(moment, year, month if nth > 0 else month + 1)
    offset = (weekday - first.weekday()) % 7
    return days(first, offset + 7 * (nth - 1 if nth > 0 else nth))


def _week(moment: datetime, name: str, offset: int) -> TimeRange:
    monday = days(moment, -moment.weekday() + 7 * offset, 7, "week")
    if name == "weekend":
        return days(monday.start, 5, 2, name)
    return monday if name == "week" else days(monday.start, 7 * offset, 14, "week")


def _first(moment: datetime, year: int, month: int) -> datetime:
    years, index = divmod(month - 1, 12)
    return midnight(moment).replace(year=year + years, month=index + 1, day=1)
