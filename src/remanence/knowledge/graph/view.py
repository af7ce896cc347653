"""The graph in memory as it was true at one moment; views are kept while the feed stands still."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from remanence.knowledge.claims import as_they_rested
from remanence.knowledge.graph.known import (
    KnownGraph,
    SpokenOf,
    Talked,
    is_relation,
    known_of,
    moment,
    spoken_in,
)
from remanence.knowledge.identity import Identity, wide
from remanence.model.clock import Clock
from remanence.model.graph import (
    CoOccurrence,
    Node,
    Observation,
    Relation,
    Subgraph,
    TimelineEntry,
    TimelineTurn,
)
from remanence.model.knowledge import Claim, Entity, Fact, Standing
from remanence.model.ports.store import Store
from remanence.model.predicates import NOTE, SAME_AS
from remanence.model.query import ALL
from remanence.model.scope import Reach
from remanence.recall.conditions import microseconds

if TYPE_CHECKING:
    from rustworkx import PyDiGraph

Edge: TypeAlias = Relation | CoOccurrence
# With so many neighbours the whole graph is read as fast.
MANY = 300
# Each holds all that is known in a reach, so few are kept.
MOST_REACHES = 8
MOST_VIEWS = 4
Mark: TypeAlias = tuple[tuple[int, int], ...]
Key: TypeAlias = tuple[Reach, datetime | None]


@dataclass(frozen=True)
class GraphView:
    """Nodes and edges as they held at the moment `at`."""

    known: KnownGraph
    spoken: SpokenOf
    at: datetime

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """Every relation that holds, each of its ends and kind once, the surest."""
        best: dict[tuple[str, str, str], Relation] = {}
        for fact in self._held:
            if is_relation(fact):
                edge = relation_of(fact)
                key = (edge.source_id, edge.relation, edge.target_id)
                if key not in best or best[key].confidence < edge.confidence:
                    best[key] = edge
        return tuple(best.values())

    @cached_property
    def together(self) -> tuple[CoOccurrence, ...]:
        """Every pair of entities that memories speak of at once."""
        return tuple(
            CoOccurrence(a=self.name(a), a_id=a, b=self.name(b), b_id=b, memories=count)
            for (a, b), count in sorted(self.spoken.pairs.items())
        )

    @cached_property
    def graph(self) -> PyDiGraph[str, Edge]:
        """Leaders' ids as nodes, relations as edges."""
        from rustworkx import PyDiGraph

        graph: PyDiGraph[str, Edge] = PyDiGraph()
        graph.add_nodes_from(list(self.places))
        graph.add_edges_from(
            [(self.places[e.source_id], self.places[e.target_id], e) for e in self.relations]
        )
        return graph

    @cached_property
    def woven(self) -> PyDiGraph[str, Edge]:
        """The graph with the weak edges besides; they have no direction."""
        graph = self.graph.copy()
        graph.add_edges_from([(self.places[e.a_id], self.places[e.b_id], e) for e in self.together])
        return graph

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each leader in the graph, by name."""
        ids = sorted(self.known.members, key=lambda one: (self.name(one), one))
        return {id: number for number, id in enumerate(ids)}

    @cached_property
    def _held(self) -> list[Fact]:
        return self.known.held(self.at)

    @cached_property
    def _facts(self) -> dict[str, list[Fact]]:
        """What holds of each leader, edges under both their ends."""
        found: dict[str, list[Fact]] = {}
        for fact in self._held:
            for id in dict.fromkeys((fact.subject_id, fact.object_id)):
                if id is not None:
                    found.setdefault(id, []).append(fact)
        return found

    @cached_property
    def _relations(self) -> dict[str, list[Relation]]:
        found: dict[str, list[Relation]] = {}
        for edge in self.relations:
            for id in dict.fromkeys((edge.source_id, edge.target_id)):
                found.setdefault(id, []).append(edge)
        return found

    def name(self, id: str) -> str:
        """The name a leader goes by."""
        return self.known.members[id][0].name

    def texts_of(self, id: str) -> Iterator[str]:
        """What an entity can be found by: its names, its type, what is noted of it."""
        yield from (one.name for one in self.known.members[id])
        yield self.known.type_of(id)
        yield from (one.object for one in self.said_of(id) if one.predicate == NOTE)

    def said_of(self, id: str) -> list[Fact]:
        """The facts that hold of an entity as their subject."""
        return [one for one in self._facts.get(id, ()) if one.subject_id == id]

    def relations_of(self, id: str) -> list[Relation]:
        """The relations that go out from an entity or come in."""
        return self._relations.get(id, [])

    def weight(self, id: str) -> tuple[int, int, str]:
        """How much is known of an entity, for sorting: the most first."""
        spoken = self.spoken.talk.get(id, Talked()).memories
        return -spoken - len(self._facts.get(id, ())), -spoken, self.name(id)

    def counts(self, id: str) -> bool:
        """Whether it was given, or something speaks of it that takes part in recall."""
        given = any(one.given for one in self.known.members[id])
        return given or id in self.spoken.talk or id in self._said

    @cached_property
    def _said(self) -> frozenset[str | None]:
        """Of whom a fact tells, whenever it held."""
        return frozenset(id for one in self.known.facts for id in (one.subject_id, one.object_id))

    def node(self, id: str) -> Node:
        """An entity with all that holds of it."""
        first, *others = self.known.members[id]
        facts = self.said_of(id)
        talk = self.spoken.talk.get(id)
        return Node(
            id=id,
            name=first.name,
            type=self.known.type_of(id),
            created_at=min(one.created_at for one in (first, *others)),
            aliases=tuple(dict.fromkeys(one.name for one in others if one.name != first.name)),
            observations=tuple(_observation(one) for one in facts if one.predicate == NOTE),
            relations=tuple(self.relations_of(id)),
            facts=tuple(o for o in facts if not is_relation(o) and o.predicate != NOTE),
            mentions=talk.memories if talk else 0,
            first_mention=moment(talk.first) if talk else None,
            last_mention=moment(talk.last) if talk else None,
            given=any(one.given for one in (first, *others)),
            user_id=first.user_id,
        )

    def part(self, ids: Iterable[str], edges: Sequence[Edge]) -> Subgraph:
        """These nodes with these edges."""
        return Subgraph(
            nodes=tuple(self.node(id) for id in ids),
            edges=tuple(e for e in edges if isinstance(e, Relation)),
            together=tuple(e for e in edges if isinstance(e, CoOccurrence)),
        )


def ends(edge: Edge) -> tuple[str, str]:
    """The ids of the two entities that an edge joins."""
    if isinstance(edge, CoOccurrence):
        return edge.a_id, edge.b_id
    return edge.source_id, edge.target_id


def relation_of(fact: Fact) -> Relation:
    """A fact about two entities as an edge."""
    return Relation(
        id=fact.id,
        source=fact.subject,
        source_id=fact.subject_id,
        relation=fact.predicate,
        target=fact.object,
        target_id=fact.object_id or "",
        confidence=fact.confidence,
        trust=fact.trust,
        standing=fact.standing,
        recorded_at=fact.recorded_at,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        when=fact.when,
        sources=fact.sources,
    )


def _observation(fact: Fact) -> Observation:
    source = fact.sources[0] if fact.sources else None
    return Observation(text=fact.object, recorded_at=fact.recorded_at, source=source)


def timeline_of(
    facts: Iterable[Fact], id: str, until: datetime | None = None
) -> list[TimelineEntry]:
    """When what is believed of an entity began and ended; what has no date, when it was said.

    With `until`, nothing after that moment.
    """
    told = [one for one in facts if id in (one.subject_id, one.object_id)]
    moments = (moment for one in told for moment in _moments(one))
    return sorted(
        (one for one in moments if until is None or one.at <= until),
        key=lambda one: (one.at, one.turn is TimelineTurn.ENDED, one.fact.recorded_at, one.fact.id),
    )


def _moments(fact: Fact) -> Iterator[TimelineEntry]:
    if fact.standing is Standing.DOUBTED:
        return
    if fact.valid_from is not None:
        turn = TimelineTurn.NOTED if fact.began is None else TimelineTurn.BEGAN
        yield TimelineEntry(at=fact.valid_from, turn=turn, fact=fact)
    elif fact.valid_to is None:
        yield TimelineEntry(at=fact.recorded_at, turn=TimelineTurn.NOTED, fact=fact)
    if fact.valid_to is not None:
        yield TimelineEntry(at=fact.valid_to, turn=TimelineTurn.ENDED, fact=fact)


def around(store: Store, reach: Reach, id: str) -> tuple[list[Entity], list[Claim]] | None:
    """Claims about the entity, its neighbours and all they may be one with; whom they speak of.

    A neighbour's claims are needed, as one of them may end or dispute what joins the two. None if
    there are too many. Of shared knowledge beside a user's own, only `reach`'s user's is read.
    """
    own = _alike(store, reach, {id})
    near = _ends(store.knowledge.claims(reach, about=sorted(own), limit=ALL))
    if len(near) > MANY:
        return None
    near |= own | _alike(store, reach, near)
    claims = store.knowledge.claims(reach, about=sorted(near), limit=ALL)
    named = sorted({id, *own, *_ends(claims)})
    return store.knowledge.entities(reach, named, limit=ALL), claims


def spoken_around(store: Store, reach: Reach, leader: str, members: Iterable[str]) -> SpokenOf:
    """The talk of one entity under all its names."""
    talk = Talked()
    heard = {
        one.memory: one.happened_at
        for one in store.knowledge.mentions(reach, list(members), limit=ALL)
    }
    for happened_at in heard.values():
        talk.hear(microseconds(happened_at))
    return SpokenOf({leader: talk} if heard else {})


def _alike(store: Store, reach: Reach, ids: set[str]) -> set[str]:
    """These entities, all that are merged with them or have their name, and who that depends on."""
    leaders, _ = Identity(store.knowledge, reach.tenant).same(
        reach.user_id, sorted(ids), min_trust=reach.min_trust
    )
    return ids | leaders.keys()


def _ends(claims: Iterable[Claim]) -> set[str]:
    return {id for one in claims for id in (one.subject, one.object) if id is not None}


@dataclass(frozen=True, slots=True)
class _Read:
    """What is known in a reach, as it stays until the feed moves or a fact begins or ends."""

    mark: Mark
    known: KnownGraph
    spoken: SpokenOf
    until: datetime

    def is_fresh(self, mark: Mark, now: datetime) -> bool:
        return self.mark == mark and self.known.now <= now < self.until


@dataclass(slots=True)
class _Held:
    """What was read of a reach, and the views made of it, the one last used last."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    read: _Read | None = None
    views: OrderedDict[datetime | None, GraphView] = field(default_factory=OrderedDict)


class GraphViews:
    """Gives the graph of a reach as the store has it right now. Thread-safe.

    No reader waits for the building of another reach's view.
    """

    def __init__(self, store: Store, clock: Clock, one_at_a_time: frozenset[str]) -> None:
        self._store = store
        self._clock = clock
        self._one_at_a_time = one_at_a_time
        self._lock = threading.Lock()
        self._held: OrderedDict[Key, _Held] = OrderedDict()

    def view(
        self, reach: Reach, *, as_of: datetime | None = None, known_at: datetime | None = None
    ) -> GraphView:
        """The graph as it was true at `as_of`, by what was known at `known_at`.

        What is left out is now; with `known_at` alone it is what was held true at that time.
        """
        held, now, mark = self._of((reach, known_at)), self._clock.now(), self._mark(reach)
        with held.lock:
            if held.read is None or not held.read.is_fresh(mark, now):
                held.views.clear()
                held.read = self._read(mark, reach, known_at, now)
            return _view(held.views, held.read, as_of or known_at)

    def around(self, reach: Reach, id: str, *, as_of: datetime | None = None) -> GraphView:
        """What `view` gives for this entity's node, with nothing but its surroundings in it.

        It costs as much as is known of the entity and its neighbours, however large the graph.
        """
        now, held = self._clock.now(), self._held.get((reach, None))
        if held is not None and held.read and held.read.is_fresh(self._mark(reach), now):
            return self.view(reach, as_of=as_of)
        part = around(self._store, wide(reach), id)
        if part is None:
            return self.view(reach, as_of=as_of)
        known = self._known(reach, *part, now=now)
        leader = known.standing_for.get(id)
        members = [one.id for one in known.members[leader]] if leader else []
        spoken = spoken_around(self._store, reach, leader or "", members)
        return GraphView(known, spoken, as_of or now)

    def _mark(self, reach: Reach) -> Mark:
        """Where the feed stands; looked at before reading, so that no write is missed."""
        return tuple(
            (one, self._store.recall.position(one)) for one in self._store.recall.partitions(reach)
        )

    def _of(self, key: Key) -> _Held:
        with self._lock:
            held = self._held.setdefault(key, _Held())
            self._held.move_to_end(key)
            while len(self._held) > MOST_REACHES:
                self._held.popitem(last=False)
            return held

    def _read(self, mark: Mark, reach: Reach, known_at: datetime | None, now: datetime) -> _Read:
        # Claims first: what they speak of is then among the entities.
        claims = self._store.knowledge.claims(wide(reach), limit=ALL)
        if known_at is not None:
            claims = as_they_rested(self._store.archive, reach.tenant, claims, known_at)
        entities = self._store.knowledge.entities(wide(reach), limit=ALL)
        known = self._known(reach, entities, claims, now=now, known_at=known_at)
        spoken = spoken_in(self._store, reach, known.standing_for, known_at)
        return _Read(mark, known, spoken, known.until())

    def _known(
        self,
        reach: Reach,
        entities: Sequence[Entity],
        claims: Sequence[Claim],
        *,
        now: datetime,
        known_at: datetime | None = None,
    ) -> KnownGraph:
        spoken_of = None
        if reach != wide(reach):
            claims = [one for one in claims if _within(one, reach)]
            ids = [one.id for one in entities]
            spoken_of = {one.id for one in self._store.knowledge.entities(reach, ids, limit=ALL)}
        return known_of(
            entities,
            claims,
            now=now,
            known_at=known_at,
            one_at_a_time=self._one_at_a_time,
            spoken_of=spoken_of,
        )


def _view(
    views: OrderedDict[datetime | None, GraphView], read: _Read, at: datetime | None
) -> GraphView:
    if at not in views:
        views[at] = GraphView(read.known, read.spoken, at or read.known.now)
    views.move_to_end(at)
    while len(views) > MOST_VIEWS:
        views.popitem(last=False)
    return views[at]


def _within(claim: Claim, reach: Reach) -> bool:
    if claim.predicate == SAME_AS:
        return True
    in_agent = reach.agent_id in (None, claim.agent_id)
    return in_agent and reach.session_id in (None, claim.session_id)
