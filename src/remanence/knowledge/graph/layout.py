"""Where the nodes of a picture stand: each connected part by springs, the parts side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from remanence.model.graph import Subgraph

if TYPE_CHECKING:
    from rustworkx import PyGraph

Place = tuple[float, float]

SEED = 7
STEPS = 300
GAP = 1.0  # between parts, where neighbours in a part lie about 1 apart


def places_of(part: Subgraph) -> dict[str, Place]:
    """A place for each node, the same each time; large parts first, lone nodes last."""
    graph, ids = _graph(part)
    laid = [_laid(graph, nodes) for nodes in _parts(graph)]
    width = max(math.sqrt(sum(_size(one)[0] * _size(one)[1] for one in laid)), 1.0) * 1.3
    return {ids[node]: place for node, place in _packed(laid, width).items()}


def _graph(part: Subgraph) -> tuple[PyGraph[str, None], list[str]]:
    import rustworkx

    ids = [node.id for node in part.nodes]
    numbers = {id: number for number, id in enumerate(ids)}
    graph: PyGraph[str, None] = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(ids)
    strong = [(numbers[one.source_id], numbers[one.target_id], None) for one in part.edges]
    weak = [(numbers[one.a_id], numbers[one.b_id], None) for one in part.together]
    graph.add_edges_from(strong + weak)
    return graph, ids


def _parts(graph: PyGraph[str, None]) -> list[list[int]]:
    import rustworkx

    found = [sorted(nodes) for nodes in rustworkx.connected_components(graph)]
    return sorted(found, key=lambda nodes: (-len(nodes), nodes))


def _laid(graph: PyGraph[str, None], nodes: Sequence[int]) -> dict[int, Place]:
    """A connected part by springs, its corner at the origin."""
    import rustworkx

    inner = graph.subgraph(list(nodes))
    found = rustworkx.spring_layout(inner, seed=SEED, num_iter=STEPS)
    xs, ys = ([found[n][axis] for n in range(len(nodes))] for axis in (0, 1))
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    scale = math.sqrt(len(nodes)) * 1.2 / (max(wide, high) or 1.0)
    return {
        node: (float(xs[n] - min(xs)) * scale, float(ys[n] - min(ys)) * scale)
        for n, node in enumerate(nodes)
    }


def _size(laid: dict[int, Place]) -> Place:
    width = max(x for x, _ in laid.values()) + GAP
    return width, max(y for _, y in laid.values()) + GAP


def _packed(laid: Sequence[dict[int, Place]], width: float) -> dict[int, Place]:
    """The parts in rows, from the top left, none wider than `width` unless one part is."""
    places: dict[int, Place] = {}
    left, top, row = 0.0, 0.0, 0.0
    for one in laid:
        wide, high = _size(one)
        if left > 0 and left + wide > width:
            left, top, row = 0.0, top + row, 0.0
        places |= {node: (left + x, -(top + y)) for node, (x, y) in one.items()}
        left, row = left + wide, max(row, high)
    return places
