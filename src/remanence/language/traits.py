"""What is stored of a text beside it: what sort of sentence it is, and the days it speaks of."""

from __future__ import annotations

from datetime import date, datetime, time

from remanence.language.cues import has_number, is_question
from remanence.language.english.dates import has_time, time_ranges
from remanence.language.names import names
from remanence.language.timerange import TimeRange

QUESTION = 1
NUMBER = 2
NAMES = 4
TIME = 8
NO_TIME = (0, 0)
_LOOKED_AT = 20_000  # characters
_FIRST = date(1970, 1, 1).toordinal()
_MIDNIGHT = time()


def flags(text: str) -> int:
    """The bits of a text: it asks, it holds a number, a name, a time.

    Of a long text the beginning is looked at.
    """
    text = text[:_LOOKED_AT]
    form = QUESTION * is_question(text) | NUMBER * has_number(text)
    return form | NAMES * bool(names(text)) | TIME * has_time(text)


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
    return _days(min((one.range for one in mentions), key=lambda said: said.end - said.start))


def _days(said: TimeRange) -> tuple[int, int]:
    first = said.start.toordinal()
    after = said.end.toordinal() + (said.end.time() != _MIDNIGHT)
    return first - _FIRST, max(after, first + 1) - _FIRST
