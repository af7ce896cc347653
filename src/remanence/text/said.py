"""The days a text speaks of, as two small numbers that are stored with a memory."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from remanence.text.dates import time_ranges
from remanence.text.timerange import TimeRange

NO_TIME = (0, 0)

_FIRST = date(1970, 1, 1).toordinal()
_MIDNIGHT = time()


def said_days(text: str, happened_at: datetime) -> tuple[int, int]:
    """First day and day after the last, since 1970; `NO_TIME` if the text speaks of none.

    Of several times the one said most exactly counts, of equals the first. What is said from the
    moment it is said at ("yesterday") is seen from `happened_at`, on the clocks of its zone. Days
    are those of a calendar, wherever it hangs.
    """
    try:
        mentions = time_ranges(text, happened_at)
    except OverflowError:
        return NO_TIME
    if not mentions:
        return NO_TIME
    return _days(min((one.range for one in mentions), key=_length))


def _length(said: TimeRange) -> timedelta:
    return said.end - said.start


def _days(said: TimeRange) -> tuple[int, int]:
    first = said.start.toordinal()
    after = said.end.toordinal() + (said.end.time() != _MIDNIGHT)
    return first - _FIRST, max(after, first + 1) - _FIRST
