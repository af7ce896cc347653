"""Evidence: gathers every claim that decides about some facts, and what they add up to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from remanence.knowledge.belief import believe, holding, newest
from remanence.knowledge.claims import as_they_rested
from remanence.knowledge.identity import Identity, groups, wide
from remanence.model.clock import Clock
from remanence.model.knowledge import Claim, Entity, Fact, Standing
from remanence.model.ports.store import Store
from remanence.model.predicates import PREDICATES, SAME_AS, Holds, Predicate, predicate_of
from remanence.model.query import ALL
from remanence.model.scope import Reach

# Who that many objects are takes longer to find out than all that is said of one.
MANY = 300
# Claims that are read for a prompt, and others that may be the subject of them.
MOST = 200
MOST_OTHERS = 10

_BELIEVED = (Standing.HOLDS, Standing.ENDED)
_MIRRORED = frozenset(one.name for one in PREDICATES.values() if one.inverse) - {SAME_AS}
_SINGLE = frozenset(one.name for one in PREDICATES.values() if one.holds is not Holds.MANY)


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """Facts that concern an entity, and the id that stands for it."""

    facts: tuple[Fact, ...] = ()
    id: str = ""


class FactEvidence:
    """The claims of one tenant. What holds of a slot is asked of all claims of that slot."""

    def __init__(
        self, store: Store, tenant: str, clock: Clock, one_at_a_time: frozenset[str]
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._clock = clock
        self._one_at_a_time = one_at_a_time
        self._identity = Identity(store.knowledge, tenant)

    def predicate(self, name: str) -> Predicate:
        """What is known of a predicate here."""
        return predicate_of(name, self._one_at_a_time)

    def claims(self, ids: Sequence[str]) -> list[Claim]:
        """The tenant's claims with these ids, whoever's they are, that facts are made of."""
        everybody = Reach(tenant=self._tenant, all_users=True)
        found = self._store.knowledge.claims(everybody, ids=ids, limit=ALL)
        return [one for one in found if one.predicate != SAME_AS]

    def of_name(
        self,
        reach: Reach,
        name: str,
        known_at: datetime | None,
        predicate: str | None = None,
        *,
        objects: bool = True,
    ) -> KnownFacts:
        """The facts with whom the name means as subject, with `objects` also those as object."""
        who = self._identity.resolve(reach, name, known_at)
        if not who.ids:
            return KnownFacts()
        inside = dict.fromkeys(who.ids, who.id)
        return KnownFacts(self._facts(reach, inside, known_at, predicate, objects), who.id)

    def holding(
        self, reach: Reach, entities: Sequence[Entity], moment: datetime, *, objects: bool = True
    ) -> list[KnownFacts]:
        """What holds of several entities then, newest first, for each of them that is one.

        This is for prompts, which ask at every turn, so `MOST` claims are read at a time. Of those
        about whom there are more, the latest count, and the latest of what has one value. With
        `objects`, facts come in which they are the object, where those are few.
        """
        inside = self._identity.same_in(reach, entities)
        leaders = dict.fromkeys(inside[one.id] for one in entities if one.id in inside)
        inside = {id: leader for id, leader in inside.items() if leader in leaders}
        about = self._latest(reach, list(inside), objects)
        facts = self._made(reach, inside, about, None, quick=True)
        held = newest(holding(facts, moment, self._one_at_a_time))
        return [
            KnownFacts(tuple(one for one in held if id in (one.subject_id, one.object_id)), id)
            for id in leaders
        ]

    def ids_of(self, reach: Reach, name: str, known_at: datetime | None) -> frozenset[str]:
        """The entities that the name means, if any."""
        return frozenset(self._identity.resolve(reach, name, known_at).ids)

    def of_claim(self, claim: Claim, known_at: datetime | None) -> KnownFacts:
        """The facts about a claim's subject in which the claim may have a part."""
        reach = Reach(tenant=self._tenant, user_id=claim.user_id)
        leader, *others = self.alike(claim)
        inside = dict.fromkeys((leader, *others), leader)
        return KnownFacts(self._facts(reach, inside, known_at, claim.predicate, False), leader)

    def alike(self, claim: Claim) -> tuple[str, ...]:
        """The entities that are the claim's subject, the one that stands for them first."""
        leaders, _ = self._identity.same(claim.user_id, [claim.subject])
        leader = leaders.get(claim.subject, claim.subject)
        return leader, *(id for id, over in leaders.items() if over == leader and id != leader)

    def everything(
        self, reach: Reach, known_at: datetime | None, predicate: str | None = None
    ) -> list[Fact]:
        """All facts of a scope, or those of a predicate and its opposite, as they were said."""
        family = None if predicate is None else sorted(self._family(predicate))
        claims = self._store.knowledge.claims(reach, predicate=family, limit=ALL)
        entities = self._store.knowledge.entities(wide(reach), limit=ALL)
        merges = self._store.knowledge.claims(wide(reach), predicate=SAME_AS, limit=ALL)
        leaders = groups(entities, merges, known_at)
        names = {one.id: one.name for one in entities}
        return self._believed(claims, leaders, names, known_at)

    def entity(self, user_id: str | None, id: str) -> Entity | None:
        """A user's entity, if it is there."""
        found = self._store.knowledge.entities(Reach(tenant=self._tenant, user_id=user_id), [id])
        return found[0] if found else None

    def alike_claims(self, fact: Fact) -> list[Claim]:
        """Every claim that says what a fact says, at any time, and every denial of it."""
        claims = self.claims(fact.claims)
        if not claims:
            return []
        reach = Reach(tenant=self._tenant, user_id=claims[0].user_id)
        subjects = self.alike(claims[0])
        about = self._store.knowledge.claims(
            reach, subjects=subjects, predicate=fact.predicate, limit=ALL
        )
        said = {(one.object, one.value) for one in claims}
        return [one for one in about if (one.object, one.value) in said]

    def denied_until(self, claim: Claim) -> datetime | None:
        """When the claim would be taken back last, as far as denials are there already."""
        reach = Reach(tenant=self._tenant, user_id=claim.user_id)
        said = self._store.knowledge.claims(
            reach, subjects=self.alike(claim), predicate=claim.predicate, limit=ALL
        )
        return max((one.recorded_at for one in said if one.denies), default=None)

    def _facts(
        self,
        reach: Reach,
        inside: Mapping[str, str],
        known_at: datetime | None,
        predicate: str | None,
        objects: bool,
    ) -> tuple[Fact, ...]:
        """The facts of those inside, each mapped to who stands for it."""
        family = None if predicate is None else self._family(predicate)
        read = self._about if objects else self._told
        return self._made(reach, inside, read(reach, list(inside), family), known_at)

    def _made(
        self,
        reach: Reach,
        inside: Mapping[str, str],
        about: Sequence[Claim],
        known_at: datetime | None,
        *,
        quick: bool = False,
    ) -> tuple[Fact, ...]:
        """The facts that claims about those inside add up to, with whatever else decides.

        `quick` leaves out who the objects may be the same as, and their names in the store.
        """
        own = self._from(inside, about)
        theirs = [one for one in about if one.subject not in inside and not self._turns(one)]
        objects = [] if quick else self._doubtful(own)
        others = self._others(reach, own, theirs, objects, inside, known_at)
        claims = [*own, *others.claims]
        same = {**others.same, **inside}
        names = {**others.names, **self._names(reach, claims, same, quick)}
        facts = self._believed(claims, same, names, known_at)
        return tuple(self._of(facts, set(inside.values())))

    def _latest(self, reach: Reach, ids: Sequence[str], objects: bool) -> list[Claim]:
        """All claims of these if there are not many, else the latest."""
        read = partial(self._store.knowledge.claims, reach, limit=MOST, newest_first=True)
        found = read(about=ids) if objects else read(subjects=ids)
        if len(found) == MOST:
            own = [one for one in found if one.subject in ids]
            found = own if len(own) > MOST // 2 else read(subjects=ids)
            found += read(subjects=ids, predicate=sorted(_SINGLE | self._one_at_a_time))
        others = {one.subject for one in found if not self._turns(one)} - set(ids)
        if len(others) > MOST_OTHERS:
            found = [one for one in found if one.subject not in others or self._turns(one)]
        return list({one.id: one for one in found}.values())

    def _about(self, reach: Reach, ids: Sequence[str], family: Set[str] | None) -> list[Claim]:
        """Claims with these entities as subject or object."""
        predicate = None if family is None else sorted(family)
        return self._store.knowledge.claims(reach, about=ids, predicate=predicate, limit=ALL)

    def _told(self, reach: Reach, ids: Sequence[str], family: Set[str] | None) -> list[Claim]:
        """Claims with these entities as subject, or as object where it can be told from there."""
        predicate = None if family is None else sorted(family)
        told = self._store.knowledge.claims(reach, subjects=ids, predicate=predicate, limit=ALL)
        mirrored = _MIRRORED if family is None else family & _MIRRORED
        turned = self._about(reach, ids, mirrored) if mirrored else []
        return list({one.id: one for one in (*told, *turned)}.values())

    def _from(self, inside: Mapping[str, str], claims: Iterable[Claim]) -> list[Claim]:
        """The claims as they are told from inside, read through the inverse where needed."""
        told = [one for one in claims if one.subject in inside]
        ends = (one for one in claims if one.object in inside)
        across = [one for one in ends if inside.get(one.subject) != inside[one.object or ""]]
        turned = [self._turned(one) for one in across]
        return told + [one for one in turned if one is not None]

    def _others(
        self,
        reach: Reach,
        own: Sequence[Claim],
        theirs: Sequence[Claim],
        objects: Sequence[Claim],
        inside: Mapping[str, str],
        known_at: datetime | None,
    ) -> _Others:
        """What else decides: the slots of those who say so, and of those it binds as well.

        `objects` are claims of whose objects it matters who else they are.
        """
        binding = [one for one in own if one.object and self._binds(one.predicate)]
        asked = {(one.user_id, one.subject, one.predicate) for one in theirs}
        asked |= {(one.user_id, one.object or "", one.predicate) for one in binding}
        wanted: dict[str | None, set[str]] = defaultdict(set)
        for user, id, _ in asked:
            wanted[user].add(id)
        for one in objects:
            wanted[one.user_id].add(one.object or "")
        same: dict[str, str] = {}
        names: dict[str, str] = {}
        for user, ids in wanted.items():
            leaders, named = self._identity.same(
                user, sorted(ids - inside.keys()), known_at, min_trust=reach.min_trust
            )
            same, names = same | leaders, names | named
        slots = {(same.get(id, id), predicate) for _, id, predicate in asked if id not in inside}
        return _Others(self._slots(reach, slots, same), same, names)

    def _slots(
        self, reach: Reach, slots: Set[tuple[str, str]], same: Mapping[str, str]
    ) -> list[Claim]:
        """All claims of these slots, of whoever is the same as their subjects."""
        if not slots:
            return []
        whose = {leader for leader, _ in slots}
        members = sorted(id for id, leader in same.items() if leader in whose)
        names = {name for _, predicate in slots for name in self._family(predicate)}
        found = self._told(reach, members, names)
        told = self._from({id: same[id] for id in members}, found)
        return [
            one
            for one in told
            if any((same[one.subject], name) in slots for name in self._family(one.predicate))
        ]

    def _doubtful(self, own: Iterable[Claim]) -> list[Claim]:
        """Claims whose object may be known by another name; of very many, those it decides."""
        named = [one for one in own if one.object]
        if len({one.object for one in named}) <= MANY:
            return named
        slots: dict[tuple[str | None, str, str], list[Claim]] = defaultdict(list)
        for one in named:
            if self.predicate(one.predicate).holds is not Holds.MANY:
                slots[one.user_id, one.subject, one.predicate].append(one)
        several = (said for said in slots.values() if len({one.object for one in said}) > 1)
        return [one for said in several for one in said]

    def _of(self, facts: Sequence[Fact], ids: Set[str]) -> list[Fact]:
        """The facts of those asked for; what binds both sides ends with the sooner end."""
        sides = {
            (one.object_id, claim): one
            for one in facts
            if one.subject_id != one.object_id
            and one.standing in _BELIEVED
            and self._binds(one.predicate)
            for claim in one.claims
        }
        own = [one for one in facts if one.subject_id in ids]
        ended = [self._ended(one, sides.get((one.subject_id, one.id))) for one in own]
        of_others = [one for one in facts if one.object_id in ids and one.subject_id not in ids]
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
        said = [one for one in claims if one.predicate != SAME_AS]
        if known_at is not None:
            said = as_they_rested(self._store.archive, self._tenant, said, known_at)
        return believe(
            said,
            names=names,
            same=same,
            known_at=known_at,
            one_at_a_time=self._one_at_a_time,
            now=known_at or self._clock.now(),
        )

    def _names(
        self, reach: Reach, claims: Iterable[Claim], same: Mapping[str, str], quick: bool
    ) -> dict[str, str]:
        """Names of all whom claims are about, and of those who stand for them.

        If `quick`, without objects that the claims name.
        """
        wanted = {one.subject for one in claims} | set(same.values())
        wanted |= {
            one.object for one in claims if one.object and not (quick and one.value != one.object)
        }
        found = self._store.knowledge.entities(wide(reach), sorted(wanted), limit=ALL)
        return {one.id: one.name for one in found}


@dataclass(frozen=True, slots=True)
class _Others:
    """Claims of others that decide about facts, and who stands for whom among them."""

    claims: list[Claim]
    same: Mapping[str, str]
    names: Mapping[str, str]
