"""Entries: the single things that may go into a prompt, how they are cut, excerpts of long ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from remanence.language.fences import disarmed
from remanence.language.words import terms

CUT = "…"
# A cut that leaves less than this says nothing.
SHORTEST = 16
_WORDS = 4
_AROUND = ".,;:!?…'\"()[]«»“”‘’。，、！？"

# About 200 tokens: longer texts are cut to what matches, so that one memory leaves room for others.
LONG = 800
# More than any passage has; a text that has no passages yet may be endless.
READ = 20_000
_UNIT = 240
_END = re.compile(r"[.!?]\s+|[。！？\n]\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptEntry:
    """One thing with its place. `heading` is printed once above the entries that share it.

    `gist` is what makes two entries the same to a reader; entries in `along` make no sense
    without this one and are taken with it where there is room. A `mark` stands before all else,
    is never cut, and is of one line with the body, so that nothing in the body can end it.
    """

    id: str
    body: str
    mark: str = ""
    prefix: str = ""
    suffix: str = ""
    reason: str | Callable[[], str] = ""
    at: datetime | None = None
    source: str | None = None
    heading: str = ""
    place: tuple[Any, ...] = ()
    gist: str = ""
    memory: bool = False
    whole: bool = True
    along: tuple[PromptEntry, ...] = ()
    chat: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The entry as it is printed."""
        return self.mark + self.prefix + self.body + self.suffix

    @property
    def same_as(self) -> str:
        """The gist; what is marked says nothing of what is not."""
        return f"{self.mark}{self.gist}" if self.gist else ""

    @property
    def said(self) -> Mapping[str, Any] | None:
        """The entry as a chat message, if it is one."""
        if self.chat is None or not self.mark:
            return self.chat
        return {**self.chat, "content": f"{self.mark}{self.prefix}{self.chat['content']}"}

    @property
    def why(self) -> str:
        """Why it is in; told only of what is in, because telling takes time."""
        reason = self.reason if isinstance(self.reason, str) else self.reason()
        return reason if self.whole else f"{reason}, cut"

    def placed(self, place: tuple[Any, ...]) -> PromptEntry:
        """The entry in a place."""
        return replace(self, place=place)

    def cut(self, characters: int) -> PromptEntry | None:
        """The entry with a shorter body, ended between words; None if too little would be left."""
        if characters < SHORTEST:
            return None
        body = disarmed(shortened(self.body, characters))
        chat = self.chat
        if chat is not None and chat["content"] is not None:
            chat = {**chat, "content": shortened(chat["content"], characters)}
        return replace(self, body=body, chat=chat, whole=False, along=())


def shortened(text: str, characters: int) -> str:
    """The beginning of a text, ended between words where there are any."""
    if len(text) <= characters:
        return text
    kept = text[: max(characters - len(CUT), 0)]
    words = kept[: kept.rfind(" ")] if " " in kept[-80:] else kept
    return words.rstrip() + CUT


def flat(text: str) -> str:
    """A text on one line that cannot pass for one of our marks."""
    return disarmed(" ".join(text.split()))


def gist_of(text: str) -> str:
    """The words of a text without case and what is around them; none for a few, said by everyone.

    Signs and accents stay: 200 is not -200, and C is not C++.
    """
    words = [word for part in text.casefold().split() if (word := part.strip(_AROUND))]
    return " ".join(words) if len(words) >= _WORDS else ""


def excerpt(text: str, wanted: Collection[str], characters: int = LONG) -> str:
    """The run of sentences with the most of the wanted terms; the whole text if it is short."""
    if len(text) <= characters:
        return text
    units = list(sentences(text[:READ]))
    first, last = _best_run(units, frozenset(wanted), characters)
    cut = shortened("".join(units[first:last]).strip(), characters)
    ended = last == len(units) or cut.endswith(CUT)
    return (CUT if first else "") + cut + ("" if ended else CUT)


def sentences(text: str) -> Iterator[str]:
    """Sentences; what is too long for one, in parts."""
    ends = [*(found.end() for found in _END.finditer(text)), len(text)]
    start = 0
    for end in ends:
        while end - start > _UNIT:
            space = text.rfind(" ", start, start + _UNIT) + 1
            middle = space if space > start else start + _UNIT
            yield text[start:middle]
            start = middle
        if end > start:
            yield text[start:end]
            start = end


def _best_run(units: list[str], wanted: frozenset[str], characters: int) -> tuple[int, int]:
    """(first, after last) of the run; the earliest of equals, at least one unit long."""
    found = [wanted.intersection(terms(unit)) for unit in units]
    inside: Counter[str] = Counter()
    best, chosen, first, length = -1, (0, 1), 0, 0
    for last, unit in enumerate(units):
        inside.update(found[last])
        length += len(unit)
        while length > characters and first < last:
            inside -= Counter(found[first])
            length -= len(units[first])
            first += 1
        if len(inside) > best:
            best, chosen = len(inside), (first, last + 1)
    return _widened(units, chosen, characters)


def _widened(units: list[str], run: tuple[int, int], characters: int) -> tuple[int, int]:
    """The run with what follows it and then what precedes it, as far as there is room."""
    first, last = run
    room = characters - sum(map(len, units[first:last]))
    while last < len(units) and len(units[last]) <= room:
        room -= len(units[last])
        last += 1
    while first > 0 and len(units[first - 1]) <= room:
        first -= 1
        room -= len(units[first])
    return first, last
