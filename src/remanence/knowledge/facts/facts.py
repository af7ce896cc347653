"""The verbs of facts. Whatever is stated is a claim; taking it back is one too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Unpack
from uuid import UUID

from remanence.errors import InvalidInput
from remanence.knowledge.arguments import (
    MAX_VALUE,
    KnowledgeOwner,
    by_actor,
    check_period,
    moment_or_none,
    name_of,
    period_of,
    predicate_name,
    value_of,
)
from remanence.knowledge.claims import CALLER, MICROSECOND, Statements
from remanence.knowledge.facts.queries import FactQueries
from remanence.knowledge.learner import FactLearning
from remanence.model import validation
from remanence.model.clock import Clock
from remanence.model.knowledge import Claim, Entity, EntityType, Fact, Standing, entity_id
from remanence.model.memory import unit_interval
from remanence.model.ports.store import Store
from remanence.model.predicates import NOTE, PREDICATES, phrase
from remanence.model.scope import Scope

# Said of people and of anything else; the other predicates that are known are those of people.
OF_ANYTHING = frozenset({"is", "is named", "has", "email", "phone", NOTE})


class Facts(FactQueries, FactLearning):
    """Facts of one tenant: what memories say and callers state, and what it adds up to.

    Nothing stated is ever edited: what holds is worked out from all that was said, so the past
    can be asked, and whatever is erased leaves what was believed before it.
    """

    def __init__(
        self,
        store: Store,
        tenant: str,
        clock: Clock,
        new_id: Callable[[], UUID],
        one_at_a_time: frozenset[str] = frozenset(),
        min_trust: float = 0.0,
        **learning: Any,
    ) -> None:
        FactQueries.__init__(self, store, tenant, clock, one_at_a_time, min_trust)
        FactLearning.__init__(self, store, clock, tenant, **learning)
        self._stating = Statements(clock, new_id, one_at_a_time)

    def add(
        self,
        subject: str,
        predicate: str,
        object: str,
        *,
        text: str | None = None,
        kind: str | None = None,
        confidence: float = 1.0,
        trust: float = 1.0,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        observed_at: datetime | None = None,
        subject_type: str | None = None,
        object_type: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **whose: Unpack[KnowledgeOwner],
    ) -> Fact:
        """State a fact. Said again, it is the same fact with more evidence.

        `valid_from` and `valid_to` are moments or dates as exact as they are known ("2024-03").
        With a `source`, the claim is erased with that memory; a purge finds it by its `actor`,
        which is kept in its metadata. `trust` decides between claims that
        exclude each other: the less trusted never ends the more trusted.
        """
        scope = Scope(tenant=self._tenant, **whose)
        name, verb, value = name_of("subject", subject), predicate_name(predicate), value_of(object)
        began, ended = period_of(valid_from, valid_to)
        usual = EntityType.PERSON if verb in PREDICATES.keys() - OF_ANYTHING else EntityType.THING
        type = validation.label_of("subject_type", subject_type)
        whom = self._entity(name, type, usual, scope.user_id)
        what = self._object(value, object_type, verb, scope.user_id)
        claim = self._stating.claim(
            whom,
            verb,
            value,
            scope,
            object=None if what is None else what.id,
            text=_text(text),
            kind=validation.label_of("kind", kind),
            confidence=unit_interval("confidence", confidence),
            trust=unit_interval("trust", trust),
            observed_at=moment_or_none("observed_at", observed_at),
            began=began,
            ended=ended,
            memory=None if source is None else validation.id_of(source),
            metadata=validation.metadata_of(metadata) | by_actor(actor),
        )
        return self._state(claim, [whom] if what is None else [whom, what])

    def confirm(self, id: str, *, confidence: float = 0.9, source: str | None = None) -> Fact:
        """Say that a fact is so: the evidence adds up, the trust in it stays.

        What holds is said to hold now, which settles a dispute; what ended, that it was so then.
        A fact that was taken back is believed again.
        """
        sure = unit_interval("confidence", confidence)
        memory = None if source is None else validation.id_of(source)
        said = self._claim(id)
        fact = self._fact(said)
        return self._state(self._stating.confirmation(fact, said, confidence=sure, memory=memory))

    def correct(
        self,
        id: str,
        *,
        object: str | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        text: str | None = None,
        reason: str | None = None,
    ) -> Fact:
        """Say what is right instead; what is left out stays. The wrong one is taken back."""
        if object is None and valid_from is None and valid_to is None and text is None:
            raise InvalidInput("Say what is right: another object, other dates or another text.")
        value = None if object is None else value_of(object)
        began, ended = period_of(valid_from, valid_to)
        words, why = _text(text), validation.label_of("reason", reason)
        said = self._claim(id)
        old = self._fact(said)
        claims = self._evidence.claims(old.claims)
        right = self._stating.correction(old, said, claims, began=began, ended=ended)
        check_period(right.began, right.ended)
        what = None if value is None else self._replacement(value, said)
        if value is not None:
            right = replace(right, value=value, object=None if what is None else what.id)
        if words or value is not None:
            right = replace(right, text=words or phrase(old.subject, old.predicate, right.value))
        wrong = self._stating.denials_of(old, claims, why)
        right = replace(
            right, recorded_at=max(one.recorded_at for one in wrong) + MICROSECOND, reason=why
        )
        self._store.knowledge.know(self._tenant, [] if what is None else [what], [*wrong, right])
        return self.get(right.id)

    def retract(self, id: str, *, reason: str | None = None, erase: bool = False) -> Fact:
        """Take a fact back: it is believed no more, and the past still knows that it was.

        With `erase`, what callers stated, whenever it was true, is removed for good; what a memory
        says goes only with the memory, so that is `InvalidInput` which names the memories. A fact
        that is stated again later is believed again.
        """
        said = self._claim(id)
        fact, why = self._fact(said), validation.label_of("reason", reason)
        if validation.truth_of("erase", erase):
            return self._erase(fact)
        if fact.standing is not Standing.RETRACTED:
            claims = self._evidence.claims(fact.claims)
            wrong = self._stating.denials_of(fact, claims, why)
            self._store.knowledge.know(self._tenant, claims=wrong)
        return self._fact(said)

    # -- inside

    def _state(self, claim: Claim, entities: Sequence[Entity] = ()) -> Fact:
        """Record a claim after whatever denied the same before, even by another's fast clock."""
        denied = self._evidence.denied_until(claim)
        if denied is not None and denied >= claim.recorded_at:
            claim = replace(claim, recorded_at=denied + MICROSECOND)
        self._store.knowledge.know(self._tenant, entities, [claim])
        return self.get(claim.id)

    def _erase(self, fact: Fact) -> Fact:
        claims = self._evidence.alike_claims(fact)
        found = [one.memory for one in claims if one.memory and one.origin != CALLER]
        if found:
            named = ", ".join(dict.fromkeys(found[:5]))
            raise InvalidInput(
                f"Memories say so: {named}. Forget them with erase=True and the fact goes with "
                "them; or retract it without erase, and it is not believed meanwhile."
            )
        self._store.knowledge.unknow(self._tenant, [one.id for one in claims])
        return replace(fact, standing=Standing.RETRACTED, retired_at=self._clock.now())

    def _entity(self, name: str, type: str | None, usual: str, user_id: str | None) -> Entity:
        """An entity by name, of the type that is given or known, else of the usual one."""
        there = None if type else self._evidence.entity(user_id, entity_id(user_id, name))
        known = usual if there is None else there.type
        return self._stating.entity(name, type or known, user_id)

    def _object(
        self, value: str, type: str | None, verb: str, user_id: str | None
    ) -> Entity | None:
        """The object as an entity: by its type, by the predicate, or as one so named is there."""
        given = validation.label_of("object_type", type)
        usual = self._evidence.predicate(verb).object
        if given or usual is not None:
            name = name_of("object", value)
            return self._entity(name, given, usual or EntityType.THING, user_id)
        if verb in PREDICATES:
            return None
        return self._evidence.entity(user_id, entity_id(user_id, value))

    def _replacement(self, value: str, said: Claim) -> Entity | None:
        """The right object: an entity, if the wrong one was."""
        if said.object is None:
            return None
        wrong = self._evidence.entity(said.user_id, said.object)
        usual = EntityType.THING if wrong is None else wrong.type
        return self._entity(name_of("object", value), None, usual, said.user_id)


def _text(value: str | None) -> str | None:
    return None if value is None else validation.text_of("text", value, MAX_VALUE)
