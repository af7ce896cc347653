"""The reference memory server's nine tools, in its shapes, over this memory's graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from remanence.errors import NotFound
from remanence.knowledge.graph.asking import name_of, relation_name, texts_of
from remanence.model.graph import Node
from remanence.model.graph import Relation as Edge
from remanence.model.knowledge import folded_name
from remanence.model.query import MAX_LIMIT
from remanence.operations.rendering import plain
from remanence.server.mcp.graph_shapes import (
    WIRE,
    AddObservations,
    Created,
    CreateEntities,
    DeleteEntities,
    DeleteObservations,
    Done,
    Entity,
    Everything,
    KnowledgeGraph,
    Observations,
    Observed,
    OpenNodes,
    Related,
    Relation,
    SearchNodes,
    SomeRelations,
)
from remanence.server.mcp.shapes import respelled
from remanence.server.mcp.tool import Desk, Tool
from remanence.text.fences import low_trust, unmarked


class _Graph:
    """The visitor's graph: what the nine tools need of it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        scope = desk.visitor.scope
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


def _create_entities(desk: Desk, asked: CreateEntities) -> Created:
    for each in asked.entities:
        name_of("name", each.name)
        texts_of("observations", each.observations)
    graph, new = _Graph(desk), []
    for each in asked.entities:
        there = graph.there(each.name)
        if there is None or not there.given:
            noted = each.observations
            graph.do("add", name=each.name, type=each.entity_type, observations=noted)
            new.append(each)
    return Created(entities=tuple(new))


def _create_relations(desk: Desk, asked: SomeRelations) -> Related:
    graph, new = _Graph(desk), []
    for each in _checked(asked.relations):
        there = _edge(graph, each)
        if there is None or there.trust < desk.visitor.caller.trust:
            graph.do("relate", **_ends(each))
            new.append(each)
    return Related(relations=tuple(new))


def _add_observations(desk: Desk, asked: AddObservations) -> Observations:
    graph = _Graph(desk)
    nodes = [_needed(graph, each.entity_name) for each in asked.observations]
    told = []
    for node, each in zip(nodes, asked.observations, strict=True):
        known = {one.text for one in node.observations}
        new = [text for text in texts_of("contents", each.contents) if text not in known]
        if new:
            graph.do("observe", name=each.entity_name, observations=tuple(new))
        told.append(Observed(entity_name=each.entity_name, added_observations=tuple(new)))
    return Observations(results=tuple(told))


def _delete_entities(desk: Desk, asked: DeleteEntities) -> Done:
    graph = _Graph(desk)
    for name in dict.fromkeys(asked.entity_names):
        if graph.there(name) is not None:
            graph.do("erase", name=name)
    return Done(success=True, message="Entities deleted successfully")


def _delete_observations(desk: Desk, asked: DeleteObservations) -> Done:
    graph = _Graph(desk)
    for each in asked.deletions:
        if graph.there(each.entity_name) is not None and each.observations:
            graph.do("unobserve", name=each.entity_name, observations=each.observations)
    return Done(success=True, message="Observations deleted successfully")


def _delete_relations(desk: Desk, asked: SomeRelations) -> Done:
    graph = _Graph(desk)
    for each in _checked(asked.relations):
        if _edge(graph, each) is not None:
            graph.do("unrelate", **_ends(each))
    return Done(success=True, message="Relations deleted successfully")


def _read_graph(desk: Desk, asked: Everything) -> KnowledgeGraph:
    return _part(_Graph(desk).all())


def _search_nodes(desk: Desk, asked: SearchNodes) -> KnowledgeGraph:
    return _part(_Graph(desk).all(asked.query.strip()))


def _open_nodes(desk: Desk, asked: OpenNodes) -> KnowledgeGraph:
    graph = _Graph(desk)
    names = dict.fromkeys(asked.names)
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


def _json(answer: Any) -> str:
    """The data itself as text, as that server has it: a bare list where there is one list."""
    data = respelled(plain(answer), WIRE)
    lists = list(data.values())
    return json.dumps(lists[0] if len(lists) == 1 else data, indent=2, ensure_ascii=False)


def _message(answer: Done) -> str:
    return answer.message


def _graph_tool(
    name: str,
    about: str,
    asked: type,
    answer: type,
    run: Callable[[Desk, Any], Any],
    *uses: str,
    words: Callable[[Any], str] = _json,
    repeats: bool = False,
) -> Tool:
    return Tool(
        name=name,
        about=about,
        asked=asked,
        answer=answer,
        run=run,
        words=words,
        uses=tuple(f"graph.{verb}" for verb in uses),
        repeats=repeats,
        names=WIRE,
    )


_deleting = partial(_graph_tool, words=_message, repeats=True)

GRAPH_TOOLS = (
    _graph_tool(
        "create_entities",
        "Add entities to the knowledge graph. Those that were added before are left as they are; "
        "the answer holds the new ones, also those that were only spoken of in memories so far.",
        *(CreateEntities, Created, _create_entities),
        *("get", "add"),
    ),
    _graph_tool(
        "create_relations",
        "Add relations between entities, in the active voice. Those that are there already and "
        "trusted as far are passed over; the answer holds the new ones.",
        *(SomeRelations, Related, _create_relations),
        *("get", "relate"),
    ),
    _graph_tool(
        "add_observations",
        "Note something about entities that are there. The answer says what was new.",
        *(AddObservations, Observations, _add_observations),
        *("get", "observe"),
    ),
    _deleting(
        "delete_entities",
        "Erase entities and all their relations, for good.",
        *(DeleteEntities, Done, _delete_entities),
        *("get", "erase"),
    ),
    _deleting(
        "delete_observations",
        "Take back observations about entities.",
        *(DeleteObservations, Done, _delete_observations),
        *("get", "unobserve"),
    ),
    _deleting(
        "delete_relations",
        "Take back relations between entities.",
        *(SomeRelations, Done, _delete_relations),
        *("get", "unrelate"),
    ),
    _graph_tool(
        "read_graph",
        "Read the whole knowledge graph.",
        *(Everything, KnowledgeGraph, _read_graph),
        "entities",
    ),
    _graph_tool(
        "search_nodes",
        "Find entities with a text in their name, type or observations, and their relations.",
        *(SearchNodes, KnowledgeGraph, _search_nodes),
        "entities",
    ),
    _graph_tool(
        "open_nodes",
        "Show the entities of these names, and their relations.",
        *(OpenNodes, KnowledgeGraph, _open_nodes),
        "get",
    ),
)
