"""What merging keeps of a memory in hand, and groups of memories that all say the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any

import numpy as np

from remanence.consolidation.merges.rivals import MOST_READ, Between
from remanence.language.english import lexicon
from remanence.language.english.agreement import Telling, against, agrees
from remanence.language.english.spelling import plain, worded
from remanence.model.embedding import FloatArray
from remanence.model.memory import Kind, MemoryRecord

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
