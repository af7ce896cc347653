"""The graph in memory: what is known, as it was true at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from remanence.knowledge.graph.known import Known, is_relation
from remanence.knowledge.graph.spoken import Spoken, Talk, moment
from remanence.model.graph import Node, Observation, Relation, Subgraph, Together
from remanence.model.knowledge import Fact
from remanence.model.predicates import NOTE

if TYPE_CHECKING:
    from rustworkx import PyDiGraph

Edge: TypeAlias = Relation | Together


@dataclass(frozen=True)
class View:
    """Nodes and edges as they held at the moment `at`."""

    known: Known
    spoken: Spoken
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
    def together(self) -> tuple[Together, ...]:
        """Every pair of entities that memories speak of at once."""
        return tuple(
            Together(a=self.name(a), a_id=a, b=self.name(b), b_id=b, memories=count)
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
        spoken = self.spoken.talk.get(id, Talk()).memories
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
            together=tuple(e for e in edges if isinstance(e, Together)),
        )


def ends(edge: Edge) -> tuple[str, str]:
    """The ids of the two entities that an edge joins."""
    if isinstance(edge, Together):
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
        sources=fact.sources,
    )


def _observation(fact: Fact) -> Observation:
    source = fact.sources[0] if fact.sources else None
    return Observation(text=fact.object, recorded_at=fact.recorded_at, source=source)
