"""Evidence: gathers every claim that decides about some facts, and what they add up to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime

from remanence.clock import Clock
from remanence.knowledge.belief import believe
from remanence.knowledge.identity import Identity, groups
from remanence.knowledge.paging import every_claim
from remanence.model.knowledge import Claim, Entity, Fact, Standing
from remanence.model.predicates import SAME_AS, Holds, Predicate, predicate_of
from remanence.model.scope import Reach
from remanence.ports.store import Store

PAGE = 500

_BELIEVED = (Standing.HOLDS, Standing.ENDED)


@dataclass(frozen=True, slots=True)
class Known:
    """Facts that concern an entity, and the id that stands for it."""

    facts: tuple[Fact, ...] = ()
    id: str = ""


class Evidence:
    """The claims of one tenant. What holds of a slot is asked of all claims of that slot."""

    def __init__(
        self, store: Store, tenant: str, clock: Clock, one_at_a_time: frozenset[str]
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._clock = clock
        self._one_at_a_time = one_at_a_time
        self._identity = Identity(store, tenant)

    def predicate(self, name: str) -> Predicate:
        """What is known of a predicate here."""
        return predicate_of(name, self._one_at_a_time)

    def claims(self, ids: Sequence[str]) -> list[Claim]:
        """The tenant's claims with these ids, whoever's they are, that facts are made of."""
        found = every_claim(self._store, Reach(tenant=self._tenant, all_users=True), ids=ids)
        return [one for one in found if one.predicate != SAME_AS]

    def of_name(
        self, reach: Reach, name: str, known_at: datetime | None, predicate: str | None = None
    ) -> Known:
        """The facts with whom the name means as subject or object."""
        who = self._identity.resolve(reach, name, known_at)
        return self._known(reach, who.ids, known_at, predicate) if who.ids else Known()

    def ids_of(self, reach: Reach, name: str, known_at: datetime | None) -> frozenset[str]:
        """The entities that the name means, if any."""
        return frozenset(self._identity.resolve(reach, name, known_at).ids)

    def of_claim(self, claim: Claim, known_at: datetime | None) -> Known:
        """The facts about a claim's subject in which the claim may have a part."""
        reach = Reach(tenant=self._tenant, user_id=claim.user_id)
        return self._known(reach, self.alike(claim), known_at, claim.predicate)

    def alike(self, claim: Claim) -> tuple[str, ...]:
        """The entities that are the claim's subject, the one that stands for them first."""
        leaders, _ = self._identity.same(claim.user_id, [claim.subject])
        leader = leaders.get(claim.subject, claim.subject)
        return leader, *(id for id, over in leaders.items() if over == leader and id != leader)

    def everything(self, reach: Reach, known_at: datetime | None) -> list[Fact]:
        """All facts of a scope, as they were said."""
        claims = every_claim(self._store, reach)
        entities = self._entities(reach)
        leaders = groups(entities, claims, known_at)
        names = {one.id: one.name for one in entities}
        return self._believed(claims, leaders, names, known_at)

    def entity(self, user_id: str | None, id: str) -> Entity | None:
        """A user's entity, if it is there."""
        found = self._store.entities(Reach(tenant=self._tenant, user_id=user_id), [id])
        return found[0] if found else None

    def denying(self, claims: Sequence[Claim]) -> list[str]:
        """Denials by callers that take back nothing but these claims: they name what was said."""
        if not claims:
            return []
        reach = Reach(tenant=self._tenant, user_id=claims[0].user_id)
        about = every_claim(self._store, reach, about=[one.subject for one in claims])
        gone = {one.id for one in claims}
        said = {(one.subject, one.predicate, one.object, one.value) for one in claims}
        said -= {
            (one.subject, one.predicate, one.object, one.value)
            for one in about
            if not one.denies and one.id not in gone
        }
        return [
            one.id
            for one in about
            if one.denies and (one.subject, one.predicate, one.object, one.value) in said
        ]

    def denied_until(self, claim: Claim) -> datetime | None:
        """When the claim would be taken back last, as far as denials are there already."""
        reach = Reach(tenant=self._tenant, user_id=claim.user_id)
        about = every_claim(self._store, reach, about=self.alike(claim))
        moments = (
            one.recorded_at for one in about if one.denies and one.predicate == claim.predicate
        )
        return max(moments, default=None)

    def _known(
        self, reach: Reach, ids: Sequence[str], known_at: datetime | None, predicate: str | None
    ) -> Known:
        inside = dict.fromkeys(ids, ids[0])
        family = None if predicate is None else self._family(predicate)
        about = [
            one
            for one in every_claim(self._store, reach, about=ids)
            if family is None or one.predicate in family
        ]
        own = self._from(inside, about)
        theirs = [one for one in about if one.subject not in inside and not self._turns(one)]
        others = self._others(reach, own, theirs, inside, known_at)
        claims = [*own, *others.claims]
        names = {**others.names, **self._names(reach, claims, ids)}
        facts = self._believed(claims, {**others.same, **inside}, names, known_at)
        return Known(tuple(self._of(facts, ids[0])), ids[0])

    def _from(self, inside: Mapping[str, str], claims: Iterable[Claim]) -> list[Claim]:
        """The claims as they are told from inside, read through the inverse where needed."""
        told = [one for one in claims if one.subject in inside]
        turned = [self._turned(one) for one in claims if one.subject not in inside]
        return told + [one for one in turned if one is not None and one.subject in inside]

    def _others(
        self,
        reach: Reach,
        own: Sequence[Claim],
        theirs: Sequence[Claim],
        inside: Mapping[str, str],
        known_at: datetime | None,
    ) -> _Others:
        """What else decides: the slots of those who say so, and of those it binds as well."""
        binding = [one for one in own if one.object and self._binds(one.predicate)]
        asked = {(one.user_id, one.subject, one.predicate) for one in theirs}
        asked |= {(one.user_id, one.object or "", one.predicate) for one in binding}
        wanted: dict[str | None, set[str]] = defaultdict(set)
        for user, id, _ in asked:
            wanted[user].add(id)
        for one in self._contested(own):
            wanted[one.user_id].add(one.object or "")
        same: dict[str, str] = {}
        names: dict[str, str] = {}
        for user, ids in wanted.items():
            leaders, named = self._identity.same(user, sorted(ids - inside.keys()), known_at)
            same, names = same | leaders, names | named
        slots = {(same.get(id, id), predicate) for _, id, predicate in asked if id not in inside}
        return _Others(self._slots(reach, slots, same), same, names)

    def _slots(
        self, reach: Reach, slots: Set[tuple[str, str]], same: Mapping[str, str]
    ) -> list[Claim]:
        """All claims of these slots, of whoever is the same as their subjects."""
        whose = {leader for leader, _ in slots}
        members = sorted(id for id, leader in same.items() if leader in whose)
        found = {
            one.id: one
            for at in range(0, len(members), PAGE)
            for one in every_claim(self._store, reach, about=members[at : at + PAGE])
        }
        told = self._from(dict.fromkeys(members, ""), found.values())
        return [
            one
            for one in told
            if any((same[one.subject], name) in slots for name in self._family(one.predicate))
        ]

    def _contested(self, own: Iterable[Claim]) -> list[Claim]:
        """Claims whose object is an entity, and not the only one where there can be but one."""
        slots: dict[tuple[str | None, str], list[Claim]] = defaultdict(list)
        for one in own:
            if one.object and self.predicate(one.predicate).holds is not Holds.MANY:
                slots[one.user_id, one.predicate].append(one)
        several = (said for said in slots.values() if len({one.object for one in said}) > 1)
        return [one for said in several for one in said]

    def _of(self, facts: Sequence[Fact], id: str) -> list[Fact]:
        """The facts of the one asked for; what binds both sides ends with the sooner end."""
        sides = {
            (one.object_id, claim): one
            for one in facts
            if one.subject_id != id and one.standing in _BELIEVED and self._binds(one.predicate)
            for claim in one.claims
        }
        own = [one for one in facts if one.subject_id == id]
        ended = [self._ended(one, sides.get((id, one.id))) for one in own]
        of_others = [one for one in facts if one.object_id == id and one.subject_id != id]
        return [*ended, *(one for one in of_others if not self.predicate(one.predicate).inverse)]

    def _ended(self, fact: Fact, other: Fact | None) -> Fact:
        if other is None or other.valid_to is None or fact.standing is not Standing.HOLDS:
            return fact
        if fact.valid_to is not None and fact.valid_to <= other.valid_to:
            return fact
        return replace(fact, valid_to=other.valid_to, ended=other.ended, standing=other.standing)

    def _family(self, predicate: str) -> set[str]:
        known = self.predicate(predicate)
        return {name for name in (predicate, known.opposite, known.inverse) if name}

    def _binds(self, predicate: str) -> bool:
        """Whether it is one at a time for both sides, such as a marriage."""
        known = self.predicate(predicate)
        return known.inverse == known.name and known.holds is Holds.ONE

    def _turns(self, claim: Claim) -> bool:
        return claim.object is not None and self.predicate(claim.predicate).inverse is not None

    def _turned(self, claim: Claim) -> Claim | None:
        """The claim told from its object's side, if that can be said."""
        inverse = self.predicate(claim.predicate).inverse
        if inverse is None or claim.object is None:
            return None
        return replace(
            claim,
            subject=claim.object,
            predicate=inverse,
            object=claim.subject,
            value=claim.subject,
        )

    def _believed(
        self,
        claims: Iterable[Claim],
        same: Mapping[str, str],
        names: Mapping[str, str],
        known_at: datetime | None,
    ) -> list[Fact]:
        return believe(
            [one for one in claims if one.predicate != SAME_AS],
            names=names,
            same=same,
            known_at=known_at,
            one_at_a_time=self._one_at_a_time,
            now=known_at or self._clock.now(),
        )

    def _names(self, reach: Reach, claims: Iterable[Claim], ids: Sequence[str]) -> dict[str, str]:
        wanted = {id for one in claims for id in (one.subject, one.object) if id}
        asked = sorted(wanted | set(ids))
        pages = (asked[at : at + PAGE] for at in range(0, len(asked), PAGE))
        wide = _wide(reach)
        found = (self._store.entities(wide, page, limit=PAGE) for page in pages)
        return {one.id: one.name for page in found for one in page}

    def _entities(self, reach: Reach) -> list[Entity]:
        wide, found = _wide(reach), list[Entity]()
        while page := self._store.entities(wide, limit=PAGE, offset=len(found)):
            found += page
        return found


@dataclass(frozen=True, slots=True)
class _Others:
    """Claims of others that decide about facts, and who stands for whom among them."""

    claims: list[Claim]
    same: Mapping[str, str]
    names: Mapping[str, str]


def _wide(reach: Reach) -> Reach:
    """Names are the user's, whichever agent and session is asked."""
    return replace(reach, agent_id=None, session_id=None)
