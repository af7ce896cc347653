"""Days and stretches that a calendar names: 7 May, the summer of 2023, last Christmas."""

from __future__ import annotations

import re
from collections.abc import Callable

from remanence.language.english.dates.tokens import DateContext, MatchedNodes, Rule, TimeReading
from remanence.language.timerange import (
    TimeRange,
    calendar,
    date,
    days,
    easter,
    months,
    nth_weekday,
    unit,
)

_FIXED = {
    "christmas": (12, 25), "christmas eve": (12, 24), "new year": (1, 1),
    "new year's eve": (12, 31), "halloween": (10, 31), "valentine": (2, 14),
    "independence day": (7, 4),
}  # fmt: skip
_BY_WEEKDAY = {
    "thanksgiving": (11, 3, 4), "mother's day": (5, 6, 2), "father's day": (6, 6, 3),
    "memorial day": (5, 0, -1), "labor day": (9, 0, 1),
}  # fmt: skip


def written_date(words: MatchedNodes) -> TimeReading | None:
    """2023-05-07, 7/5/2023, 2023年5月."""
    text = words.text("X")
    parts = [int(part) for part in re.split(r"\D+", text) if part]
    if "月" in text and "年" not in text:
        if len(parts) == 1:
            return _month(words.clock, parts[0])
        return _yearless_day(words.clock, parts[0], parts[1])
    if parts[0] > 99:
        year, month, day = (*parts, None, None)[:3]
        certainty = 0.9 if month is None else 1.0
        return TimeReading(calendar(words.now, year or 0, month, day), certainty)
    year = parts[2] + (2000 if parts[2] < 70 else 1900) if parts[2] < 100 else parts[2]
    day_first = words.clock.day_first or "." in text
    day, month = parts[:2]
    if month > 12 or (day <= 12 and not day_first):
        day, month = month, day
    return TimeReading(date(words.now, year, month, day), 0.95 if day > 12 else 0.8)


def day_range(words: MatchedNodes) -> TimeReading | None:
    """From 3 to 7 May."""
    if "&" in words.kinds and "F" not in words.kinds:
        return None
    first, last = (node.number for node in words.all("nO")[:2])
    end = _dated(words, last)
    if first >= last or end is None:
        return None
    start = end.range.start.replace(day=first)
    return TimeReading(TimeRange(start, end.range.end, "day"), end.certainty, end.cycle)


def month_range(words: MatchedNodes) -> TimeReading | None:
    """Between March and May 2023."""
    first, last = (node.number for node in words.all("Mmk"))
    years = [node.number for node in words.all("Y")]
    if years:
        end = TimeReading(months(words.now, years[-1], last, 1, "month"), 0.95)
    else:
        end = _month(words.clock, last)
    start_year = years[0] if len(years) == 2 else end.range.start.year - (first > last)
    start = months(words.now, start_year, first, 1, "month")
    return TimeReading(TimeRange(start.start, end.range.end, "month"), end.certainty)


def year_range(words: MatchedNodes) -> TimeReading | None:
    """From 2021 to 2022."""
    first, last = (months(words.now, node.number, 1, 12, "year") for node in words.all("Y"))
    if first.start >= last.start:
        return None
    return TimeReading(TimeRange(first.start, last.end, "year"), 0.9, since=first, until=last)


def exact_day(words: MatchedNodes) -> TimeReading | None:
    """7 May, May 7th, 2023."""
    return _dated(words, words.number("nO"))


def _dated(words: MatchedNodes, day: int) -> TimeReading | None:
    month, year = words.number("Mmk"), words.number("Y")
    if year:
        return TimeReading(date(words.now, year, month, day), 1.0)
    return _yearless_day(words.clock, month, day)


def _yearless_day(clock: DateContext, month: int, day: int) -> TimeReading | None:
    return _nearest(clock, lambda year: date(clock.now, year, month, day), 0.9)


def _month(clock: DateContext, month: int) -> TimeReading:
    found = _nearest(clock, lambda year: months(clock.now, year, month, 1, "month"), 0.85)
    if found is None:
        raise ValueError(month)
    return found


def of_year(in_year: Callable[[MatchedNodes, int], TimeRange], certainty: float = 1.0) -> Rule:
    """May 2023, summer 2023, Christmas 2023."""
    return lambda words: TimeReading(in_year(words, words.number("Y")), certainty)


def quarter_of_year(words: MatchedNodes) -> TimeReading | None:
    """Q3 2023."""
    month = 3 * words.number("Q") - 2
    return TimeReading(months(words.now, words.number("Y"), month, 3, "quarter"), 1.0)


def holiday_in(words: MatchedNodes, year: int) -> TimeRange:
    """The holiday said, in that year."""
    now, name = words.now, words.text("Hh")
    if name in _FIXED:
        return date(now, year, *_FIXED[name])
    if name in _BY_WEEKDAY:
        month, weekday, nth = _BY_WEEKDAY[name]
        return nth_weekday(now, year, month, weekday, nth)
    if name == "black friday":
        return days(nth_weekday(now, year, 11, 3, 4).start, 1)
    return days(date(now, year, *easter(year)).start, -2 if name == "good friday" else 0)


def yearly(in_year: Callable[[MatchedNodes, int], TimeRange]) -> Rule:
    """Last summer, this May, at Christmas: what comes once a year."""

    def rule(words: MatchedNodes) -> TimeReading | None:
        turn = words.turn() if words.first("Ll") else None
        certainty = 0.8 if turn is None else 0.9
        return _nearest(words.clock, lambda year: in_year(words, year), certainty, turn)

    return rule


def month_in(words: MatchedNodes, year: int) -> TimeRange:
    """The month said, in that year."""
    return months(words.now, year, words.number("Mmk"), 1, "month")


def season_in(words: MatchedNodes, year: int) -> TimeRange:
    """The season said, as it begins in that year."""
    return months(words.now, year, words.number("Ss"), 3, "season")


def _nearest(
    clock: DateContext,
    in_year: Callable[[int], TimeRange],
    certainty: float,
    turn: float | None = None,
) -> TimeReading | None:
    """The occurrence meant by `turn` (last, this, next), or by the preferred side of now."""
    year = clock.now.year
    around = []
    for candidate in range(year - 5, year + 6):
        try:
            around.append(in_year(candidate))
        except (ValueError, OverflowError):
            continue
    if turn == 0:
        fitting = [span for span in around if span.start.year == year]
    elif turn is None:
        fitting = _on_side(clock, around)
    elif turn < 0:
        fitting = [span for span in around if span.end <= clock.now][-1:]
    else:
        fitting = [span for span in around if span.start > clock.now]
    return TimeReading(fitting[0], certainty, "year") if fitting else None


def _on_side(clock: DateContext, around: list[TimeRange]) -> list[TimeRange]:
    if clock.past:
        return [span for span in around if span.start <= clock.now][-1:]
    return [span for span in around if span.end > clock.now]


def whole_year(words: MatchedNodes) -> TimeReading | None:
    """In 2023."""
    number = words.number("Y")
    if number < 0:
        return TimeReading(unit(words.now, "year", number), 0.9)
    return TimeReading(months(words.now, number, 1, 12, "year"), 0.9)


def whole_decade(words: MatchedNodes) -> TimeReading | None:
    """The 1990s."""
    number = words.number("G")
    year = number if number > 99 else number + (1900 if number > 30 else 2000)
    return TimeReading(months(words.now, year, 1, 120, "decade"), 0.8)
