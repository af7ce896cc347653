"""How values are worded: days in one form, acts as somebody else than the speaker tells them."""

from __future__ import annotations

import re

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_MONTH = r"(?P<month>[A-Za-z]{3,9})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<year>\d{4}))?"
_DATES = (
    re.compile(rf"(?:the\s+)?{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}"),
    re.compile(rf"{_MONTH}\s+(?:the\s+)?{_DAY}{_YEAR}"),
)
_ISO = re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})")
_MINE = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_MYSELF = re.compile(r"\b(?:myself|ourselves)\b", re.IGNORECASE)
_ME = re.compile(r"\b(?:me|us|I|we)\b")


def dated_value(text: str) -> str:
    """A day in one form, "4 May 1990" or "4 May"; other text as it is, without its full stop.

    >>> dated_value("May 4th, 1990"), dated_value("4 May."), dated_value("1990-05-04")
    ('4 May 1990', '4 May', '4 May 1990')
    """
    text = text.strip().rstrip(".,")
    if iso := _ISO.fullmatch(text):
        month = int(iso["month"])
        name = _MONTHS[month - 1] if 0 < month <= len(_MONTHS) else ""
        return f"{int(iso['day'])} {name} {iso['year']}" if name else text
    found = next((match for one in _DATES if (match := one.fullmatch(text))), None)
    name = _month(found["month"]) if found else ""
    if found is None or not name:
        return text
    return f"{int(found['day'])} {name}" + (f" {found['year']}" if found["year"] else "")


def _month(word: str) -> str:
    return next((name for name in _MONTHS if name.lower().startswith(word.lower())), "")


def retold(act: str, speaker: str, *, own: bool) -> str:
    """An act of the speaker's words told by another; `own` if it is the speaker's act.

    >>> retold("quit my job", "Sam", own=True), retold("baked me a cake", "Sam", own=False)
    ('quit their job', 'baked Sam a cake')
    """
    act = _MINE.sub("their" if own else lambda _found: f"{speaker}'s", act)
    act = _MYSELF.sub("themselves" if own else lambda _found: speaker, act)
    return _ME.sub(lambda _found: speaker, act)
