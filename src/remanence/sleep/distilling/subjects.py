"""Whom a text is about, as its beginning tells: the speaker, somebody named, or their kin."""

from __future__ import annotations

import re

from remanence.knowledge.extract.tables.kin import KIN
from remanence.text.names import names

_OWN = re.compile(r"(?:my|our)\s+([\w-]+)", re.IGNORECASE)
_THEIR = re.compile(r"['’]s?\s+([\w-]+)")
_AND_I = re.compile(r"\s+and\s+(?:i|me)\b", re.IGNORECASE)


def subject_of(text: str, speaker: str | None) -> str:
    """Who it is about, as one would say; empty for the speaker, for things, and if unclear.

    >>> subject_of("Nora's sister Ines lives in Porto.", None)
    "Nora's sister"
    >>> subject_of("My mother broke her wrist.", "Nora")
    "Nora's mother"
    """
    text = text.lstrip(" \"'“‘(*-")
    if own := _OWN.match(text):
        whose = f"{speaker}'s" if speaker else "the user's"
        return f"{whose} {own[1].lower()}" if own[1].lower() in KIN else ""
    first = next(iter(names(text)), "")
    if not first or not text.startswith(first) or _AND_I.match(text, len(first)):
        return ""
    theirs = _THEIR.match(text, len(first))
    if theirs:
        return f"{first}'s {theirs[1].lower()}" if theirs[1].lower() in KIN else ""
    return "" if speaker and first.lower() == speaker.lower() else first
