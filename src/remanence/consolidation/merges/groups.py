"""What merging keeps of a memory: groups that say the same, and what was said in between."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.language.cues import is_question
from remanence.language.english import lexicon
from remanence.language.english.agreement import Telling, against, agrees
from remanence.language.english.spelling import CLITIC, plain, worded
from remanence.language.words import terms
from remanence.model.embedding import FloatArray
from remanence.model.memory import Kind, MemoryRecord

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


OWN = "remanence."  # metadata that is not the caller's
DERIVED = frozenset({"summary", "sleep"})  # origins of what was made here of other memories
# Of a message with fewer words that tell, only its place in the conversation says what it means.
LEAST_WORDS = 3

TIMELESS = frozenset({Kind.SEMANTIC, Kind.PROCEDURAL})
EVENT_DAYS = 1.0  # what was done again some days later was done twice
MOST_GROUPS = 64  # a text is compared with; the words of more are too common to tell apart


@dataclass(frozen=True, slots=True)
class Member:
    """A memory that may be merged, by key, with all that decides about it but its text."""

    key: int
    id: str
    version: int
    happened_at: datetime
    pinned: bool
    stated: bool  # by the user
    trust: float
    importance: float
    uses: int
    used_at: datetime | None
    metadata: Mapping[str, Any]


def member_of(key: int, record: MemoryRecord) -> Member:
    """The record without its text."""
    return Member(
        key=key,
        id=record.id,
        version=record.version,
        happened_at=record.happened_at,
        pinned=record.pinned,
        stated=record.source == "user",
        trust=record.trust,
        importance=record.importance,
        uses=record.uses,
        used_at=record.used_at,
        metadata=record.metadata,
    )


def place_of(record: MemoryRecord) -> tuple[str | None, ...]:
    """Only memories of one place are ever merged; what callers filter by stays findable so.

    Messages stay in their conversation: what one means, those around it say.
    """
    own = {name: value for name, value in record.metadata.items() if not name.startswith(OWN)}
    labels = json.dumps(own, sort_keys=True, default=str) if own else ""
    session = record.session_id if record.kind == Kind.MESSAGE else None
    return record.agent_id, record.kind, record.speaker, record.role, labels, session


def mark_of(record: MemoryRecord) -> int | None:
    """A number that memories share which may say the same; None for those that never merge."""
    if record.kind == Kind.SUMMARY or record.origin in DERIVED:
        return None
    long = len(record.text) > MOST_READ
    words = [plain(record.text)] if long else sorted(worded(record.text))
    empty = lexicon.words("slight")
    slight = not long and sum(word not in empty for word in words) < LEAST_WORDS
    if record.kind == Kind.MESSAGE and slight:
        return None
    said = (*map(str, place_of(record)), *(words or [plain(record.text)]))
    digest = blake2b("\0".join(said).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def survivor_of(members: Sequence[Member], central: Mapping[int, float]) -> Member:
    """The one that stays: most trusted, then pinned, the user's own, important, last, central.

    The last, so that what was said last is still what was said last.
    """
    return max(
        members,
        key=lambda one: (
            one.trust,
            one.pinned,
            one.stated,
            one.importance,
            one.happened_at,
            central.get(one.key, 0.0),
            -one.key,
        ),
    )


def gives_way(one: Member, survivor: Member) -> bool:
    """Whether it may be merged into the survivor: not if it would lose its protection by that."""
    kept = (not one.pinned or survivor.pinned) and (not one.stated or survivor.stated)
    return one is not survivor and kept


@dataclass(frozen=True, slots=True)
class Repeated:
    """One text, and the memories that have it word for word; they count as one in comparisons."""

    telling: Telling
    kind: str = Kind.EPISODIC
    agent: str | None = None
    place: tuple[str | None, ...] = ()
    members: list[Member] = field(default_factory=list)


def grouped(
    texts: Sequence[Repeated], vectors: Mapping[int, FloatArray], least: float
) -> list[list[Repeated]]:
    """Texts of which every two agree and are at least so alike; a vector by a text's first key."""
    groups: dict[object, list[list[Repeated]]] = {}
    for text in texts:
        near = groups.setdefault((text.place, text.telling.asks, text.telling.days), [])
        for group in near[:MOST_GROUPS]:
            if all(same(text, other, vectors, least) for other in group):
                group.append(text)
                break
        else:
            near.append([text])
    return [group for near in groups.values() for group in near]


def same(one: Repeated, other: Repeated, vectors: Mapping[int, FloatArray], least: float) -> bool:
    """Whether two texts are one but for case and marks, or agree and are alike."""
    if one.telling.plain == other.telling.plain:
        return against(one.telling, other.telling) is None
    return likeness(one, other, vectors) >= least and agrees(one.telling, other.telling)


def likeness(one: Repeated, other: Repeated, vectors: Mapping[int, FloatArray]) -> float:
    """Their cosine; 0 where one has no vector yet."""
    mine, yours = vectors.get(one.members[0].key), vectors.get(other.members[0].key)
    return 0.0 if mine is None or yours is None else float(mine @ yours)


def central(group: Sequence[Repeated], vectors: Mapping[int, FloatArray]) -> dict[int, float]:
    """How near each memory of a group is to all of it; in one pass, however large it is."""
    placed = [(one, vectors[one.members[0].key]) for one in group if one.members[0].key in vectors]
    if len(placed) < 2:
        return {}
    middle = np.sum([len(one.members) * vector for one, vector in placed], axis=0)
    # Rounded: a tie must not be broken by the order in which things were added up.
    return {
        member.key: round(float(vector @ middle), 4)
        for one, vector in placed
        for member in one.members
    }


def in_time(
    members: Iterable[Member],
    days: float | None,
    rivals: Between | None = None,
    since: Mapping[str, datetime] | None = None,
) -> Iterator[list[Member]]:
    """The members by stretches of at most so many days, any number of them if that is None.

    A stretch ends where something else was said in between: what is true again is not still true.
    `since` says from when on those tell that stand for others, so that night after night a stretch
    grows no longer than it may be.
    """
    together: list[Member] = []
    first: datetime | None = None
    for member in sorted(members, key=lambda one: (one.happened_at, one.key)):
        at, start = member.happened_at, (since or {}).get(member.id, member.happened_at)
        first = start if first is None else min(first, start)
        if together and (
            not within(first, at, days)
            or (rivals is not None and rivals.parts(together[-1].happened_at, at))
        ):
            yield together
            together, first = [], start
        together.append(member)
    if together:
        yield together


def most_days(kind: str, telling: Telling, days: float) -> float | None:
    """How far apart two that say this may be; None for any distance."""
    if kind in TIMELESS:
        return None
    return min(days, EVENT_DAYS) if telling.tense[0] and not telling.days else days


def within(one: datetime, other: datetime, days: float | None) -> bool:
    """Whether two moments are at most so many days apart, however many that are."""
    return days is None or abs((other - one).total_seconds()) <= days * 86_400
