"""Louvain's method: nodes that hold together more than chance would have it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

Edge = tuple[int, int, float]
Weights = list[dict[int, float]]

# Levels and rounds end by themselves; these only guard against endless rounding noise.
LEVELS, ROUNDS = 20, 50
LEAST_GAIN = 1e-9


def clusters(count: int, edges: Iterable[Edge]) -> list[list[int]]:
    """Partition nodes 0 … count - 1 by modularity; the same input gives the same answer.

    Largest first, ties by their first node; a node without edges is a cluster of its own.
    """
    members = [[node] for node in range(count)]
    links = _links(count, edges)
    for _ in range(LEVELS):
        homes = _settle(links)
        merged = _renumbered(homes)
        if len(set(merged)) == len(links):
            break
        members = _gathered(members, merged)
        links = _folded(links, merged, len(members))
    return sorted((sorted(group) for group in members), key=lambda group: (-len(group), group[0]))


def _links(count: int, edges: Iterable[Edge]) -> Weights:
    links: Weights = [defaultdict(float) for _ in range(count)]
    for a, b, weight in edges:
        links[a][b] += weight
        links[b][a] += weight  # a loop counts at both of its ends
    return links


def _settle(links: Weights) -> list[int]:
    """Move each node to the neighbouring home that gains most, until nothing moves."""
    degrees = [sum(near.values()) for near in links]
    total = sum(degrees) or 1.0  # edges that weigh nothing join nothing
    homes, loads = list(range(len(links))), list(degrees)
    for _ in range(ROUNDS):
        moved = False
        for node, near in enumerate(links):
            home = homes[node]
            loads[home] -= degrees[node]
            best = _best_home(node, near, homes, loads, degrees[node], total)
            loads[best] += degrees[node]
            homes[node], moved = best, moved or best != home
        if not moved:
            break
    return homes


def _best_home(
    node: int,
    near: dict[int, float],
    homes: Sequence[int],
    loads: Sequence[float],
    degree: float,
    total: float,
) -> int:
    pull: dict[int, float] = defaultdict(float)
    for other, weight in near.items():
        if other != node:
            pull[homes[other]] += weight
    best = homes[node]
    most = pull.get(best, 0.0) - loads[best] * degree / total
    for home in sorted(pull):
        gain = pull[home] - loads[home] * degree / total
        if gain > most + LEAST_GAIN:
            best, most = home, gain
    return best


def _renumbered(homes: Sequence[int]) -> list[int]:
    numbers: dict[int, int] = {}
    return [numbers.setdefault(home, len(numbers)) for home in homes]


def _gathered(members: list[list[int]], homes: Sequence[int]) -> list[list[int]]:
    gathered: list[list[int]] = [[] for _ in range(max(homes) + 1)]
    for group, home in zip(members, homes, strict=True):
        gathered[home] += group
    return gathered


def _folded(links: Weights, homes: Sequence[int], count: int) -> Weights:
    folded: Weights = [defaultdict(float) for _ in range(count)]
    for node, near in enumerate(links):
        for other, weight in near.items():
            folded[homes[node]][homes[other]] += weight
    return folded
