"""What is known in a reach, and spoken of: entities under their names, facts, and who with whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations

from remanence.knowledge.belief import believe, holding
from remanence.knowledge.identity import groups, verdicts_of
from remanence.model.filter import Compare
from remanence.model.knowledge import Claim, Entity, EntityType, Fact, Standing, folded_name
from remanence.model.memory import State
from remanence.model.ports.store import Store, Trait
from remanence.model.predicates import NOTE, SAME_AS
from remanence.model.scope import Reach
from remanence.recall.conditions import EPOCH, MICROSECOND
from remanence.recall.past import Past

NEVER = datetime.max.replace(tzinfo=UTC)
# A memory that names more than this is a list; it says little about who belongs with whom.
CROWD = 32
_ACTIVE = Compare("state", "eq", State.ACTIVE, field=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownGraph:
    """Entities and facts, merged entities as one: `standing_for` names each one's leader by id.

    `members` are the entities a leader stands for, itself first; `ids` finds a leader by a folded
    name; `facts` are believed or doubted; `apart` are pairs of entities that somebody said are not
    the same.
    """

    now: datetime
    members: Mapping[str, tuple[Entity, ...]] = field(default_factory=dict)
    standing_for: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    apart: frozenset[tuple[str, str]] = frozenset()
    one_at_a_time: frozenset[str] = frozenset()

    def type_of(self, id: str) -> str:
        """The leader's type; if it is only a thing, the first of its aliases that says more."""
        types = [one.type for one in self.members[id]]
        return next((type for type in types if type != EntityType.THING), types[0])

    def until(self) -> datetime:
        """When the next fact begins or ends."""
        turns = (when for one in self.facts for when in (one.valid_from, one.valid_to))
        return min((when for when in turns if when is not None and when > self.now), default=NEVER)

    def held(self, moment: datetime) -> list[Fact]:
        """The facts that held then."""
        return holding(self.facts, moment, self.one_at_a_time)


def known_of(
    entities: Sequence[Entity],
    claims: Sequence[Claim],
    *,
    now: datetime,
    known_at: datetime | None = None,
    one_at_a_time: frozenset[str] = frozenset(),
    spoken_of: Collection[str] | None = None,
) -> KnownGraph:
    """What these claims add up to, as it was known at that time (None: now).

    Of entities that are not among `spoken_of`, nor merged with one that is, nothing is kept.
    """
    there = _there(entities, claims, known_at)
    told = [one for one in claims if {one.subject, one.object or one.subject} <= there.keys()]
    verdicts = verdicts_of(told, known_at)
    leaders = _joined_by_name(there, groups(there.values(), told, known_at))
    members = _members(there, leaders, spoken_of)
    facts = believe(
        [one for one in told if one.predicate != SAME_AS],
        names={id: group[0].name for id, group in members.items()},
        same=leaders,
        known_at=known_at,
        one_at_a_time=one_at_a_time,
        now=now,
    )
    return KnownGraph(
        now=now,
        members=members,
        standing_for={id: leader for id, leader in leaders.items() if leader in members},
        ids=_ids(members),
        facts=tuple(one for one in facts if _shown(one, members)),
        apart=frozenset(_apart(leaders, verdicts)),
        one_at_a_time=one_at_a_time,
    )


def is_relation(fact: Fact) -> bool:
    """Whether a fact is an edge of the graph."""
    return fact.object_id is not None and fact.predicate not in (NOTE, SAME_AS)


def _there(
    entities: Iterable[Entity], claims: Sequence[Claim], known_at: datetime | None
) -> dict[str, Entity]:
    """Entities known then: made by then, or spoken of by a claim that was."""
    if known_at is None:
        return {one.id: one for one in entities}
    told = [one for one in claims if one.known_at(known_at)]
    spoken = {id for one in told for id in (one.subject, one.object) if id}
    return {one.id: one for one in entities if one.created_at <= known_at or one.id in spoken}


def _joined_by_name(there: Mapping[str, Entity], leaders: Mapping[str, str]) -> dict[str, str]:
    """What a user has and what is shared are one if they are called alike; the user's leads."""
    own = {folded_name(one.name): leaders[one.id] for one in there.values() if one.user_id}
    shared = sorted((folded_name(one.name), one.id) for one in there.values() if not one.user_id)
    led: dict[str, str] = {}
    for name, id in shared:
        if name in own:
            led.setdefault(leaders[id], own[name])
    return {id: led.get(leader, leader) for id, leader in leaders.items()}


def _shown(fact: Fact, members: Collection[str]) -> bool:
    ends = [id for id in (fact.subject_id, fact.object_id) if id is not None]
    return fact.standing is not Standing.RETRACTED and all(id in members for id in ends)


def _members(
    there: Mapping[str, Entity], leaders: Mapping[str, str], spoken_of: Collection[str] | None
) -> dict[str, tuple[Entity, ...]]:
    found: dict[str, list[Entity]] = {}
    for id, entity in there.items():
        found.setdefault(leaders[id], []).append(entity)
    return {
        leader: tuple(sorted(group, key=lambda one: (one.id != leader, one.name)))
        for leader, group in found.items()
        if spoken_of is None or any(one.id in spoken_of for one in group)
    }


def _ids(members: Mapping[str, tuple[Entity, ...]]) -> dict[str, str]:
    """Leaders by folded name; of the same name, a user's own goes before what is shared."""
    ids: dict[str, str] = {}
    named = [(one, leader) for leader, group in members.items() for one in group]
    for one, leader in sorted(named, key=lambda pair: pair[0].user_id is None):
        ids.setdefault(folded_name(one.name), leader)
    return ids


def _apart(
    leaders: Mapping[str, str], verdicts: Mapping[tuple[str, str], bool]
) -> Iterator[tuple[str, str]]:
    """Pairs of leaders of which somebody said that they are two."""
    for (one, other), same in verdicts.items():
        if not same and one in leaders and other in leaders:
            a, b = leaders[one], leaders[other]
            if a != b:
                yield min(a, b), max(a, b)


@dataclass(slots=True)
class Talked:
    """How often, and from when to when, an entity is spoken of; times in microseconds."""

    memories: int = 0
    first: int = 0
    last: int = 0

    def hear(self, happened: int) -> None:
        """Count one more memory."""
        self.first = min(self.first, happened) if self.memories else happened
        self.last = max(self.last, happened) if self.memories else happened
        self.memories += 1


@dataclass(frozen=True, slots=True)
class SpokenOf:
    """All talk of a reach; `pairs` counts the memories that speak of two entities at once."""

    talk: Mapping[str, Talked] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], int] = field(default_factory=dict)


def moment(microseconds: int) -> datetime:
    """A store's time as a datetime."""
    return EPOCH + microseconds * MICROSECOND


def spoken_in(
    store: Store, reach: Reach, standing_for: Mapping[str, str], known_at: datetime | None
) -> SpokenOf:
    """The talk in reach, each entity counted as the one that `standing_for` names for it.

    Only memories that take part in recall count; with `known_at`, those that did so then too.
    """
    talk: dict[str, Talked] = {}
    pairs: Counter[tuple[str, str]] = Counter()
    for partition in store.recall.partitions(reach):
        named = {one.number: one.id for one in store.recall.names(partition)}
        said: dict[int, set[str]] = {}
        for key, number in store.recall.mentioned(partition):
            if entity := standing_for.get(named.get(number, "")):
                said.setdefault(key, set()).add(entity)
        if known_at is not None:
            there = Past(store, known_at).keys(partition, _ACTIVE).tolist()
            said = {key: said[key] for key in said.keys() & set(there)}
        for trait in store.recall.traits(partition):
            if trait.key in said and _within(trait, reach, known_at):
                _hear(said[trait.key], trait.happened, talk, pairs)
    return SpokenOf(talk, pairs)


def _hear(
    names: Iterable[str], happened: int, talk: dict[str, Talked], pairs: Counter[tuple[str, str]]
) -> None:
    ordered = sorted(names)
    for name in ordered:
        talk.setdefault(name, Talked()).hear(happened)
    if len(ordered) <= CROWD:
        pairs.update(combinations(ordered, 2))


def _within(trait: Trait, reach: Reach, known_at: datetime | None) -> bool:
    in_time = known_at is None or moment(trait.created) <= known_at
    return in_time and (
        reach.agent_id in (None, trait.agent)
        and reach.session_id in (None, trait.session)
        and trait.trust >= reach.min_trust
    )
