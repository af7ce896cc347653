"""Claims as belief reads them: in which slot one stands, what it says, whether it was denied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from remanence.model.knowledge import Claim, FactKind, Timespan, entity_id, folded_name
from remanence.model.predicates import NOTE, Holds, Predicate, predicate_of

HUNDREDTHS = 100
BY_HALF = 50  # so many of them; whoever is trusted less moves nothing of the others

_entity_id = lru_cache(4096)(entity_id)


class ClaimSlot(NamedTuple):
    """Where claims can exclude each other; `object` is empty where one object holds at a time."""

    user: str
    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True)
class SlotClaim:
    """What a claim says in its slot: `key` is true from `start` on, until `end` if that was told.

    Different keys of a slot exclude each other: they are objects, or predicates that are opposite.
    `start` is None where only the end was told; a `key` of None is any. It may have started
    anywhere in `window`.
    """

    claim: Claim
    key: str | None
    level: int
    start: datetime | None
    end: datetime | None
    window: tuple[datetime, datetime] | None

    @property
    def order(self) -> tuple[datetime, str]:
        """Its place among claims as they were recorded."""
        return self.claim.recorded_at, self.claim.id

    @property
    def names_one(self) -> bool:
        """Whether it says that something is so; else it ends whatever is."""
        return bool(self.claim.value)

    @property
    def at(self) -> datetime:
        """When it was said."""
        return self.claim.observed_at

    @property
    def is_dated(self) -> bool:
        """Whether its start was told; else it is true when said."""
        return told(self.claim.began) is not None


def said_of(claim: Claim, key: str | None) -> SlotClaim:
    """The claim read by itself: the times it tells, else true when said.

    What is told of the end counts from its earliest moment, unless that is before the start: who
    "lived there in 2012" did so until the end of that year. A plan holds until its time is over.
    """
    start, end = told(claim.began), _end(claim)
    if start is None and (end is None or end > claim.observed_at):
        start = claim.observed_at
    if claim.ended is not None and start is not None and end is not None and end <= start:
        end = max(start, claim.ended.end or start)
    return SlotClaim(claim, key, level_of(claim), start, end, _window(claim, start))


def level_of(claim: Claim) -> int:
    """Its trust in hundredths; finer differences do not count."""
    return round(claim.trust * HUNDREDTHS)


def point_of(claim: Claim) -> datetime:
    """Where in time a claim stands: at its start, or at its end where only that was told."""
    said = said_of(claim, None)
    return said.start or said.end or claim.observed_at


def told(when: Timespan | None) -> datetime | None:
    """The earliest moment that a time can mean, the latest where only that is known."""
    return None if when is None else when.start or when.end


def latest(when: Timespan | None, at: datetime) -> datetime | None:
    """The last moment that a time of some length can mean, as spoken of at `at`; else None."""
    whole = range_of(when)
    if whole is None or whole[0] == whole[1]:
        return None
    return min(whole[1], at) if at > whole[0] else whole[1]


def witnessed(said: SlotClaim) -> datetime | None:
    """The moment that the claim vouches for: when it was said, unless it tells of another time."""
    if said.start is None or not said.is_dated:
        return said.start
    whole = range_of(said.claim.began)
    return said.at if whole is not None and whole[0] <= said.at < whole[1] else None


def range_of(when: Timespan | None) -> tuple[datetime, datetime] | None:
    """Both ends of a time, if both are known."""
    if when is None or when.start is None or when.end is None:
        return None
    return when.start, when.end


def _end(claim: Claim) -> datetime | None:
    if claim.ended is None:
        return None
    planned = claim.ended.end if claim.kind == FactKind.PLAN else None
    return planned or told(claim.ended) or claim.observed_at


def _window(claim: Claim, start: datetime | None) -> tuple[datetime, datetime] | None:
    return None if start is None else (start, latest(claim.began, claim.observed_at) or start)


class ClaimReader:
    """Finds slots and keys. `same` maps entities to those that stand for them."""

    def __init__(self, same: Mapping[str, str], one_at_a_time: frozenset[str]) -> None:
        self._same = same
        self._single = one_at_a_time
        self._predicates: dict[str, Predicate] = {}

    def predicate(self, name: str) -> Predicate:
        """What is known of the predicate."""
        known = self._predicates.get(name)
        if known is None:
            known = self._predicates[name] = predicate_of(name, self._single)
        return known

    def is_many(self, name: str) -> bool:
        """Whether the predicate has any number of objects at a time."""
        return self.predicate(name).holds is Holds.MANY

    def is_event(self, name: str) -> bool:
        """Whether it tells of things that happen, each at its time."""
        return self.predicate(name).kind is FactKind.EVENT

    def subject(self, claim: Claim) -> str:
        """The entity that stands for the claim's subject."""
        return self._same.get(claim.subject, claim.subject)

    def object(self, claim: Claim) -> str:
        """What stands for the claim's object; a plain value is what an entity so named would be.

        A note is no name.
        """
        if claim.object is None and claim.predicate == NOTE:
            return f"{NOTE} {folded_name(claim.value)}"
        named = claim.object or _entity_id(claim.user_id, claim.value)
        return self._same.get(named, named)

    def slot(self, claim: Claim, object: str) -> ClaimSlot:
        """The slot of a claim with that object."""
        known = self.predicate(claim.predicate)
        shared = min(known.name, known.opposite or known.name)
        of = object if known.holds is Holds.MANY else ""
        return ClaimSlot(claim.user_id or "", self.subject(claim), shared, of)


def known(claims: Iterable[Claim], known_at: datetime | None) -> list[Claim]:
    """The claims that had been recorded by then and do not rest, denials too."""
    if known_at is None:
        return [one for one in claims if one.rested_at is None]
    return [
        one
        for one in claims
        if one.recorded_at <= known_at and (one.rested_at is None or known_at < one.rested_at)
    ]


class Denials:
    """Says of a claim when it was taken back: by a denial, or as its memory says otherwise now.

    A denial takes back what was recorded up to it and is trusted no more than itself: of its
    object, or of all objects if it names none. One that tells of a time takes back only claims
    that stand in that time.
    """

    def __init__(
        self, claims: Sequence[Claim], reader: ClaimReader, known_at: datetime | None
    ) -> None:
        self._reader = reader
        self._known_at = known_at
        self._denials: dict[tuple[str | None, str, str], list[Claim]] = defaultdict(list)
        for one in claims:
            if one.denies and self._retired(one) is None:
                self._denials[self._place(one)].append(one)

    def taken_back(self, claim: Claim) -> datetime | None:
        """When the claim was taken back first; None if it stands."""
        if not self._denials and claim.retired_at is None:
            return None
        moments = [
            denial.recorded_at
            for denial in self._denials.get(self._place(claim), ())
            if self._denies(denial, claim)
        ]
        if (retired := self._retired(claim)) is not None:
            moments.append(retired)
        return min(moments, default=None)

    def _place(self, claim: Claim) -> tuple[str | None, str, str]:
        return claim.user_id, self._reader.subject(claim), claim.predicate

    def _retired(self, claim: Claim) -> datetime | None:
        at = claim.retired_at
        return None if at is None or (self._known_at and self._known_at < at) else at

    def _denies(self, denial: Claim, claim: Claim) -> bool:
        return (
            claim.recorded_at <= denial.recorded_at
            and level_of(claim) <= level_of(denial)
            and (not denial.value or self._reader.object(denial) == self._reader.object(claim))
            and _in_time(denial, claim)
        )


def _in_time(denial: Claim, claim: Claim) -> bool:
    first, last = told(denial.began), told(denial.ended)
    if first is None and last is None:
        return True
    point = point_of(claim)
    return (first is None or first <= point) and (last is None or point <= last)
