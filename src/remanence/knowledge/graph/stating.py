"""What a caller states, made into entities and claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from remanence.clock import Clock
from remanence.model.knowledge import Claim, Entity, EntityType, entity_id, folded_name
from remanence.model.memory import EMPTY
from remanence.model.predicates import NOTE, SAME_AS, phrase, predicate_of
from remanence.model.scope import Scope

THING = EntityType.THING.value


class Stating:
    """Makes claims that are recorded now, for a scope."""

    def __init__(
        self, clock: Clock, new_id: Callable[[], UUID], one_at_a_time: frozenset[str]
    ) -> None:
        self._clock = clock
        self._new_id = new_id
        self._one_at_a_time = one_at_a_time

    def entity(self, name: str, type: str, scope: Scope, trust: float = 1.0) -> Entity:
        """The entity of that name; in the store it may be there already.

        Whoever is trusted less gives none: theirs is there as long as something is said of it.
        """
        return Entity(
            id=entity_id(scope.user_id, name),
            name=name,
            type=type,
            created_at=self._clock.now(),
            user_id=scope.user_id,
            given=trust >= 1,
        )

    def object(self, name: str, relation: str, scope: Scope, trust: float = 1.0) -> Entity:
        """The entity that a relation points at, of the type such relations point at."""
        known = predicate_of(relation, self._one_at_a_time)
        return self.entity(name, str(known.object or THING), scope, trust)

    def note(
        self,
        entity: Entity,
        text: str,
        scope: Scope,
        memory: str | None = None,
        metadata: Mapping[str, Any] = EMPTY,
    ) -> Claim:
        """An observation about an entity."""
        return self._claim(entity, NOTE, text, scope, memory=memory, metadata=metadata)

    def relation(self, a: Entity, relation: str, b: Entity, scope: Scope, **told: Any) -> Claim:
        """That `a` is so related to `b`; `told` are more fields of the claim."""
        return self._claim(a, relation, b.name, scope, object=b.id, **told)

    def same(self, a: Entity, b: Entity, scope: Scope, reason: str | None) -> Claim:
        """That both are one, which goes by the name of `b`."""
        return self._claim(a, SAME_AS, b.name, scope, object=b.id, reason=reason)

    def apart(self, a: Entity, b: Entity, scope: Scope, reason: str | None) -> Claim:
        """That they are two."""
        return replace(self.same(a, b, scope, reason), denies=True)

    def denials(self, said: Iterable[Claim]) -> list[Claim]:
        """That what these claims say is not so; whoever sees such a claim sees its denial."""
        things = {
            (one.subject, one.predicate, one.value, one.object, one.agent_id, one.session_id): one
            for one in said
        }
        now = self._clock.now()
        return [
            replace(
                one,
                id=str(self._new_id()),
                denies=True,
                observed_at=now,
                recorded_at=now,
                confidence=1.0,
                trust=1.0,
                began=None,
                ended=None,
                origin="caller",
                memory=None,
                reason=None,
                rested_at=None,
                retired_at=None,
                metadata=EMPTY,
            )
            for one in things.values()
        ]

    def _claim(
        self, subject: Entity, predicate: str, value: str, scope: Scope, **more: Any
    ) -> Claim:
        now = self._clock.now()
        return Claim(
            id=str(self._new_id()),
            subject=subject.id,
            predicate=predicate,
            value=value,
            text=phrase(subject.name, predicate, value),
            kind=predicate_of(predicate, self._one_at_a_time).kind,
            observed_at=now,
            recorded_at=now,
            user_id=scope.user_id,
            agent_id=scope.agent_id,
            session_id=scope.session_id,
            **more,
        )


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
