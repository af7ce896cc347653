"""Replay: which experiences are looked at again, and the lessons they give. Pure functions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b

from remanence.model.learning import Experience

# Where a reader stops looking: a useful memory below it was as good as not found.
SEEN = 10
LEADING = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A question with the memories that helped and those that did not; `at` is its last time."""

    query: str
    useful: frozenset[str]
    useless: frozenset[str]
    at: datetime


def replayed(experiences: Iterable[Experience], most: int, seed: int = 0) -> list[Experience]:
    """At most so many, oldest first: every month keeps its share, the surprising come first.

    A month that has less than its share leaves the rest to the others. Where nothing tells
    experiences apart the seed decides, so the same seed gives the same selection.
    """
    known = sorted(set(experiences), key=_order)
    torn = contradicted(known)
    months: defaultdict[tuple[int, int], list[Experience]] = defaultdict(list)
    for one in known:
        months[_month(one.at)].append(one)
    shares = _shares({month: len(found) for month, found in months.items()}, most)
    chosen: list[Experience] = []
    for month, found in months.items():
        found.sort(key=lambda one: (-surprise(one, torn), _lot(one, seed)))
        chosen += found[: shares[month]]
    return sorted(chosen, key=_order)


def surprise(one: Experience, torn: frozenset[tuple[str, str | None]]) -> int:
    """How much an experience says that the search does not know: 3 at most, 0 for nothing."""
    if (one.id, one.query) in torn:
        return 3
    if one.useful:
        return 2 if one.rank is None or one.rank > SEEN else int(one.rank > LEADING)
    return 2 if one.rank is not None and one.rank <= LEADING else 0


def contradicted(experiences: Iterable[Experience]) -> frozenset[tuple[str, str | None]]:
    """Memory and question of those that were called useful once and not useful another time."""
    told: defaultdict[tuple[str, str | None], set[bool]] = defaultdict(set)
    for one in experiences:
        told[one.id, one.query].add(one.useful)
    return frozenset(what for what, said in told.items() if len(said) > 1)


def lessons_of(experiences: Iterable[Experience]) -> list[Lesson]:
    """What each question teaches, oldest first; of contradicting words the last one counts.

    Experiences without a question teach nothing here.
    """
    told: dict[str, dict[str, bool]] = {}
    last: dict[str, datetime] = {}
    for one in sorted(experiences, key=_order):
        if one.query is not None:
            asked = " ".join(one.query.split())
            told.setdefault(asked, {})[one.id] = one.useful
            last[asked] = one.at
    lessons = [_lesson(query, said, last[query]) for query, said in told.items()]
    return sorted(lessons, key=lambda lesson: (lesson.at, lesson.query))


def lot(text: str, seed: int) -> bytes:
    """A number drawn for a text: always the same for a seed."""
    return blake2b(f"{seed} {text}".encode(errors="replace"), digest_size=8).digest()


def _lesson(query: str, said: Mapping[str, bool], at: datetime) -> Lesson:
    useful = frozenset(id for id, helped in said.items() if helped)
    return Lesson(query=query, useful=useful, useless=frozenset(said) - useful, at=at)


def _shares(counts: Mapping[tuple[int, int], int], most: int) -> dict[tuple[int, int], int]:
    """How many each month may keep: all alike, the newest first where that leaves a remainder."""
    shares = dict.fromkeys(counts, 0)
    left, open_ = most, sorted(counts, reverse=True)
    while left > 0 and open_:
        each, more = divmod(left, len(open_))
        for place, month in enumerate(open_):
            given = min(each + (place < more), counts[month] - shares[month])
            shares[month] += given
            left -= given
        open_ = [month for month in open_ if shares[month] < counts[month]]
    return shares


def _month(at: datetime) -> tuple[int, int]:
    moment = at.astimezone(UTC)
    return moment.year, moment.month


def _lot(one: Experience, seed: int) -> bytes:
    return lot(f"{one.id} {one.query} {one.useful} {one.at.isoformat()} {one.rank}", seed)


def _order(one: Experience) -> tuple[datetime, str, str, bool, float]:
    rank = math.inf if one.rank is None else one.rank
    return one.at, one.id, one.query or "", one.useful, rank


def newest(experiences: Sequence[Experience]) -> datetime | None:
    """When the last of them was."""
    return max((one.at for one in experiences), default=None)
