"""What goes into a summary and what comes out; and an older summary read back as turns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime

_LABEL = re.compile(r"([^\n:;.!?]{1,60}): (?=\S)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Said:
    """One turn: who said what, and when. Without a speaker it may be a summary made before."""

    speaker: str | None
    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary, and the places of the turns it was made of, in their order."""

    text: str
    chosen: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Voice:
    """What one speaker said on one day, in the turn at that place."""

    place: int
    speaker: str
    day: date | None
    text: str


def voices(turns: Sequence[Said]) -> Iterator[Voice]:
    """The turns by speaker and day; a turn without a speaker is read line by line."""
    for place, turn in enumerate(turns):
        day = turn.at.date() if turn.at else None
        if turn.speaker and turn.speaker.strip():
            yield Voice(place, label_of(turn.speaker), day, turn.text)
        else:
            yield from _read_back(place, day, turn.text)


def label_of(speaker: str) -> str:
    """A speaker's name on one line and not longer than a name is."""
    return " ".join(speaker.split())[:60].strip(" :")


def _read_back(place: int, day: date | None, text: str) -> Iterator[Voice]:
    for line in text.splitlines():
        if _DAY.fullmatch(line.strip()):
            day = _date(line.strip()) or day
            continue
        found = _LABEL.match(line)
        if found and ";" not in found[1]:
            yield Voice(place, label_of(found[1]), day, line[found.end() :])
        elif line.strip():
            yield Voice(place, "", day, line)


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
