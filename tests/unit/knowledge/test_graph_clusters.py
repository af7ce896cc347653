"""Louvain's method on graphs whose communities are plain to see."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from remanence.knowledge.graph.communities import Edge, clusters


def clique(nodes: range) -> list[Edge]:
    return [(a, b, 1.0) for a, b in combinations(nodes, 2)]


def modularity(edges: list[Edge], groups: list[list[int]]) -> float:
    total = 2 * sum(weight for *_, weight in edges)
    home = {node: number for number, group in enumerate(groups) for node in group}
    inside = sum(2 * weight for a, b, weight in edges if home[a] == home[b])
    load = [0.0] * len(groups)
    for a, b, weight in edges:
        load[home[a]] += weight
        load[home[b]] += weight
    return inside / total - sum((one / total) ** 2 for one in load)


def test_cliques_joined_by_one_edge_come_apart() -> None:
    edges = [*clique(range(5)), *clique(range(5, 9)), *clique(range(9, 12)), (0, 5, 1), (5, 9, 1)]
    assert clusters(12, edges) == [[0, 1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11]]


def test_a_ring_of_cliques_is_found_through_several_levels() -> None:
    edges = [edge for at in range(0, 50, 5) for edge in clique(range(at, at + 5))]
    edges += [(at, (at + 6) % 50, 1.0) for at in range(0, 50, 5)]
    assert clusters(50, edges) == [list(range(at, at + 5)) for at in range(0, 50, 5)]


def test_weights_count() -> None:
    edges = [(0, 1, 9.0), (1, 2, 0.1), (2, 3, 9.0), (3, 0, 0.1)]
    assert clusters(4, edges) == [[0, 1], [2, 3]]


def test_nothing_and_loners() -> None:
    assert clusters(0, []) == []
    assert clusters(3, []) == [[0], [1], [2]]
    assert clusters(3, [(0, 1, 0.0), (1, 2, 0.0)]) == [[0], [1], [2]]
    assert clusters(3, [(1, 1, 2.0), (0, 2, 1.0)]) == [[0, 2], [1]]


@given(
    st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14), st.floats(0.01, 5.0)), max_size=60)
)
def test_every_node_is_in_one_cluster_and_it_is_no_worse_than_loners(edges: list[Edge]) -> None:
    found = clusters(15, edges)
    assert sorted(node for group in found for node in group) == list(range(15))
    assert found == clusters(15, edges)
    if edges:
        alone = modularity(edges, [[node] for node in range(15)])
        assert modularity(edges, found) >= alone - 1e-9
