"""Claims: made of what callers state, confirm, correct and deny; and as they rested earlier."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from remanence.errors import NotFound
from remanence.knowledge.belief.claims import point_of, told
from remanence.model.clock import Clock
from remanence.model.knowledge import (
    Claim,
    Entity,
    EntityType,
    Fact,
    Timespan,
    entity_id,
    folded_name,
)
from remanence.model.memory import EMPTY, MemoryRecord, State, as_known
from remanence.model.ports.store import Archive
from remanence.model.predicates import NOTE, SAME_AS, phrase, predicate_of
from remanence.model.scope import Scope

CALLER = "caller"
THING = EntityType.THING.value
MICROSECOND = timedelta(microseconds=1)
PAGE = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class Statements:
    """Makes entities and claims of what a caller states now, in a scope."""

    clock: Clock
    new_id: Callable[[], UUID]
    one_at_a_time: frozenset[str]

    def entity(self, name: str, type: str, user_id: str | None, *, given: bool = False) -> Entity:
        """The entity of that name; in the store it may be there already.

        Only what is `given` is there without anything being said of it.
        """
        return Entity(
            id=entity_id(user_id, name),
            name=name,
            type=type,
            created_at=self.clock.now(),
            user_id=user_id,
            given=given,
        )

    def claim(
        self, subject: Entity, predicate: str, value: str, scope: Scope, **told: Any
    ) -> Claim:
        """That this is so of the subject; `told` are more fields, left out where they are None."""
        now = self.clock.now()
        usual: dict[str, Any] = {
            "text": phrase(subject.name, predicate, value),
            "kind": predicate_of(predicate, self.one_at_a_time).kind,
            "observed_at": now,
        }
        return Claim(
            id=str(self.new_id()),
            subject=subject.id,
            predicate=predicate,
            value=value,
            recorded_at=now,
            user_id=scope.user_id,
            agent_id=scope.agent_id,
            session_id=scope.session_id,
            **usual | {name: given for name, given in told.items() if given is not None},
        )

    def note(self, entity: Entity, text: str, scope: Scope, **told: Any) -> Claim:
        """An observation about an entity."""
        return self.claim(entity, NOTE, text, scope, **told)

    def relation(self, a: Entity, relation: str, b: Entity, scope: Scope, **told: Any) -> Claim:
        """That `a` is so related to `b`."""
        return self.claim(a, relation, b.name, scope, object=b.id, **told)

    def same(self, a: Entity, b: Entity, scope: Scope, **told: Any) -> Claim:
        """That both are one, which goes by the name of `b`."""
        return self.relation(a, SAME_AS, b, scope, **told)

    def confirmation(self, fact: Fact, said: Claim, **told: Any) -> Claim:
        """That the fact is so: of what holds, that it does now; else of its own time."""
        now = self.clock.now()
        lasts = fact.holds_at(now)
        return replace(
            _stated(said),
            id=str(self.new_id()),
            text=fact.text,
            trust=fact.trust,
            observed_at=now,
            recorded_at=now,
            began=None if lasts else _at(fact.valid_from),
            ended=None if lasts else _at(fact.valid_to),
            **told,
        )

    def correction(
        self,
        fact: Fact,
        said: Claim,
        claims: Iterable[Claim],
        *,
        began: Timespan | None,
        ended: Timespan | None,
    ) -> Claim:
        """The fact as a claim, with the times that are right instead; those told before stay."""
        ends = [one.ended for one in claims if one.ended is not None]
        dated = told(said.began) is not None
        return replace(
            _stated(said),
            id=str(self.new_id()),
            text=fact.text,
            confidence=1.0,
            trust=fact.trust,
            observed_at=said.observed_at if dated else fact.valid_from or said.observed_at,
            began=began or fact.began,
            ended=ended or (ends[-1] if ends else None),
        )

    def denials(self, said: Sequence[Claim], **told: Any) -> list[Claim]:
        """That what these claims say is not so, once for each way they said it.

        Whoever sees such a claim sees its denial.
        """
        ways = {
            (one.subject, one.predicate, one.value, one.object, one.agent_id, one.session_id): one
            for one in said
        }
        now = self.clock.now()
        usual: dict[str, Any] = {"trust": 1.0, "began": None, "ended": None}
        usual |= {"observed_at": now, "recorded_at": now}
        return [
            replace(
                _stated(one), id=str(self.new_id()), denies=True, confidence=1.0, **usual | told
            )
            for one in ways.values()
        ]

    def denials_of(self, fact: Fact, claims: Sequence[Claim], reason: str | None) -> list[Claim]:
        """That what the fact's claims say of its time is not so.

        Recorded after all of them, even if one of them came from a clock that runs ahead.
        """
        points = [point_of(one) for one in claims]
        at = max([self.clock.now(), *(one.recorded_at for one in claims)])
        return self.denials(
            claims,
            trust=max(fact.trust, *(one.trust for one in claims)),
            began=_at(min(points)),
            ended=_at(max(points)),
            observed_at=at,
            recorded_at=at,
            reason=reason,
        )


def _stated(claim: Claim) -> Claim:
    """The claim as if a caller stated it."""
    return replace(
        claim,
        origin=CALLER,
        memory=None,
        denies=False,
        reason=None,
        rested_at=None,
        retired_at=None,
        metadata=EMPTY,
    )


def _at(moment: datetime | None) -> Timespan | None:
    return None if moment is None else Timespan(start=moment, end=moment)


def standing(said: Sequence[Claim]) -> list[Claim]:
    """The claims among these that nothing among these takes back."""
    denied: dict[tuple[str, str, str], datetime] = {}
    for one in said:
        if one.denies:
            denied[_thing(one)] = max(one.recorded_at, denied.get(_thing(one), one.recorded_at))
    affirmed = [one for one in said if not one.denies and one.retired_at is None]
    return [
        one
        for one in affirmed
        if _thing(one) not in denied or denied[_thing(one)] < one.recorded_at
    ]


def merged_into(id: str, merges: Sequence[Claim]) -> set[str]:
    """The entity and all that was merged into it, or into what was."""
    found = {id}
    while new := {one.subject for one in merges if one.object in found} - found:
        found |= new
    return found


def _thing(claim: Claim) -> tuple[str, str, str]:
    return claim.subject, claim.predicate, claim.object or folded_name(claim.value)


def as_they_rested(
    store: Archive, tenant: str, claims: Sequence[Claim], known_at: datetime
) -> list[Claim]:
    """The claims, resting if their memories took no part in recall then.

    A claim keeps only when it began to rest last; its memory may have come and gone before.
    """
    idle = {
        record.id: not _counted(store, record, known_at)
        for record in _memories(store, tenant, {one.memory for one in claims if one.memory})
        if record.updated_at > known_at
    }
    return [
        replace(one, rested_at=known_at if idle[one.memory] else None)
        if one.memory in idle
        else one
        for one in claims
    ]


def then_of(store: Archive, record: MemoryRecord, moment: datetime) -> MemoryRecord | None:
    """The memory as it was; None if it was not there yet, or is gone by now."""
    if record.updated_at <= moment:
        return record
    with suppress(NotFound):
        return as_known(record, store.history(record.tenant, record.id), moment)
    return None


def _counted(store: Archive, record: MemoryRecord, moment: datetime) -> bool:
    """Whether its claims were evidence; what was merged into another memory stays so."""
    then = then_of(store, record, moment)
    if then is None or then.state == State.ACTIVE:
        return then is not None
    return then.state == State.ARCHIVED and then.superseded_by is not None


def _memories(store: Archive, tenant: str, ids: Iterable[str]) -> Iterator[MemoryRecord]:
    wanted = sorted(ids)
    for at in range(0, len(wanted), PAGE):
        yield from store.get(tenant, wanted[at : at + PAGE])
