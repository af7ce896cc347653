"""Ways through the graph: what lies near an entity, and how two are joined."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING

from remanence.knowledge.graph.view import Edge, GraphView, ends
from remanence.model.graph import Relation, Route, Subgraph

if TYPE_CHECKING:
    from rustworkx import PyDiGraph


# Steps a search for paths may take: where everything is joined to everything it would never end.
MOST_STEPS = 200_000


@dataclass(frozen=True, slots=True)
class Ground:
    """The part of a view that is walked on: some relations only, weak edges or not."""

    view: GraphView
    relations: Collection[str] | None = None
    together: bool = False
    _near: dict[str, list[tuple[str, Edge]]] = field(default_factory=dict)

    def near(self, id: str) -> list[tuple[str, Edge]]:
        """Neighbours with the edge to each, strong edges and those better known first."""
        if id not in self._near:
            self._near[id] = self._sorted(id)
        return self._near[id]

    def edges(self, ids: Collection[str]) -> list[Edge]:
        """The edges among these entities that may be walked, each once."""
        graph, places = self._graph, self.view.places
        out = (edge for id in ids for _, _, edge in graph.out_edges(places[id]))
        return [edge for edge in out if self._open(edge) and all(end in ids for end in ends(edge))]

    @property
    def _graph(self) -> PyDiGraph[str, Edge]:
        return self.view.woven if self.together else self.view.graph

    def _open(self, edge: Edge) -> bool:
        if not isinstance(edge, Relation):
            return True
        return self.relations is None or edge.relation in self.relations

    def _sorted(self, id: str) -> list[tuple[str, Edge]]:
        graph, place = self._graph, self.view.places[id]
        touching = graph.incident_edge_index_map(place, all_edges=True).values()
        steps: dict[str, Edge] = {}
        for _, _, edge in sorted(touching, key=lambda one: _strength(one[2])):
            if self._open(edge):
                steps.setdefault(_other(edge, id), edge)
        return sorted(
            ((other, edge) for other, edge in steps.items() if other != id),
            key=lambda step: (not isinstance(step[1], Relation), self.view.weight(step[0])),
        )


def neighbourhood(ground: Ground, start: str, depth: int, limit: int) -> Subgraph:
    """At most `limit` entities within `depth` steps, nearest and best known first, and `start`."""
    found, ring = {start: None}, [start]
    for _ in range(depth):
        ring = list(dict.fromkeys(other for id in ring for other, _ in ground.near(id)))
        ring = [id for id in ring if id not in found]
        found |= dict.fromkeys(ring[: limit + 1 - len(found)])
        if len(found) > limit:
            break
    return ground.view.part(found, ground.edges(found))


def paths(ground: Ground, a: str, b: str, max_length: int, limit: int) -> list[Route]:
    """At most `limit` ways from `a` to `b` that pass nothing twice, the shortest first."""
    left = _distances(ground, b, max_length)
    walk = _Walk(ground, b, left)
    lengths = range(left.get(a, max_length + 1), max_length + 1)
    found = chain.from_iterable(walk.ways([a], length) for length in lengths)
    return [_path(ground, way) for way in islice(found, limit)]


class _Walk:
    """A search in depth that turns back where the goal is too far to be reached."""

    def __init__(self, ground: Ground, goal: str, left: dict[str, int]) -> None:
        self._ground = ground
        self._goal = goal
        self._left = left
        self._steps = 0

    def ways(self, so_far: list[str], length: int) -> Iterator[list[str]]:
        """Ways of exactly that many more steps."""
        if length == 0:
            if so_far[-1] == self._goal:
                yield so_far
            return
        for other, _ in self._ground.near(so_far[-1]):
            self._steps += 1
            if self._steps > MOST_STEPS:
                return
            near_enough = self._left.get(other, length) <= length - 1
            if near_enough and other not in so_far and (other != self._goal or length == 1):
                yield from self.ways([*so_far, other], length - 1)


def _distances(ground: Ground, goal: str, most: int) -> dict[str, int]:
    found, ring = {goal: 0}, [goal]
    for far in range(1, most + 1):
        near = dict.fromkeys(other for id in ring for other, _ in ground.near(id))
        ring = [id for id in near if id not in found]
        found |= dict.fromkeys(ring, far)
    return found


def _path(ground: Ground, ids: list[str]) -> Route:
    steps = pairwise(ids)
    return Route(
        names=tuple(ground.view.name(id) for id in ids),
        edges=tuple(dict(ground.near(a))[b] for a, b in steps),
    )


def _other(edge: Edge, id: str) -> str:
    a, b = ends(edge)
    return b if a == id else a


def _strength(edge: Edge) -> tuple[bool, float, str]:
    if isinstance(edge, Relation):
        return False, -edge.confidence, edge.id
    return True, -edge.memories, edge.b_id
