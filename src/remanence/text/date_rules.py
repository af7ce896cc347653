"""What each turn of phrase means: one function per pattern of `date_grammar`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from remanence.text.date_reading import Clock, Reading, Rule, Words
from remanence.text.timerange import (
    DAY,
    UNIT_DAYS,
    TimeRange,
    date,
    days,
    easter,
    midnight,
    months,
    nth_weekday,
    shifted,
    unit,
)

EARLIEST_YEAR, LATEST_YEAR = 1900, 2200
_TOO_FINE = ("hour", "minute")
_LONG = ("month", "season", "quarter", "year", "decade")
_SLACK_DAYS = {"week": 3, "fortnight": 4, "month": 15, "quarter": 45, "year": 183, "decade": 1826}
_HOURS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
_FIXED = {
    "christmas": (12, 25), "christmas eve": (12, 24), "new year": (1, 1),
    "new year's eve": (12, 31), "halloween": (10, 31), "valentine": (2, 14),
    "independence day": (7, 4),
}  # fmt: skip
_BY_WEEKDAY = {
    "thanksgiving": (11, 3, 4), "mother's day": (5, 6, 2), "father's day": (6, 6, 3),
    "memorial day": (5, 0, -1), "labor day": (9, 0, 1),
}  # fmt: skip


def written_date(words: Words) -> Reading | None:
    """2023-05-07, 7/5/2023, 2023年5月."""
    text = words.text("X")
    parts = [int(part) for part in re.split(r"\D+", text) if part]
    if "月" in text and "年" not in text:
        if len(parts) == 1:
            return _month(words.clock, parts[0])
        return _yearless_day(words.clock, parts[0], parts[1])
    if parts[0] > 99:
        return _year_first(words.now, parts)
    year = parts[2] + (2000 if parts[2] < 70 else 1900) if parts[2] < 100 else parts[2]
    day_first = words.clock.day_first or "." in text
    day, month = parts[:2]
    if month > 12 or (day <= 12 and not day_first):
        day, month = month, day
    return Reading(date(words.now, year, month, day), 0.95 if day > 12 else 0.8)


def _year_first(now: datetime, parts: list[int]) -> Reading:
    if len(parts) == 3:
        return Reading(date(now, parts[0], parts[1], parts[2]), 1.0)
    if len(parts) == 2:
        return Reading(months(now, parts[0], parts[1], 1, "month"), 1.0)
    return Reading(months(now, parts[0], 1, 12, "year"), 0.9)


def day_range(words: Words) -> Reading | None:
    """From 3 to 7 May."""
    if "&" in words.kinds and "F" not in words.kinds:
        return None
    first, last = (node.number for node in words.all("nO")[:2])
    end = _dated(words, last)
    if first >= last or end is None:
        return None
    start = end.range.start.replace(day=first)
    return Reading(TimeRange(start, end.range.end, "day"), end.certainty, end.cycle)


def month_range(words: Words) -> Reading | None:
    """Between March and May 2023."""
    first, last = (node.number for node in words.all("Mmk"))
    years = [node.number for node in words.all("Y")]
    if years:
        end = Reading(months(words.now, years[-1], last, 1, "month"), 0.95)
    else:
        end = _month(words.clock, last)
    start_year = years[0] if len(years) == 2 else end.range.start.year - (first > last)
    start = months(words.now, start_year, first, 1, "month")
    return Reading(TimeRange(start.start, end.range.end, "month"), end.certainty)


def exact_day(words: Words) -> Reading | None:
    """7 May, May 7th, 2023."""
    return _dated(words, words.number("nO"))


def _dated(words: Words, day: int) -> Reading | None:
    month, year = words.number("Mmk"), words.number("Y")
    if year:
        return Reading(date(words.now, year, month, day), 1.0)
    return _yearless_day(words.clock, month, day)


def _yearless_day(clock: Clock, month: int, day: int) -> Reading | None:
    return _nearest(clock, lambda year: date(clock.now, year, month, day), 0.9)


def _month(clock: Clock, month: int) -> Reading:
    found = _nearest(clock, lambda year: months(clock.now, year, month, 1, "month"), 0.85)
    if found is None:
        raise ValueError(month)
    return found


def _nearest(
    clock: Clock, in_year: Callable[[int], TimeRange], certainty: float, turn: float | None = None
) -> Reading | None:
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
    return Reading(fitting[0], certainty, "year") if fitting else None


def _on_side(clock: Clock, around: list[TimeRange]) -> list[TimeRange]:
    if clock.past:
        return [span for span in around if span.start <= clock.now][-1:]
    return [span for span in around if span.end > clock.now]


def month_of_year(words: Words) -> Reading | None:
    """May 2023."""
    return Reading(months(words.now, words.number("Y"), words.number("Mmk"), 1, "month"), 1.0)


def season_of_year(words: Words) -> Reading | None:
    """Summer 2023."""
    return Reading(months(words.now, words.number("Y"), words.number("Ss"), 3, "season"), 0.9)


def quarter_of_year(words: Words) -> Reading | None:
    """Q3 2023."""
    month = 3 * words.number("Q") - 2
    return Reading(months(words.now, words.number("Y"), month, 3, "quarter"), 1.0)


def holiday_of_year(words: Words) -> Reading | None:
    """Christmas 2023."""
    return Reading(_holiday(words.now, words.text("Hh"), words.number("Y")), 1.0)


def _holiday(now: datetime, name: str, year: int) -> TimeRange:
    if name in _FIXED:
        return date(now, year, *_FIXED[name])
    if name in _BY_WEEKDAY:
        month, weekday, nth = _BY_WEEKDAY[name]
        return nth_weekday(now, year, month, weekday, nth)
    if name == "black friday":
        return days(nth_weekday(now, year, 11, 3, 4).start, 1)
    return days(date(now, year, *easter(year)).start, -2 if name == "good friday" else 0)


def ago(words: Words) -> Reading | None:
    """Two weeks ago."""
    return _away(words, -1)


def ahead(words: Words) -> Reading | None:
    """In two weeks."""
    found = _away(words, 1)
    return found and replace(found, certainty=0.6)


def _away(words: Words, sign: int) -> Reading | None:
    """Some units from now; the vaguer the number and the longer the unit, the wider."""
    low, high = words.amount()
    name = words.text("U") or "week"
    if name in _TOO_FINE:
        return None
    near, far = (midnight(shifted(words.now, name, sign * count)) for count in (low, high))
    if name == "weekend":
        return Reading(unit(near, name, 0), 0.8)
    if weekday := words.first("V"):
        return Reading(_weekday_in(words.now, weekday.number, sign * int(low)), 0.8)
    slack = _slack(name, high)
    start, end = min(near, far) - slack, max(near, far) + slack + DAY
    vague = "f" in words.kinds
    return Reading(TimeRange(start, end, "day" if name == "night" else name), 0.6 if vague else 0.8)


def _slack(name: str, count: float) -> timedelta:
    if name in ("day", "night"):
        return (0 if count < 7 else 1 if count < 20 else 4) * DAY
    if count < 1:
        return round(count * UNIT_DAYS[name] / 4) * DAY
    return round(_SLACK_DAYS.get(name, 3) * (5 + count) / 6) * DAY


def _weekday_in(now: datetime, weekday: int, steps: int) -> TimeRange:
    """The weekday `steps` occurrences from today, today not counted."""
    if steps < 0:
        back = (now.weekday() - weekday) % 7 or 7
        return days(now, 7 * (steps + 1) - back)
    ahead = (weekday - now.weekday()) % 7 or 7
    return days(now, ahead + 7 * (steps - 1))


def some_days_ago(words: Words) -> Reading | None:
    """The other day."""
    return Reading(days(words.now, -10, 10), 0.5)


def rolling(words: Words) -> Reading | None:
    """The last ten days."""
    low, high = words.amount() if words.first("nNaf") else (1.0, 1.0)
    name, turn = words.text("U"), words.turn()
    if turn == 0 or name in _TOO_FINE:
        return None
    today = midnight(words.now)
    far = midnight(shifted(words.now, name, high if turn > 0 else -high))
    start, end = (far, today + DAY) if turn < 0 else (today, far + DAY)
    return Reading(TimeRange(start, end, name), 0.9 if low == high else 0.7)


def beyond(words: Words) -> Reading | None:
    """The week before last."""
    turn = words.turn()
    if turn == 0 or (turn < 0) != ("B" in words.kinds):
        return None
    found = unit(words.now, words.text("U") or "day", -2 if turn < 0 else 2)
    return Reading(_at_hours(found, words), 0.9)


def turned_unit(words: Words) -> Reading | None:
    """Last week, this month, next year."""
    name, turn = words.text("U"), words.turn()
    if name in _TOO_FINE or (name in ("day", "night") and turn == 0):
        return None
    if name == "weekend":
        return Reading(_weekend(words.now, turn), 0.9)
    if turn < 0 and (turn != -1 or words.kinds.startswith("tL")):
        return rolling(words)
    return Reading(unit(words.now, name, int(turn)), 0.9)


def _weekend(now: datetime, turn: float) -> TimeRange:
    return unit(now, "weekend", -1 if turn < 0 else int(turn))


def turned_weekday(words: Words) -> Reading | None:
    """Last Friday night."""
    weekday, turn = words.number("Ww"), words.turn()
    if turn == 0:
        found = days(unit(words.now, "week", 0).start, weekday)
    else:
        found = _weekday_in(words.now, weekday, -1 if turn < 0 else 1)
    return Reading(_at_hours(found, words), 0.9)


def plain_weekday(words: Words) -> Reading | None:
    """On Friday."""
    found = _weekday_in(words.now, words.number("Ww"), -1 if words.clock.past else 1)
    return Reading(_at_hours(found, words), 0.8, "week")


def plain_weekend(words: Words) -> Reading | None:
    """Over the weekend."""
    if words.text("U") != "weekend":
        return None
    return Reading(_weekend(words.now, -1 if words.clock.past else 0), 0.7)


def turned_night(words: Words) -> Reading | None:
    """Last night, this morning."""
    turn = words.turn()
    if turn > 0:
        return None
    return Reading(_at_hours(days(words.now, -1 if turn < 0 else 0), words), 0.95)


def relative_day(words: Words) -> Reading | None:
    """Yesterday evening."""
    return Reading(_at_hours(days(words.now, words.number("D")), words), 0.95)


def _at_hours(day: TimeRange, words: Words) -> TimeRange:
    hours = _HOURS.get(words.text("d"))
    if hours is None:
        return day
    first, last = (day.start + timedelta(hours=hour) for hour in hours)
    return TimeRange(first, last, "hours")


def yearly(in_year: Callable[[Words, int], TimeRange]) -> Rule:
    """Last summer, this May, at Christmas: what comes once a year."""

    def rule(words: Words) -> Reading | None:
        turn = words.turn() if words.first("Ll") else None
        certainty = 0.8 if turn is None else 0.9
        return _nearest(words.clock, lambda year: in_year(words, year), certainty, turn)

    return rule


def month_in(words: Words, year: int) -> TimeRange:
    """The month said, in that year."""
    return months(words.now, year, words.number("Mmk"), 1, "month")


def season_in(words: Words, year: int) -> TimeRange:
    """The season said, as it begins in that year."""
    return months(words.now, year, words.number("Ss"), 3, "season")


def holiday_in(words: Words, year: int) -> TimeRange:
    """The holiday said, in that year."""
    return _holiday(words.now, words.text("Hh"), year)


def whole_year(words: Words) -> Reading | None:
    """In 2023."""
    number = words.number("Y")
    if number < 0:
        return Reading(unit(words.now, "year", number), 0.9)
    return Reading(months(words.now, number, 1, 12, "year"), 0.9)


def whole_decade(words: Words) -> Reading | None:
    """The 1990s."""
    number = words.number("G")
    year = number if number > 99 else number + (1900 if number > 30 else 2000)
    return Reading(months(words.now, year, 1, 120, "decade"), 0.8)


def han_unit(words: Words) -> Reading | None:
    """先週."""
    name, offset = re.split(r"(?=[-+])", words.text("R"))
    return Reading(unit(words.now, name, int(offset)), 0.9)


def part_of(words: Words) -> Reading | None:
    """Early March, the end of last month."""
    whole = words.ranges()[0]
    third = (whole.range.end - whole.range.start) / 3
    if third <= DAY:
        return whole
    first = words.number("P")
    start = whole.range.start + third * first
    return replace(whole, range=TimeRange(start, start + third, whole.range.precision))


def nth_unit(words: Words) -> Reading | None:
    """The first week of April."""
    whole = words.ranges()[0]
    nth = words.number("O") or -1
    start, end = whole.range.start, whole.range.end
    name = words.text("U")
    if name in _TOO_FINE or whole.range.precision not in _LONG:
        return None
    if nth < 0:
        begin = midnight(shifted(end, name, -1))
        return replace(whole, range=TimeRange(begin, end, name))
    begin = shifted(start, name, nth - 1)
    return replace(whole, range=TimeRange(begin, shifted(begin, name, 1), name))


def weekday_of(words: Words) -> Reading | None:
    """The last Friday of May, Monday of last week."""
    whole, weekday = words.ranges()[0], words.number("W")
    start, precision = whole.range.start, whole.range.precision
    if precision == "week" and not words.first("OL"):
        return replace(whole, range=days(start, (weekday - start.weekday()) % 7))
    if precision == "month" and (nth := words.number("O") or (-1 if words.first("L") else 0)):
        return replace(whole, range=nth_weekday(start, start.year, start.month, weekday, nth))
    return None


def containing(words: Words) -> Reading | None:
    """The week of 9 June, the month of May."""
    whole, name = words.ranges()[0], words.text("U")
    if name in _TOO_FINE:
        return None
    if UNIT_DAYS[name] * DAY <= whole.range.end - whole.range.start and name != "weekend":
        return whole
    return replace(whole, range=unit(whole.range.start, name, 0))


def offset(words: Words) -> Reading | None:
    """The week before X is the stretch that ends there, a week before X a few days around then."""
    anchor, name = words.ranges()[0], words.text("U")
    if name in _TOO_FINE:
        return None
    sign = -1 if "B" in words.kinds else 1
    edge = anchor.range.start if sign < 0 else anchor.range.end
    if name == "weekend":
        return replace(anchor, range=unit(anchor.range.start, name, min(sign, 0) + (sign > 0)))
    counted = words.first("nNaf") is not None
    far = midnight(shifted(edge, name, sign * (words.amount()[1] if counted else 1.0)))
    if not counted or words.kinds.startswith("t"):
        return replace(anchor, range=TimeRange(min(edge, far), max(edge, far), name))
    if sign > 0:
        far -= DAY
    slack = round(_slack(name, words.amount()[1]) / DAY * 2 / 3) * DAY
    return replace(anchor, range=TimeRange(far - slack, far + slack + DAY, name))


def weekday_by(words: Words) -> Reading | None:
    """The Friday before 15 July."""
    anchor = words.ranges()[0]
    if "B" in words.kinds:
        return replace(anchor, range=_weekday_in(anchor.range.start, words.number("W"), -1))
    return replace(anchor, range=_weekday_in(anchor.range.end - DAY, words.number("W"), 1))


def between(words: Words) -> Reading | None:
    """From Monday to Friday."""
    first, last = words.ranges()
    start, end = first.range.start, last.range
    if last.cycle == "year" and not first.cycle:
        end = _in_year_of(end, start)
    if first.cycle and start >= end.start:
        start = shifted(start, first.cycle, -1)
    if start >= end.end:
        return None
    return Reading(TimeRange(start, end.end, end.precision), min(first.certainty, last.certainty))


def _in_year_of(span: TimeRange, start: datetime) -> TimeRange:
    moved = [shifted(edge, "year", start.year - span.start.year) for edge in (span.start, span.end)]
    return TimeRange(moved[0], moved[1], span.precision) if moved[1] > start else span


def open_since(words: Words) -> Reading | None:
    """Since March."""
    start = words.ranges()[0].range.start
    if start >= words.now:
        return None
    return Reading(TimeRange(start, midnight(words.now) + DAY, "open"), 0.8)


def open_before(words: Words) -> Reading | None:
    """Before June 2023, until May."""
    span = words.ranges()[0].range
    end = span.end if "b" in words.kinds else span.start
    return Reading(TimeRange(min(_year_start(words.now, EARLIEST_YEAR), end), end, "open"), 0.7)


def open_after(words: Words) -> Reading | None:
    """After 5 June."""
    start = words.ranges()[0].range.end
    today = midnight(words.now) + DAY
    end = today if start < today else max(_year_start(words.now, LATEST_YEAR), start)
    return Reading(TimeRange(start, end, "open"), 0.7)


def _year_start(now: datetime, year: int) -> datetime:
    return midnight(now).replace(year=year, month=1, day=1)
