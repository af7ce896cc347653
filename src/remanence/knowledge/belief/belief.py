"""Believing: the facts that claims add up to, slot by slot, and what of them held at a moment."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from remanence.knowledge.belief.claims import (
    BY_HALF,
    ClaimReader,
    ClaimSlot,
    Denials,
    SlotClaim,
    known,
    said_of,
)
from remanence.knowledge.belief.times import SlotSpan, Stretch, settle, spans, stretches
from remanence.model.knowledge import Claim, Fact, Standing, Timespan
from remanence.model.predicates import Holds, predicate_of

_EVER = datetime.min.replace(tzinfo=UTC)
_NEVER = datetime.max.replace(tzinfo=UTC)

_NOBODY: Mapping[str, str] = {}


def holding(
    facts: Iterable[Fact], moment: datetime, one_at_a_time: frozenset[str] = frozenset()
) -> list[Fact]:
    """The facts that held then, in the order given.

    Where only one of a predicate can hold, that is the most trusted, then the one that started
    last: a stretch that lies within a longer one goes before it. Those that are disputed all count.
    """
    held = [fact for fact in facts if fact.holds_at(moment)]
    rivals: dict[tuple[str | None, str, str], list[Fact]] = defaultdict(list)
    for fact in held:
        if predicate_of(fact.predicate, one_at_a_time).holds is Holds.ONE:
            rivals[_place(fact)].append(fact)
    chosen = {place: max(there, key=_rank) for place, there in rivals.items()}
    return [fact for fact in held if _agrees(fact, chosen.get(_place(fact)))]


def newest(facts: Iterable[Fact]) -> list[Fact]:
    """Facts in order of their start, the last first; ties by recording, then by id."""
    by_id = sorted(facts, key=lambda one: one.id, reverse=True)
    return sorted(
        by_id, key=lambda one: (one.valid_from or one.recorded_at, one.recorded_at), reverse=True
    )


def _place(fact: Fact) -> tuple[str | None, str, str]:
    return fact.user_id, fact.subject_id, fact.predicate


def _rank(fact: Fact) -> tuple[float, datetime, datetime, str]:
    return fact.trust, fact.valid_from or _EVER, fact.valid_to or _NEVER, fact.id


def _agrees(fact: Fact, chosen: Fact | None) -> bool:
    return chosen is None or fact.id == chosen.id or fact.id in chosen.rivals


def believe(
    claims: Sequence[Claim],
    *,
    names: Mapping[str, str],
    same: Mapping[str, str] = _NOBODY,
    known_at: datetime | None = None,
    one_at_a_time: frozenset[str] = frozenset(),
    now: datetime | None = None,
) -> list[Fact]:
    """What is believed, or was at `known_at`; by user, subject, predicate and time.

    All claims of a subject and predicate must be among `claims`, in any order. `names` are those
    of entities by id, `same` maps entities to the one that stands for them. What is to end only
    after `now` still holds; without `now` every end has come.
    """
    reader = ClaimReader(same, one_at_a_time)
    writer = _Writer(reader, names, now)
    slots, taken = _by_slot(known(claims, known_at), reader, known_at)
    facts = [fact for slot, said in slots.items() for fact in _believed(slot, said, writer)]
    for (_, at), said in taken.items():
        facts += writer.retracted(said, at)
    return sorted(facts, key=_order)


def _by_slot(
    claims: Sequence[Claim], reader: ClaimReader, known_at: datetime | None
) -> tuple[
    dict[ClaimSlot, list[SlotClaim]], dict[tuple[tuple[ClaimSlot, str], datetime], list[SlotClaim]]
]:
    """What stands by slot, and what was taken back by slot, key and moment."""
    denials = Denials(claims, reader, known_at)
    slots: dict[ClaimSlot, list[SlotClaim]] = defaultdict(list)
    taken: dict[tuple[tuple[ClaimSlot, str], datetime], list[SlotClaim]] = defaultdict(list)
    endings: list[Claim] = []
    for claim in claims:
        if claim.denies:
            continue
        at = denials.taken_back(claim)
        if not claim.value:
            endings += [claim] if at is None and claim.ended is not None else []
            continue
        object = reader.object(claim)
        slot = reader.slot(claim, object)
        key = claim.predicate if reader.is_many(claim.predicate) else object
        said = said_of(claim, key)
        if at is None:
            slots[slot].append(said)
        else:
            taken[(slot, key), at].append(said)
    _spread(endings, slots, reader)
    return slots, taken


def _spread(
    endings: Sequence[Claim], slots: dict[ClaimSlot, list[SlotClaim]], reader: ClaimReader
) -> None:
    """Put ends of whatever holds into every slot they mean."""
    places: dict[ClaimSlot, list[ClaimSlot]] = defaultdict(list)
    for slot in slots if endings else ():
        places[slot._replace(object="")].append(slot)
    for claim in endings:
        key = claim.predicate if reader.is_many(claim.predicate) else None
        for slot in places[reader.slot(claim, "")]:
            slots[slot].append(said_of(claim, key))


def _believed(slot: ClaimSlot, said: Sequence[SlotClaim], writer: _Writer) -> Iterator[Fact]:
    holds = writer.reader.predicate(slot.predicate).holds
    return writer.once(said) if holds is Holds.ONCE else writer.over_time(said)


def _order(fact: Fact) -> tuple[str, str, str, datetime, datetime, str]:
    start = fact.valid_from or _EVER
    return fact.user_id or "", fact.subject_id, fact.predicate, start, fact.recorded_at, fact.id


class _Writer:
    """Makes facts of what was said."""

    def __init__(self, reader: ClaimReader, names: Mapping[str, str], now: datetime | None) -> None:
        self.reader = reader
        self._names = names
        self._now = now

    def over_time(self, said: Sequence[SlotClaim]) -> Iterator[Fact]:
        """The facts of a slot in which things begin and end."""
        if len(said) == 1:
            yield self._only(said[0])
            return
        found = spans(settle(said))
        events = self._events(said)
        standing = stretches([span for span in found if not span.doubted], events=events)
        lost = stretches([span for span in found if span.doubted], events=events)
        ids = {one.claim.id: _first(stretch) for stretch in standing for one in stretch.said}
        for stretch in standing:
            yield self._standing(stretch, _rivals(stretch, standing))
        for stretch in lost:
            above = {ids[one.claim.id] for span in stretch.spans for one in span.doubted}
            yield replace(self._fact(stretch), standing=Standing.DOUBTED, rivals=_sorted(above))

    def once(self, said: Sequence[SlotClaim]) -> Iterator[Fact]:
        """The facts of a slot that has one value for ever."""
        by_key: dict[str, list[SlotClaim]] = defaultdict(list)
        for one in said:
            if one.key is not None and one.names_one:
                by_key[one.key].append(one)
        top = max((one.level for of_key in by_key.values() for one in of_key), default=0)
        all = [_timeless(key, of_key) for key, of_key in by_key.items()]
        best = [one for one in all if one.level == top]
        for stretch in all:
            others = _sorted(_first(one) for one in best if one is not stretch)
            rank = Standing.DISPUTED if others else Standing.HOLDS
            rank = rank if stretch in best else Standing.DOUBTED
            yield replace(self._fact(stretch), standing=rank, rivals=others)

    def retracted(self, said: Sequence[SlotClaim], at: datetime) -> Iterator[Fact]:
        """The facts that were believed until they were taken back."""
        for stretch in stretches(spans(settle(said)), events=self._events(said)):
            fact = self._fact(stretch)
            yield replace(fact, standing=Standing.RETRACTED, retired_at=at)

    def _events(self, said: Sequence[SlotClaim]) -> bool:
        return bool(said) and self.reader.is_event(said[0].claim.predicate)

    def _standing(self, stretch: Stretch, rivals: tuple[str, ...]) -> Fact:
        fact = self._fact(stretch)
        return replace(fact, standing=Standing.DISPUTED, rivals=rivals) if rivals else fact

    def _fact(self, stretch: Stretch) -> Fact:
        said = stretch.said
        claims = [one.claim for one in said]
        best = max(said, key=_weight).claim
        return self._written(
            best,
            claims,
            (stretch.start, stretch.end),
            (_began(stretch), _ended(stretch)),
            confidence=1 - math.prod(1 - one.confidence for one in claims),
            trust=best.trust,
            sources=tuple(dict.fromkeys(one.memory for one in claims if one.memory)),
        )

    def _only(self, said: SlotClaim) -> Fact:
        """The fact of a slot in which nothing else was said."""
        claim, start, end = said.claim, said.start, said.end
        return self._written(
            claim,
            (claim,),
            (start, end if end is None or start is None else max(start, end)),
            (claim.began if said.is_dated else None, claim.ended),
            confidence=claim.confidence,
            trust=claim.trust,
            sources=(claim.memory,) if claim.memory else (),
        )

    def _written(
        self,
        best: Claim,
        claims: Sequence[Claim],
        time: tuple[datetime | None, datetime | None],
        told: tuple[Timespan | None, Timespan | None],
        *,
        confidence: float,
        trust: float,
        sources: tuple[str, ...],
    ) -> Fact:
        object = None if best.object is None else self.reader.object(best)
        subject = self.reader.subject(best)
        return Fact(
            id=claims[0].id,
            subject=self._names.get(subject, subject),
            subject_id=subject,
            predicate=best.predicate,
            object=best.value if object is None else self._names.get(object, best.value),
            object_id=object,
            text=best.text,
            kind=best.kind,
            confidence=confidence,
            trust=trust,
            standing=Standing.ENDED if self._over(time[1]) else Standing.HOLDS,
            recorded_at=claims[0].recorded_at,
            valid_from=time[0],
            valid_to=time[1],
            began=told[0],
            ended=told[1],
            sources=sources,
            claims=tuple([one.id for one in claims]),
            user_id=best.user_id,
        )

    def _over(self, end: datetime | None) -> bool:
        return end is not None and (self._now is None or end <= self._now)


def _weight(said: SlotClaim) -> tuple[bool, float, float]:
    """Whose words are a fact's: not those that only tell its end, if others are there."""
    return said.start is not None, said.claim.trust, said.claim.confidence


def _first(stretch: Stretch) -> str:
    return stretch.said[0].claim.id


def _sorted(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(ids)))


def _rivals(stretch: Stretch, all: Iterable[Stretch]) -> tuple[str, ...]:
    """The facts that say otherwise from the same time on, where neither took the other's place."""
    against = {one.claim.id for span in stretch.spans for one in span.rivals}
    if not against:
        return ()
    return _sorted(
        _first(one)
        for one in all
        if any(span.said.claim.id in against for span in one.spans)
        and stretch.meets(one)
        and stretch.level == one.level
        and one.superseded_by != stretch.key
        and stretch.superseded_by != one.key
    )


def _timeless(key: str, said: Sequence[SlotClaim]) -> Stretch:
    """A value that always was: it starts only if somebody told when who is trusted."""
    heard = [one for one in said if one.level >= BY_HALF] or said
    started = min((one.start for one in heard if one.is_dated and one.start), default=None)
    stretch = Stretch(key, started, None, None)
    for one in sorted(said, key=lambda one: one.order):
        stretch.join(SlotSpan(one, one.start))
    return stretch


def _began(stretch: Stretch) -> Timespan | None:
    """How exactly its start is known: as told by the claim that it starts with."""
    told = [span.said for span in stretch.spans if span.start == stretch.start]
    return next((one.claim.began for one in told if one.is_dated), None)


def _ended(stretch: Stretch) -> Timespan | None:
    """How exactly its end is known: as told, or as the start of what took its place."""
    if stretch.by is None:
        return None
    return stretch.by.claim.ended if stretch.superseded_by is None else stretch.by.claim.began
