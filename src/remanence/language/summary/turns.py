"""Turns: who said what and when, and what of it is only pasted: code, tables, lists, letters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby

_LABEL = re.compile(r"([^\n:;.!?]{1,60}): (?=\S)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_UNSAFE = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x9f\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_CODE = re.compile(r"```.*?```|~~~.*?~~~", re.DOTALL)
_LIST_MARK = re.compile(r"^[ \t]*(?:(?:[#>|]+|[-*•+]|\d{1,3}[.)])[ \t]+)+", re.MULTILINE)
_MARKUP = re.compile(r"\*\*|__|`|^[ \t|:=_*-]+$", re.MULTILINE)


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
    retold: bool = False  # read from a summary


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
            yield Voice(place, label_of(found[1]), day, line[found.end() :], retold=True)
        elif line.strip():
            yield Voice(place, "", day, line)


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def cleaned(text: str) -> str:
    """The text without code blocks, marks of lists and emphasis, and unseen characters.

    Blanks are single ones, and lines end with a line feed.
    """
    if "```" in text or "~~~" in text:
        text = _CODE.sub("\n", text)
    text = _MARKUP.sub("", _LIST_MARK.sub("", text))
    return "\n".join(" ".join(line.split()) for line in _UNSAFE.sub("", text).splitlines())


_FENCE = re.compile(r"\s*+(?:```|~~~)\s*([\w+#-]{0,20})")
_ROW = re.compile(r"\s*+\|.*\|\s*$")
_ITEM = re.compile(r"(\s*+)(?:([-*•+#]{1,6}|\d{1,3}[.)])\s+|(?=\*\*))(?=\S)")
_CODE_LINE = re.compile(
    r"\s*+(?:(?:def|class|import|return|const|let|var|function|public|private)\b.*[({;:\w]$"
    r"|from \S+ import\b|SELECT\b|INSERT\b|CREATE TABLE\b|#include\b|</?\w+[^>]*>$"
    r"|[\w.\[\]]+\s*=\s*\S.*[\w)\]}\"';]$|.*[;{}]$|[)\]}]+[,;]?$)"
)
_HEAD = re.compile(r"[^:.–—(|\n]+")
_GREETED = re.compile(r"\s*+(?:dear|to whom)\b[^.!?\n]{0,60}[,:]?\s*$", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_MARKS = re.compile(r"[*_`#>|]+")
_LEAST_LINES, _LEAST_TEXT = 3, 400
_HEADS, _HEAD_LENGTH, _LEAD_LENGTH = 5, 48, 140


@dataclass(frozen=True, slots=True)
class Passage:
    """Prose as it was said; or, of what was pasted, the one line that says what it is."""

    text: str
    pasted: bool = False


def passages(text: str) -> Iterator[Passage]:
    """The prose and the pasted parts of a turn, in their order."""
    said: list[str] = []
    for kind, lines in _blocks(text.splitlines()):
        if kind == "prose":
            said += lines
            continue
        lead = _SENTENCE.split(said.pop()) if said and said[-1].rstrip(" *").endswith(":") else [""]
        yield from _prose([*said, *lead[:-1]])
        said = []
        yield Passage(_described(kind, lines, _plain(lead[-1]).rstrip(" :")), pasted=True)
    yield from _prose(said)


def _prose(lines: Sequence[str]) -> Iterator[Passage]:
    text = "\n".join(lines).strip()
    if text:
        yield Passage(text)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Lines that belong together, by what they are; a few of a kind are prose still."""
    kinds = list(_kinds(lines))
    _spread(kinds, "list")
    at = 0
    for kind, found in groupby(kinds):
        count = len(list(found))
        block = [line for line in lines[at : at + count] if line.strip()]
        at += count
        if kind == "text":
            yield kind, block
        elif block:
            few = kind != "code block" and len(block) < _LEAST_LINES
            yield ("prose" if few else kind), block


def _kinds(lines: Sequence[str]) -> Iterator[str]:
    fenced = letter = False
    left = sum(map(len, lines))
    for number, line in enumerate(lines):
        mark, left = _FENCE.match(line), left - len(line)
        if mark or fenced:
            yield "code block"
            fenced = fenced != bool(mark)
        elif letter or _begins_text(lines, number, left):
            letter = True
            yield "text"
        elif _ROW.match(line):
            yield "table"
        elif _ITEM.match(line):
            yield "list"
        else:
            yield "code" if _CODE_LINE.match(line) else "prose"


def _begins_text(lines: Sequence[str], number: int, left: int) -> bool:
    """Whether a letter begins here."""
    return left >= _LEAST_TEXT and _GREETED.match(lines[number]) is not None


def _spread(kinds: list[str], kind: str) -> None:
    """A list reaches from its first item to its last, whatever stands between."""
    places = [place for place, one in enumerate(kinds) if one == kind]
    if len(places) >= _LEAST_LINES:
        for place in range(places[0], places[-1] + 1):
            kinds[place] = kind


def _described(kind: str, lines: Sequence[str], lead: str) -> str:
    lead = lead if len(lead) <= _LEAD_LENGTH else ""
    if kind == "list":
        return _list(lines, lead or "list")
    if kind == "table":
        heads = [cell for cell in map(_plain, lines[0].split("|")) if cell]
        return f"{lead or 'table'}: {_named(heads)} (table of {len(lines)} rows)"
    if kind == "text":
        words = sum(len(line.split()) for line in lines)
        return f'{lead or "letter"}: "{_plain(lines[0])}" ({words} words)'
    mark = _FENCE.match(lines[0])
    language = mark[1] if mark else ""
    what = f"{language} code".strip()
    return f"{lead} ({what})" if lead else f"{what} ({len(lines)} lines)"


def _list(lines: Sequence[str], lead: str) -> str:
    heads = [_head(line) for line in _top(lines)]
    named = _named([head for head in heads if head])
    return f"{lead}: {named}" + (f" ({len(heads)} in all)" if len(heads) > _HEADS else "")


def _top(lines: Sequence[str]) -> list[str]:
    """The items that others stand under: headings, else numbers, else those furthest left."""
    items = [(found, line) for line in lines if (found := _ITEM.match(line))]
    for mark in ("#", "1"):
        chosen = [line for found, line in items if _sort(found[2]) == mark]
        if len(chosen) > 1:
            return chosen
    least = min(len(found[1]) for found, _ in items)
    return [line for found, line in items if len(found[1]) == least]


def _sort(mark: str | None) -> str:
    return "1" if mark and mark[0].isdigit() else (mark or "*")[0]


def _head(line: str) -> str:
    found = _ITEM.match(line)
    rest = _plain(line[found.end() if found else 0 :])
    head = _HEAD.match(rest)
    text = (head[0] if head else rest).strip()
    return text if len(text) <= _HEAD_LENGTH else text[:_HEAD_LENGTH].rsplit(" ", 1)[0] + "…"


def _named(heads: Sequence[str]) -> str:
    return ", ".join(heads[:_HEADS]) + (", …" if len(heads) > _HEADS else "")


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", text).split()).strip(" ,")
