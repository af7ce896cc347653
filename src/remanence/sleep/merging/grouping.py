"""Groups of memories that all say the same, pair by pair: no chains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from remanence.model.embedding import FloatArray
from remanence.model.memory import Kind
from remanence.sleep.merging.agreeing import Telling, against, agrees
from remanence.sleep.merging.members import Member
from remanence.sleep.merging.rivals import Between

TIMELESS = frozenset({Kind.SEMANTIC, Kind.PROCEDURAL})
EVENT_DAYS = 1.0  # what was done again some days later was done twice
MOST_GROUPS = 64  # a text is compared with; the words of more are too common to tell apart


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
