"""The reference memory server's nine tools, in its shapes, over this memory's graph."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from remanence.api.parameters import LABEL, QUERY, TEXT, parameter
from remanence.api.values import plain
from remanence.api.verb import Says
from remanence.errors import NotFound
from remanence.knowledge.arguments import name_of, relation_name, texts_of
from remanence.language.fences import low_trust, unmarked
from remanence.model.graph import Node
from remanence.model.graph import Relation as Edge
from remanence.model.knowledge import folded_name
from remanence.model.query import MAX_LIMIT
from remanence.server.authorization import Desk
from remanence.server.mcp.tool import respelled, tool

# How that server spells the fields; `from` cannot be the name of one here.
WIRE = {
    "entity_type": "entityType",
    "entity_name": "entityName",
    "entity_names": "entityNames",
    "relation_type": "relationType",
    "added_observations": "addedObservations",
    "source": "from",
    "target": "to",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A node of the graph."""

    name: str = parameter("the entity's name", ..., bounds=TEXT)
    entity_type: str = parameter("what sort of thing it is: person, place, project …", ...)
    observations: tuple[str, ...] = parameter("what is known about it, a sentence each", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """An edge of the graph, in the active voice."""

    source: str = parameter("the name of the entity it starts at", ..., bounds=LABEL)
    target: str = parameter("the name of the entity it points to", ..., bounds=TEXT)
    relation_type: str = parameter("how they are related, such as works_at", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """What to note about an entity."""

    entity_name: str = parameter("the entity's name", ...)
    contents: tuple[str, ...] = parameter("what to note, a sentence each", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletions:
    """What to take back about an entity."""

    entity_name: str = parameter("the entity's name", ...)
    observations: tuple[str, ...] = parameter("the observations, word for word", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entities:
    """The entities that were not there before."""

    entities: tuple[Entity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relations:
    """The relations that were not there before."""

    relations: tuple[Relation, ...]


NewEntities = Annotated[tuple[Entity, ...], Says("the entities to add")]
Edges = Annotated[tuple[Relation, ...], Says("the relations")]
Noted = Annotated[tuple[Additions, ...], Says("what to note about which entity")]
TakenBack = Annotated[tuple[Deletions, ...], Says("what to take back about which entity")]
Named = Annotated[tuple[str, ...], Says("the names of the entities")]
Wanted = Annotated[str, Says("a text to look for in names, types and observations", bounds=QUERY)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What was new about an entity."""

    entity_name: str
    added_observations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What was new."""

    results: tuple[Observed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """That it is done."""

    success: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeGraph:
    """Entities, and the relations that touch them."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]


class _Graph:
    """The visitor's graph: what the nine tools need of it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        scope = desk.scope
        self._place = {name: scope[name] for name in ("user_id", "agent_id") if name in scope}

    def do(self, verb: str, /, **fields: Any) -> Any:
        """Run a verb of the graph in the visitor's place."""
        place = dict(self._place)
        if verb == "erase":
            place.pop("agent_id", None)  # an entity is erased whole, whoever spoke of it
        return self._desk.do(f"graph.{verb}", **fields, **place)

    def there(self, name: str) -> Node | None:
        """The entity of exactly this name or alias; a first name is not enough here."""
        try:
            node: Node = self.do("get", name=name)
        except NotFound:
            return None
        own = {folded_name(each) for each in (node.name, *node.aliases)}
        return node if folded_name(name) in own else None

    def all(self, text: str | None = None) -> list[Node]:
        """The entities, or those with this text in them, oldest first."""
        found: tuple[Node, ...] = self.do("entities", text=text or None, limit=MAX_LIMIT).nodes
        return sorted(found, key=lambda node: node.created_at)


def _json(answer: Any) -> str:
    """The data itself as text, as that server has it: a bare list where there is one list."""
    data = respelled(plain(answer), WIRE)
    lists = list(data.values())
    return json.dumps(lists[0] if len(lists) == 1 else data, indent=2, ensure_ascii=False)


_asking = partial(tool, names=WIRE, words=_json)
_deleting = partial(tool, names=WIRE, words=lambda done: done.message, repeats=True)


@_asking("graph.get", "graph.add")
def create_entities(desk: Desk, entities: NewEntities) -> Entities:
    """Add entities to the knowledge graph. Those that were added before are left as they are; the
    answer holds the new ones, also those that were only spoken of in memories so far."""
    for each in entities:
        name_of("name", each.name)
        texts_of("observations", each.observations)
    graph, new = _Graph(desk), []
    for each in entities:
        there = graph.there(each.name)
        if there is None or not there.given:
            noted = each.observations
            graph.do("add", name=each.name, type=each.entity_type, observations=noted)
            new.append(each)
    return Entities(entities=tuple(new))


@_asking("graph.get", "graph.relate")
def create_relations(desk: Desk, relations: Edges) -> Relations:
    """Add relations between entities, in the active voice. Those that are there already and
    trusted as far are passed over; the answer holds the new ones."""
    graph, new = _Graph(desk), []
    for each in _checked(relations):
        there = _edge(graph, each)
        if there is None or there.trust < desk.caller.trust:
            graph.do("relate", **_ends(each))
            new.append(each)
    return Relations(relations=tuple(new))


@_asking("graph.get", "graph.observe")
def add_observations(desk: Desk, observations: Noted) -> Observations:
    """Note something about entities that are there. The answer says what was new."""
    graph = _Graph(desk)
    nodes = [_needed(graph, each.entity_name) for each in observations]
    told = []
    for node, each in zip(nodes, observations, strict=True):
        known = {one.text for one in node.observations}
        new = [text for text in texts_of("contents", each.contents) if text not in known]
        if new:
            graph.do("observe", name=each.entity_name, observations=tuple(new))
        told.append(Observed(entity_name=each.entity_name, added_observations=tuple(new)))
    return Observations(results=tuple(told))


@_deleting("graph.get", "graph.erase")
def delete_entities(desk: Desk, entity_names: Named) -> Done:
    """Erase entities and all their relations, for good."""
    graph = _Graph(desk)
    for name in dict.fromkeys(entity_names):
        if graph.there(name) is not None:
            graph.do("erase", name=name)
    return Done(success=True, message="Entities deleted successfully")


@_deleting("graph.get", "graph.unobserve")
def delete_observations(desk: Desk, deletions: TakenBack) -> Done:
    """Take back observations about entities."""
    graph = _Graph(desk)
    for each in deletions:
        if graph.there(each.entity_name) is not None and each.observations:
            graph.do("unobserve", name=each.entity_name, observations=each.observations)
    return Done(success=True, message="Observations deleted successfully")


@_deleting("graph.get", "graph.unrelate")
def delete_relations(desk: Desk, relations: Edges) -> Done:
    """Take back relations between entities."""
    graph = _Graph(desk)
    for each in _checked(relations):
        if _edge(graph, each) is not None:
            graph.do("unrelate", **_ends(each))
    return Done(success=True, message="Relations deleted successfully")


@_asking("graph.entities")
def read_graph(desk: Desk) -> KnowledgeGraph:
    """Read the whole knowledge graph."""
    return _part(_Graph(desk).all())


@_asking("graph.entities")
def search_nodes(desk: Desk, query: Wanted) -> KnowledgeGraph:
    """Find entities with a text in their name, type or observations, and their relations."""
    return _part(_Graph(desk).all(query.strip()))


@_asking("graph.get")
def open_nodes(desk: Desk, names: Named) -> KnowledgeGraph:
    """Show the entities of these names, and their relations."""
    graph = _Graph(desk)
    found = {node.id: node for name in names if (node := graph.there(name)) is not None}
    return _part(sorted(found.values(), key=lambda node: node.created_at))


def _checked(relations: Iterable[Relation]) -> list[Relation]:
    """Without the marks of low trust that `_relation` gave them."""
    plainly = [replace(one, relation_type=unmarked(one.relation_type)) for one in relations]
    for each in plainly:
        name_of("from", each.source)
        name_of("to", each.target)
        relation_name(each.relation_type)
    return plainly


def _ends(each: Relation) -> dict[str, str]:
    return {"source": each.source, "relation": each.relation_type, "target": each.target}


def _edge(graph: _Graph, wanted: Relation) -> Edge | None:
    start, end = graph.there(wanted.source), graph.there(wanted.target)
    if start is None or end is None:
        return None
    label = relation_name(wanted.relation_type)
    ends = (start.id, label, end.id)
    return next(
        (e for e in start.relations if (e.source_id, e.relation, e.target_id) == ends), None
    )


def _needed(graph: _Graph, name: str) -> Node:
    node = graph.there(name)
    if node is None:
        raise NotFound(f"Entity with name {name[:200]} not found")
    return node


def _part(nodes: list[Node]) -> KnowledgeGraph:
    """These entities, and the relations with at least one end among them."""
    edges = {edge.id: edge for node in nodes for edge in node.relations}
    ordered = sorted(edges.values(), key=lambda edge: edge.recorded_at)
    return KnowledgeGraph(
        entities=tuple(_entity(node) for node in nodes),
        relations=tuple(_relation(edge) for edge in ordered),
    )


def _entity(node: Node) -> Entity:
    noted = sorted(node.observations, key=lambda one: one.recorded_at)
    texts = tuple(one.text for one in noted)
    return Entity(name=node.name, entity_type=node.type, observations=texts)


def _relation(edge: Edge) -> Relation:
    told = low_trust(edge.trust) + edge.relation
    return Relation(source=edge.source, target=edge.target, relation_type=told)


GRAPH_TOOLS = (
    *(create_entities, create_relations, add_observations),
    *(delete_entities, delete_observations, delete_relations),
    *(read_graph, search_nodes, open_nodes),
)
