"""Time in language: which stretches of time a text speaks of, and whether it asks for one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from remanence.errors import InvalidInput
from remanence.language.english import lexicon
from remanence.language.english.dates.grammar import readings
from remanence.language.english.dates.tokens import DateContext, hints, tokens
from remanence.language.timerange import TimeRange

__all__ = [
    "TimeRange",
    *("TimeMention", "asks_when", "has_time", "may_hold_time"),
    *("recency_cue", "time_ranges"),
]

_MAX_LENGTH = 20_000
_SPLIT = str.maketrans(
    dict.fromkeys("0123456789", "0") | dict.fromkeys(".,!?;:()[]'’\"-–—*_\n", " ")
)
_HAN = re.compile("[0-9][年月]|[昨今明前后上下先来去这][天日周星週个月年]")
_ANY_DAY = datetime(2020, 1, 1, tzinfo=UTC)
_WHEN = re.compile(
    r"\b(?:tell|remind) me when\b|\b(?:know|remember|recall) when\b"
    r"|\bwhen\b(?! (?:i|you|we|he|she|it|they|someone|the|my|your|his|her|a|an|[a-z]+ing)\b)"
    r"|\bhow (?:long ago|recently|old)\b|\b(?:what|which)(?: exact| specific)? "
    r"(?:dates?|day|week|weekend|month|year|season|time|decade)\b"
    r"|\b(?:cuándo|quand|wann|quando|wie lange)\b|什么时候|何时|いつ",
    re.IGNORECASE,
)
_WHEN_WORDS = frozenset(["when", "how", "what", "which", "quand", "wann", "quando", "wie"])
_EARLIEST = re.compile(
    r"\b(?:first (?:time|mention\w*|started|met|told|said|heard|saw|watch\w*|began)"
    r"|(?:did|do|does|have|has|had)(?: \w+){1,3} first|originally|initially|earliest"
    r"|at first|in the beginning|used to|the oldest)\b",
    re.IGNORECASE,
)
_LATEST = re.compile(
    r"\b(?:most recent(?:ly)?|latest|newest|last time|currently|current|now|nowadays|these days"
    r"|at the moment|at present|recently|recent|lately|still|so far|any ?more"
    r"|(?:did|do|does|have|has|had)(?: \w+){1,3} last)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TimeMention:
    """A time the text speaks of: the stretch meant, where it is said, how sure the reading is.

    `since` and `until` are the times its two ends were said to be at, where they were.
    """

    range: TimeRange
    span: tuple[int, int]
    text: str
    certainty: float
    since: TimeRange | None = None
    until: TimeRange | None = None


def time_ranges(
    text: str, now: datetime, *, prefer: Literal["past", "future"] = "past", day_first: bool = False
) -> list[TimeMention]:
    """The times a text speaks of, in its order, resolved from `now` and in its time zone.

    "In May" or "on Friday" means the one before `now`, or the one to come with prefer="future".
    7/5/2023 is read as written in the United States unless `day_first`; 7.5.2023 never is.
    """
    if now.tzinfo is None:
        raise InvalidInput("now: give a datetime with a time zone.")
    if not may_hold_time(text):
        return []
    text = text[:_MAX_LENGTH]
    clock = DateContext(now=now, past=prefer == "past", day_first=day_first)
    return [
        TimeMention(one.range, (start, end), text[start:end], one.certainty, one.since, one.until)
        for start, end, one in readings(tokens(text), clock)
    ]


def has_time(text: str) -> bool:
    """Whether the text speaks of a time at all; quick where it does not."""
    return may_hold_time(text) and bool(time_ranges(text, _ANY_DAY))


def asks_when(text: str) -> bool:
    """Whether the answer is a time: "when did …", "what year …", but not "when I was there"."""
    if text.isascii() and _WHEN_WORDS.isdisjoint(_words(text)):
        return False
    return _WHEN.search(text) is not None


def recency_cue(text: str) -> Literal["latest", "earliest"] | None:
    """Which end of time the text asks for: how it is now, or how it began."""
    if lexicon.words("recency").isdisjoint(_words(text)):
        return None
    if _EARLIEST.search(text):
        return "earliest"
    return "latest" if _LATEST.search(text) else None


def may_hold_time(text: str) -> bool:
    """Whether reading the text for times may find any; quick."""
    text = text[:_MAX_LENGTH]
    if not hints().isdisjoint(_words(text)):
        return True
    return not text.isascii() and _HAN.search(text) is not None


def _words(text: str) -> list[str]:
    return text.lower().translate(_SPLIT).split()
