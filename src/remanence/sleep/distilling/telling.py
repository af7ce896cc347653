"""How a theme is told in words, by rules: who, what, how often, from when to when."""

from __future__ import annotations

from collections.abc import Sequence

from remanence.model.memory import MemoryRecord
from remanence.sleep.distilling.occasions import Occasions
from remanence.sleep.distilling.statements import chosen, contradict, denied, statements
from remanence.sleep.distilling.themes import Theme
from remanence.text.summary.said import label_of

_OFTEN = 5  # times the same was said, if nothing else was


def told(
    theme: Theme,
    sources: Sequence[MemoryRecord],
    others: Sequence[MemoryRecord],
    when: Occasions,
) -> str:
    """Who spoke of it how often, and what they said; empty if that is better left untold.

    Sources come in order of time; `others` have the theme's word and are not told.
    """
    said = _said(theme, sources, others, when)
    opening = f"{_who(theme)} spoke of {_what(theme)} {when.often}, {when.span}"
    return f"{opening}. {said}" if said else ""


def told_of_month(
    theme: Theme,
    sources: Sequence[MemoryRecord],
    others: Sequence[MemoryRecord],
    when: Occasions,
) -> str:
    """The same for one month."""
    said = _said(theme, sources, others, when)
    month = f"{sources[0].happened_at:%B %Y}"
    opening = f"In {month} {_who(theme, 't')} spoke of {_what(theme)} {when.often}"
    return f"{opening}. {said}" if said else ""


def _said(
    theme: Theme,
    sources: Sequence[MemoryRecord],
    others: Sequence[MemoryRecord],
    when: Occasions,
) -> str:
    found = statements(theme.word, sources)
    if contradict(found) or denied(found, statements(theme.word, others)):
        return ""
    told = chosen(found)
    enough = len(told) > 1 or len(when.days) >= _OFTEN
    return f"{'; '.join(one.quoted for one in told)}." if told and enough else ""


def _who(theme: Theme, the: str = "T") -> str:
    if theme.speaker:
        return label_of(theme.speaker)
    if theme.role == "user":
        return f"{the}he user"
    notes = "Notes" if the.isupper() else "notes"
    return f"{notes} on {theme.about}" if theme.about else notes


def _what(theme: Theme) -> str:
    what = f"{theme.word} ({', '.join(theme.also)})" if theme.also else theme.word
    spoken = theme.speaker or theme.role == "user"
    return f"{theme.about} and {what}" if theme.about and spoken else what
