"""What is stored of a text beside it: what sort of sentence it is, and the days it speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time

from remanence.language.cues import has_number, is_question
from remanence.language.english.dates import TimeMention, has_time, may_hold_time, time_ranges
from remanence.language.english.extraction.times import is_name, lasting_now
from remanence.language.english.verbs import Form, guessed, verb
from remanence.language.names import names
from remanence.language.timerange import TimeRange
from remanence.model.hit import TimeSaid
from remanence.model.knowledge import Timespan, when_said

QUESTION = 1
NUMBER = 2
NAMES = 4
TIME = 8
NO_TIME = (0, 0)
_LOOKED_AT = 20_000  # characters
_FIRST = date(1970, 1, 1).toordinal()
_MIDNIGHT = time()
_PART = re.compile(r"(?:[^.,;!?\n]{0,18},)?[^.,;!?\n]+")
_AFTER = re.compile(r"after\b", re.IGNORECASE)
_WORD = re.compile(r"[a-z']+")
_HELPERS = frozenset(["was", "were", "had", "did", "didn't", "wasn't", "weren't", "been"])
_AHEAD = re.compile(
    r"\b(?:will|won't|going to|gonna|plan\w*|hope|hoping|want\w*|upcoming|looking forward"
    r"|(?:am|is|are|i'm|we're|he's|she's|they're|it's) \w+ing)\b|'ll\b",
    re.IGNORECASE,
)


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


def said_times(text: str, happened_at: datetime) -> tuple[TimeSaid, ...]:
    """The times a text speaks of, in its order, seen from when it was said."""
    if not may_hold_time(text):
        return ()
    try:
        found = [*lasting_now(text, happened_at), *_mentioned(text, happened_at)]
    except OverflowError:
        return ()
    return tuple(one for _, one in sorted(found, key=lambda pair: pair[0]))


def _mentioned(text: str, at: datetime) -> Iterator[tuple[int, TimeSaid]]:
    found = time_ranges(text, at)
    ahead = {one.span: one for one in time_ranges(text, at, prefer="future")} if found else {}
    for said in found:
        meant = (
            None if is_name(text, said) else _on_its_side(text, said, ahead.get(said.span, said))
        )
        if meant:
            yield meant.span[0], _said(meant)


def _on_its_side(text: str, past: TimeMention, ahead: TimeMention) -> TimeMention | None:
    """Of "Friday" the one that the words around it mean, before or to come; None if none does."""
    if past.range == ahead.range:
        return past
    here = next((one[0] for one in _PART.finditer(text) if past.span[0] < one.end()), text)
    if _AHEAD.search(here):
        return ahead
    return past if any(map(_is_past, _WORD.findall(here.lower()))) else None


def _is_past(word: str) -> bool:
    known = verb(word)
    if known is None:
        return word in _HELPERS or guessed(word, Form.PAST)
    return Form.PAST in known[1] and Form.BASE not in known[1]


def _said(told: TimeMention) -> TimeSaid:
    """What is meant, each end as vague as it was told."""
    since, until = (None if one is None else _span(one) for one in (told.since, told.until))
    if since is None or until is None:
        meant = since or until or _meant(told)
        when = when_said("", since, until) or str(meant)
    else:
        meant = _span(told.range)
        when = str(meant)
    return TimeSaid(text=" ".join(told.text.split()), when=when, start=meant.start, end=meant.end)


def _meant(told: TimeMention) -> Timespan:
    if told.range.precision != "open":
        return _span(told.range)
    if _AFTER.match(told.text):
        return Timespan(start=told.range.start)
    return Timespan(end=told.range.end)


def _span(said: TimeRange) -> Timespan:
    return Timespan(start=said.start, end=said.end)
