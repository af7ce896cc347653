"""What else was said of the same thing, and when: Lisbon, between two times Porto."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from remanence.language.cues import is_question
from remanence.language.english import lexicon
from remanence.language.english.spelling import CLITIC, worded
from remanence.language.words import terms
from remanence.model.memory import MemoryRecord

MOST_WORDS = 12  # of a text in which any one word may be what changed
_BEING = frozenset({"is", "are", "was", "were", "be", "am"})
_HOLDS = [[word] for word in (*sorted(_BEING), "has", "have", "had")]
MOST_READ = 20_000  # characters; longer texts are one only if they are equal
_BESIDE = frozenset(
    ["do", "does", "did", "a", "the", "now", "still", "again", "already", "anymore", "notanymore",
     "usedto", "really", "actually"]
)  # fmt: skip
_ANY = 0xFFFF_FFFF_FFFF_FFFF
_Values = NDArray[np.uint64]
_Times = NDArray[np.float64]


class Rivals:
    """The slots that memories of a partition fill, what they fill them with, and when.

    Two memories are rivals if they differ in one place only: a name, a number, a word, whether it
    is so at all, or what follows "is". Rivals need not contradict each other, "likes tea" and
    "likes wine" do not; to tell that needs understanding, and keeping memories apart loses nothing.
    """

    def __init__(self) -> None:
        self._slots, self._values, self._times = array("Q"), array("Q"), array("d")
        self._sorted: tuple[_Values, _Values, _Times] | None = None

    def add(self, record: MemoryRecord) -> None:
        """Note what a memory says."""
        at = record.happened_at.timestamp()
        for slot, value in filled(record.text, record.agent_id):
            self._slots.append(slot)
            self._values.append(value)
            self._times.append(at)
        self._sorted = None

    def of(self, texts: Iterable[str], agent: str | None) -> Between:
        """What none of these texts says, said in a slot of theirs."""
        slots, values, times = self._in_order()
        said: dict[int, set[int]] = {}
        for slot, value in (one for text in texts for one in filled(text, agent)):
            said.setdefault(slot, set()).add(value)
        found: list[tuple[_Values, _Times, set[int]]] = []
        for slot, own in said.items():
            start = np.searchsorted(slots, np.uint64(slot))
            here = slice(start, np.searchsorted(slots, np.uint64(slot), side="right"))
            found.append((values[here], times[here], own))
        return Between(found)

    def _in_order(self) -> tuple[_Values, _Values, _Times]:
        """By slot, and then by time."""
        if self._sorted is None:
            slots, values = (np.asarray(one, np.uint64) for one in (self._slots, self._values))
            times = np.asarray(self._times, np.float64)
            order = np.lexsort((times, slots))
            self._sorted = slots[order], values[order], times[order]
        return self._sorted


class Between:
    """Whether something else was said between two moments."""

    def __init__(self, slots: Sequence[tuple[_Values, _Times, set[int]]] = ()) -> None:
        self._slots = slots

    def parts(self, one: datetime, other: datetime) -> bool:
        """Whether it was, at the latest with the later of the two; never at one moment."""
        first, last = sorted((one.timestamp(), other.timestamp()))
        return first < last and any(self._told(first, last))

    def _told(self, first: float, last: float) -> Iterator[bool]:
        for values, times, own in self._slots:
            start, stop = np.searchsorted(times, first), np.searchsorted(times, last, side="right")
            # One after another: the first is nearly always a rival if any is.
            yield any(int(value) not in own for value in values[start:stop])


def filled(text: str, agent: str | None) -> Iterator[tuple[int, int]]:
    """The slots that a text fills and what with; numbers that hold in this process only."""
    if len(text) > MOST_READ or is_question(text):
        return
    every = worded(text)
    manners = lexicon.words("negations", "possible")
    idle = manners | _BESIDE
    manner = tuple(sorted(word for word in every if word in manners))
    past = any(word in lexicon.words("past_forms") or word.endswith("ed") for word in every)
    words = [_stem(word) for word in _at_the_end(every) if word not in idle]
    how = (manner, past)
    for slot, value in _slots(words, _named(text)):
        yield hash((agent, slot)) & _ANY, hash((how, value)) & _ANY


def _at_the_end(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words with "every week" where it stands in other texts that say the same."""
    moves = words[:1] == ("every",) and words[1:2] and words[1] in lexicon.words("time_units")
    return (*words[2:], *words[:2]) if moves else words


def _slots(words: list[str], named: frozenset[str]) -> Iterator[tuple[object, object]]:
    """By names and numbers, by what follows "is", and in a short text by each of its words.

    Whom it is about is no slot: what it begins with, or the first of several names.
    """
    about = next((at for at, word in enumerate(words) if at and word not in named), 1)
    if words[about:] and words[about][-1].isdigit() and words[about + 1 : about + 2] in _HOLDS:
        about += 1  # "Room 12 has", "Item 7 is"
    blank = _blank(words, named, about)
    yield ("named", *_without(words, blank)), tuple(words[at] for at in sorted(blank))
    if len(words) > MOST_WORDS:
        return
    being = next((at for at, word in enumerate(words) if word in _BEING), 0)
    if being > 1:
        yield ("being", *words[: being + 1]), tuple(words[being + 1 :])
    first = 0 if words[1:2] and words[1] in _BEING else about
    for at in range(first, len(words)):
        yield ("word", *words[:at], None, *words[at + 1 :]), words[at]


def _blank(words: list[str], named: frozenset[str], about: int) -> set[int]:
    """Where its names and numbers stand."""
    places = {at for at in range(about, len(words)) if words[at] in named}
    runs = sorted(at for at in places if at - 1 not in places)
    if about == 1 and len(runs) > 1:
        places = {at for at in places if at >= runs[1]}
    return places | {at for at in range(about, len(words)) if words[at][-1].isdigit()}


def _without(words: list[str], blank: set[int]) -> Iterator[str | None]:
    """The words with one gap for each run of blanks, so that "New York" is one as "Porto" is."""
    for at, word in enumerate(words):
        if at not in blank:
            yield word
        elif at - 1 not in blank:
            yield None


def _named(text: str) -> frozenset[str]:
    loud = text.isupper()
    bare = CLITIC.sub("", text)
    found = (word.strip(".,;:!?…\"'“”()[]") for word in bare.split())
    return frozenset(_stem(word.lower()) for word in found if word[:1].isupper() and not loud)


def _stem(word: str) -> str:
    if not word.isascii() or not word.isalpha():
        return word
    return (terms(word) or [word])[0]
