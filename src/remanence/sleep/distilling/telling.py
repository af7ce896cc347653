"""How a theme is told in words, by rules: who, what, how often, from when to when."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from remanence.model.memory import MemoryRecord
from remanence.sleep.distilling.themes import Theme
from remanence.text.summary import Said, summarise
from remanence.text.summary.said import label_of
from remanence.text.words import terms

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
MOST_SAID = 400  # characters of what was said itself


def told(theme: Theme, sources: Sequence[MemoryRecord]) -> str:
    """One or two sentences about a theme; empty if what was said comes to nothing.

    Sources come in order of time.
    """
    said = statements(theme, sources)
    if not said:
        return ""
    return f"{_who(theme)} of {_what(theme)}, {often(sources)} {span(sources)}. {said}"


def told_of_month(theme: Theme, sources: Sequence[MemoryRecord]) -> str:
    """The same for one month; empty if what was said comes to nothing."""
    said = statements(theme, sources)
    if not said:
        return ""
    month = f"{sources[0].happened_at:%B %Y}"
    return f"In {month} {_came_back(theme)} {_what(theme)}, {often(sources)}. {said}"


def statements(theme: Theme, sources: Sequence[MemoryRecord]) -> str:
    """The most telling of what was said of the theme and on which day, for "yesterday"'s sake."""
    speaker = label_of(theme.speaker or "user")
    turns = [Said(speaker, _about(theme, one.text), one.happened_at) for one in sources]
    listening = [Said(name, "") for name in theme.others]
    told: list[str] = []
    when = sources[0].happened_at.date()
    for line in summarise([*listening, *turns], MOST_SAID).text.splitlines():
        if _DAY.fullmatch(line):
            when = date.fromisoformat(line)
        else:
            told.append(f"{day(when)}: {line.removeprefix(f'{speaker}: ').rstrip('.')}")
    return f"{'; '.join(told)}." if told else ""


def _about(theme: Theme, text: str) -> str:
    """The sentences that have the theme's word."""
    wanted = set(terms(theme.word))
    kept = [one for one in _SENTENCE.split(text) if not wanted.isdisjoint(terms(one))]
    return " ".join(kept) or text


def often(sources: Sequence[MemoryRecord]) -> str:
    """How many times, on how many days or in how many conversations."""
    sessions = {one.session_id for one in sources} - {None}
    days = {one.happened_at.date() for one in sources}
    where = f"in {len(sessions)} conversations" if len(sessions) > 1 else f"on {len(days)} days"
    return f"{len(sources)} times {where}"


def span(sources: Sequence[MemoryRecord]) -> str:
    """From the day of the first to that of the last."""
    return f"from {day(sources[0].happened_at)} to {day(sources[-1].happened_at)}"


def day(moment: date) -> str:
    """A date as people write it: 3 May 2024."""
    return f"{moment.day} {moment:%B %Y}"


def _who(theme: Theme) -> str:
    name = _name(theme)
    return f"{name} often speaks" if name else "It was often spoken"


def _came_back(theme: Theme) -> str:
    name = _name(theme)
    return f"{name} kept coming back to" if name else "this kept coming up:"


def _name(theme: Theme) -> str:
    if theme.speaker:
        return label_of(theme.speaker)
    return "The user" if theme.role == "user" else ""


def _what(theme: Theme) -> str:
    return f"{theme.word} ({', '.join(theme.also)})" if theme.also else theme.word
