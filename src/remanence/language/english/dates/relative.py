"""Times counted from now or from another one: two weeks ago, last Friday, since March."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta

from remanence.language.english.dates.tokens import MatchedNodes, TimeReading
from remanence.language.timerange import (
    DAY,
    UNIT_DAYS,
    TimeRange,
    days,
    midnight,
    nth_weekday,
    shifted,
    unit,
)

EARLIEST_YEAR, LATEST_YEAR = 1900, 2200
_UNTIL = 1  # of the words for an end: it lasts up to there; else it comes before
_TOO_FINE = ("hour", "minute")
_LONG = ("month", "season", "quarter", "year", "decade")
_SLACK_DAYS = {"week": 3, "fortnight": 4, "month": 15, "quarter": 45, "year": 183, "decade": 1826}
_HOURS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}


def ago(words: MatchedNodes) -> TimeReading | None:
    """Two weeks ago."""
    return _away(words, -1)


def ahead(words: MatchedNodes) -> TimeReading | None:
    """In two weeks."""
    found = _away(words, 1)
    return found and replace(found, certainty=0.6)


def _away(words: MatchedNodes, sign: int) -> TimeReading | None:
    """Some units from now; the vaguer the number and the longer the unit, the wider."""
    low, high = words.amount()
    name = words.text("U") or "week"
    if name in _TOO_FINE:
        return None
    near, far = (midnight(shifted(words.now, name, sign * count)) for count in (low, high))
    if name == "weekend":
        return TimeReading(unit(near, name, 0), 0.8)
    if weekday := words.first("V"):
        return TimeReading(_weekday_in(words.now, weekday.number, sign * int(low)), 0.8)
    slack = _slack(name, high)
    start, end = min(near, far) - slack, max(near, far) + slack + DAY
    vague = "f" in words.kinds
    return TimeReading(
        TimeRange(start, end, "day" if name == "night" else name), 0.6 if vague else 0.8
    )


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


def some_days_ago(words: MatchedNodes) -> TimeReading | None:
    """The other day."""
    return TimeReading(days(words.now, -10, 10), 0.5)


def rolling(words: MatchedNodes) -> TimeReading | None:
    """The last ten days."""
    low, high = words.amount() if words.first("nNaf") else (1.0, 1.0)
    name, turn = words.text("U"), words.turn()
    if turn == 0 or name in _TOO_FINE:
        return None
    today = midnight(words.now)
    far = midnight(shifted(words.now, name, high if turn > 0 else -high))
    start, end = (far, today + DAY) if turn < 0 else (today, far + DAY)
    return TimeReading(TimeRange(start, end, name), 0.9 if low == high else 0.7)


def beyond(words: MatchedNodes) -> TimeReading | None:
    """The week before last."""
    turn = words.turn()
    if turn == 0 or (turn < 0) != ("B" in words.kinds):
        return None
    found = unit(words.now, words.text("U") or "day", -2 if turn < 0 else 2)
    return TimeReading(_at_hours(found, words), 0.9)


def turned_unit(words: MatchedNodes) -> TimeReading | None:
    """Last week, this month, next year."""
    name, turn = words.text("U"), words.turn()
    if name in _TOO_FINE or (name in ("day", "night") and turn == 0):
        return None
    if name == "weekend":
        return TimeReading(_weekend(words.now, turn), 0.9)
    if name == "day" and words.kinds.startswith("tL") and turn > 0:
        return None  # "the next day" follows one that was spoken of
    if turn < 0 and (turn != -1 or words.kinds.startswith("tL")):
        return rolling(words)
    return TimeReading(unit(words.now, name, int(turn)), 0.9)


def _weekend(now: datetime, turn: float) -> TimeRange:
    return unit(now, "weekend", -1 if turn < 0 else int(turn))


def turned_weekday(words: MatchedNodes) -> TimeReading | None:
    """Last Friday night."""
    weekday, turn = words.number("Ww"), words.turn()
    if turn == 0:
        found = days(unit(words.now, "week", 0).start, weekday)
    else:
        found = _weekday_in(words.now, weekday, -1 if turn < 0 else 1)
    return TimeReading(_at_hours(found, words), 0.9)


def plain_weekday(words: MatchedNodes) -> TimeReading | None:
    """On Friday."""
    found = _weekday_in(words.now, words.number("Ww"), -1 if words.clock.past else 1)
    return TimeReading(_at_hours(found, words), 0.8, "week")


def plain_weekend(words: MatchedNodes) -> TimeReading | None:
    """Over the weekend."""
    if words.text("U") != "weekend":
        return None
    return TimeReading(_weekend(words.now, -1 if words.clock.past else 0), 0.7)


def this_unit(words: MatchedNodes) -> TimeReading | None:
    """The end of the month."""
    name = words.text("U")
    return TimeReading(unit(words.now, name, 0), 0.7) if name in ("week", *_LONG) else None


def turned_night(words: MatchedNodes) -> TimeReading | None:
    """Last night, this morning."""
    turn = words.turn()
    if turn > 0:
        return None
    return TimeReading(_at_hours(days(words.now, -1 if turn < 0 else 0), words), 0.95)


def relative_day(words: MatchedNodes) -> TimeReading | None:
    """Yesterday evening."""
    return TimeReading(_at_hours(days(words.now, words.number("D")), words), 0.95)


def _at_hours(day: TimeRange, words: MatchedNodes) -> TimeRange:
    hours = _HOURS.get(words.text("d"))
    if hours is None:
        return day
    first, last = (day.start + timedelta(hours=hour) for hour in hours)
    return TimeRange(first, last, "hours")


def han_unit(words: MatchedNodes) -> TimeReading | None:
    """先週."""
    name, offset = re.split(r"(?=[-+])", words.text("R"))
    return TimeReading(unit(words.now, name, int(offset)), 0.9)


def part_of(words: MatchedNodes) -> TimeReading | None:
    """Early March, the end of last month."""
    whole = words.ranges()[0]
    third = (whole.range.end - whole.range.start) / 3
    if third <= DAY:
        return whole
    first = words.number("P")
    start = whole.range.start + third * first
    return replace(whole, range=TimeRange(start, start + third, whole.range.precision))


def nth_unit(words: MatchedNodes) -> TimeReading | None:
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


def weekday_of(words: MatchedNodes) -> TimeReading | None:
    """The last Friday of May, Monday of last week."""
    whole, weekday = words.ranges()[0], words.number("W")
    start, precision = whole.range.start, whole.range.precision
    if precision == "week" and not words.first("OL"):
        return replace(whole, range=days(start, (weekday - start.weekday()) % 7))
    if precision == "month" and (nth := words.number("O") or (-1 if words.first("L") else 0)):
        return replace(whole, range=nth_weekday(start, start.year, start.month, weekday, nth))
    return None


def day_of(words: MatchedNodes) -> TimeReading | None:
    """The 12th of last month."""
    whole = words.ranges()[0]
    day = whole.range.start + (words.number("O") - 1) * DAY
    of_month = whole.range.precision == "month" and day < whole.range.end
    return replace(whole, range=days(day, 0)) if of_month else None


def containing(words: MatchedNodes) -> TimeReading | None:
    """The week of 9 June, the month of May."""
    whole, name = words.ranges()[0], words.text("U")
    if name in _TOO_FINE:
        return None
    if UNIT_DAYS[name] * DAY <= whole.range.end - whole.range.start and name != "weekend":
        return whole
    return replace(whole, range=unit(whole.range.start, name, 0))


def offset(words: MatchedNodes) -> TimeReading | None:
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


def weekday_by(words: MatchedNodes) -> TimeReading | None:
    """The Friday before 15 July."""
    anchor = words.ranges()[0]
    if "B" in words.kinds:
        return replace(anchor, range=_weekday_in(anchor.range.start, words.number("W"), -1))
    return replace(anchor, range=_weekday_in(anchor.range.end - DAY, words.number("W"), 1))


def between(words: MatchedNodes) -> TimeReading | None:
    """From Monday to Friday."""
    first, last = words.ranges()
    start, end = first.range.start, last.range
    if last.cycle == "year" and not first.cycle:
        end = _in_year_of(end, start)
    if first.cycle and start >= end.start:
        start = shifted(start, first.cycle, -1)
    if start >= end.end:
        return None
    whole = TimeRange(start, end.end, end.precision)
    began = replace(first.range, start=start, end=min(max(first.range.end, start), end.end))
    return TimeReading(whole, min(first.certainty, last.certainty), since=began, until=end)


def _in_year_of(span: TimeRange, start: datetime) -> TimeRange:
    moved = [shifted(edge, "year", start.year - span.start.year) for edge in (span.start, span.end)]
    return TimeRange(moved[0], moved[1], span.precision) if moved[1] > start else span


def open_since(words: MatchedNodes) -> TimeReading | None:
    """Since March."""
    began = words.ranges()[0].range
    if began.start >= words.now:
        return None
    whole = TimeRange(began.start, midnight(words.now) + DAY, "open")
    return TimeReading(whole, 0.8, since=began)


def open_before(words: MatchedNodes) -> TimeReading | None:
    """Before June 2023, until May, by Friday."""
    span = words.ranges()[0].range
    end = span.end if "b" in words.kinds else span.start
    whole = TimeRange(min(_year_start(words.now, EARLIEST_YEAR), end), end, "open")
    return TimeReading(whole, 0.7, until=span if words.number("b") == _UNTIL else None)


def open_after(words: MatchedNodes) -> TimeReading | None:
    """After 5 June."""
    start = words.ranges()[0].range.end
    today = midnight(words.now) + DAY
    end = today if start < today else max(_year_start(words.now, LATEST_YEAR), start)
    return TimeReading(TimeRange(start, end, "open"), 0.7)


def roughly(words: MatchedNodes) -> TimeReading | None:
    """About May, around 2016: somewhat before and after it too."""
    said = words.ranges()[0]
    start, end = said.range.start, said.range.end
    slack = max(3, round((end - start) / DAY / 4)) * DAY
    return replace(said, range=TimeRange(start - slack, end + slack, said.range.precision))


def _year_start(now: datetime, year: int) -> datetime:
    return midnight(now).replace(year=year, month=1, day=1)
