"""Excerpts: of a long text, the sentences that a question is about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator

from remanence.context.entry import CUT, shortened
from remanence.text.words import terms

# About 200 tokens: longer texts are cut to what matches, so that one memory leaves room for others.
LONG = 800
# More than any passage has; a text that has no passages yet may be endless.
READ = 20_000
_UNIT = 240
_END = re.compile(r"[.!?]\s+|[。！？\n]\s*")


def excerpt(text: str, wanted: Collection[str], characters: int = LONG) -> str:
    """The run of sentences with the most of the wanted terms; the whole text if it is short."""
    if len(text) <= characters:
        return text
    units = list(_units(text[:READ]))
    first, last = _best_run(units, frozenset(wanted), characters)
    cut = shortened("".join(units[first:last]).strip(), characters)
    ended = last == len(units) or cut.endswith(CUT)
    return (CUT if first else "") + cut + ("" if ended else CUT)


def _units(text: str) -> Iterator[str]:
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
