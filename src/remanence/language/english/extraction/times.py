"""When something began and ended, as a clause says it, from the moment it was said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from remanence.language.english import lexicon
from remanence.language.english.dates import TimeMention, TimeRange, time_ranges
from remanence.model.hit import TimeSaid
from remanence.model.knowledge import Timespan, when_said

_NUMBER = (
    r"(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty"
    r"|a few|a couple of|several|\d{1,3})"
)
_LASTING = re.compile(
    rf"\b(?:for|over|during|in)\s+(?:about\s+|almost\s+|nearly\s+|over\s+|around\s+|like\s+"
    rf"|(?:the\s+)?(?:last|past)\s+|more than\s+){{0,2}}({_NUMBER}\s+(?:years?|months?|weeks?"
    r"|days?|decades?))\b(?:\s+now)?",
    re.IGNORECASE,
)
_BY = re.compile(r"by\b|before\b", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|starting|effective)\s+$")
_AFTER = re.compile(r"after\b", re.IGNORECASE)
_BEFORE = re.compile(rf"(?:\b(?:{lexicon.either('before_times')})\s+)*$", re.IGNORECASE)
_BARE_WORD = re.compile(r"[A-Za-z]+$")
_IN_A_TITLE = re.compile(r"(?:Spring|Summer|Autumn|Fall|Winter) [A-Z]")
_RECURRING = re.compile(r"\b(?:every|each|most|all)\s+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Times:
    """What a clause says of time: since when, until or by when, at which time, and how long."""

    since: Timespan | None = None
    until: Timespan | None = None
    due: Timespan | None = None
    point: Timespan | None = None
    lasting: Timespan | None = None

    @property
    def begun(self) -> Timespan | None:
        """Since when a state that still holds has held."""
        return self.since or self.lasting

    def coming(self, at: datetime) -> bool:
        """Whether it speaks of a time to come."""
        return is_later(self.at_some_time or self.since, at)

    @property
    def at_some_time(self) -> Timespan | None:
        """At which time, or by which at the latest."""
        return self.point or self.due


NO_TIMES = Times()


def is_later(said: Timespan | None, at: datetime) -> bool:
    """Whether a time goes on after that moment."""
    return said is not None and said.end is not None and said.end > at


def times_of(
    text: str, at: datetime, prefer: Literal["past", "future"] = "past"
) -> tuple[Times, list[tuple[int, int]]]:
    """The times of a clause, and where they stand in it, their prepositions included."""
    found: dict[str, Timespan] = {}
    spans: list[tuple[int, int]] = []
    for long in _LASTING.finditer(text):
        if ago := _first(f"{long[1]} ago", at):
            found.setdefault("lasting", ago)
            spans.append(long.span())
    for mention in time_ranges(text, at, prefer=prefer):
        before = _BEFORE.search(text, max(mention.span[0] - 30, 0), mention.span[0])
        start = before.start() if before else mention.span[0]
        if is_name(text, mention, start) or _inside(mention.span, spans):
            continue
        spans.append((start, mention.span[1]))
        if not _RECURRING.search(text[:start]):
            onwards = text.startswith((" on ", " onwards"), mention.span[1])
            _note(found, mention, text[start : mention.span[0]].lower(), at, onwards)
    return Times(**found), spans


def blanked(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with a bar in place of each time, so that no value reaches over one."""
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]}|{text[end:]}"
    return text


def lasting_now(text: str, at: datetime) -> Iterator[tuple[int, TimeSaid]]:
    """Since when what "for three years now" speaks of has lasted, and where that is said."""
    for long in _LASTING.finditer(text):
        ago = _first(f"{long[1]} ago", at) if long[0].endswith("now") else None
        if ago:
            said, when = " ".join(long[0].split()), when_said("", ago, None)
            yield long.start(), TimeSaid(text=said, when=when, start=ago.start, end=ago.end)


def is_name(text: str, mention: TimeMention, start: int | None = None) -> bool:
    """Whether a single word with a capital is a name: "my sister April", "in Natal".

    `start` is where what belongs to the time begins.
    """
    word, start = mention.text, mention.span[0] if start is None else start
    if not _BARE_WORD.match(word) or not word[0].isupper():
        return False
    if _IN_A_TITLE.match(text, mention.span[0]):
        return True
    if word.lower() not in lexicon.words("months", "times"):
        return True
    return (
        word.lower() in lexicon.words("months")
        and start == mention.span[0]
        and text[:start].strip() != ""
    )


def _inside(span: tuple[int, int], spans: list[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in spans)


def _note(
    found: dict[str, Timespan], mention: TimeMention, before: str, at: datetime, onwards: bool
) -> None:
    whole = _when(mention.range)
    if mention.since:
        found["since"] = _when(mention.since)
    if mention.until:
        found["until"] = _when(mention.until)
    if mention.since and mention.until:
        found.setdefault("point", whole)
    elif mention.since or mention.until:
        return
    elif "since" in before:
        found["since"] = _first(mention.text, at) or whole
    elif "until" in before or "till" in before:
        found["until"] = whole
    elif _FROM.search(before) or ("from" in before and onwards):
        found["since"] = whole
    elif _AFTER.match(mention.text):
        found.setdefault("point", Timespan(start=mention.range.start))
    elif by := _BY.match(mention.text):
        due = _first(mention.text[by.end() :], at, "future")
        if due and is_later(due, at):
            found.setdefault("due", due)
        else:
            found.setdefault("point", Timespan(end=whole.end))
    elif "before" not in before and "after" not in before:
        found.setdefault("point", whole)


def _first(text: str, at: datetime, prefer: Literal["past", "future"] = "past") -> Timespan | None:
    mentions = time_ranges(text, at, prefer=prefer) or time_ranges(f"in {text}", at, prefer=prefer)
    return _when(mentions[0].range) if mentions else None


def _when(span: TimeRange) -> Timespan:
    return Timespan(start=span.start, end=span.end)
