"""Communities: entities that belong together by Louvain's method, named by what sets them apart."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from remanence.knowledge.graph.known import Talked
from remanence.knowledge.graph.view import GraphView
from remanence.model.graph import Community
from remanence.model.predicates import NOTE

Edge = tuple[int, int, float]
Weights = list[dict[int, float]]

# Levels and rounds end by themselves; these only guard against endless rounding noise.
LEVELS, ROUNDS = 20, 50
LEAST_GAIN = 1e-9

CENTRAL = 3  # members that give a community its name
TERMS = 5
LONGEST_TERM = 40
# Being spoken of together says less than a relation does.
WEAK = 0.5


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


def communities_of(view: GraphView, *, together: bool, least: int, limit: int) -> list[Community]:
    """Groups of at least so many entities, the largest first."""
    ids = list(view.places)
    edges = list(_edges(view, together))
    groups = [group for group in clusters(len(ids), edges) if len(group) >= least]
    ordered = [[ids[one] for one in group] for group in _central_first(groups, edges)]
    described = [_terms(view, group) for group in ordered]
    spread = Counter(term for terms in described for term in terms)
    return [
        _community(view, group, _distinctive(terms, spread, len(groups)))
        for group, terms in zip(ordered[:limit], described[:limit], strict=True)
    ]


def _edges(view: GraphView, together: bool) -> Iterable[Edge]:
    places = view.places
    for one in view.relations:
        if one.source_id != one.target_id:
            yield places[one.source_id], places[one.target_id], one.confidence
    for pair in view.together if together else ():
        heard = [view.spoken.talk.get(id, Talked()).memories for id in (pair.a_id, pair.b_id)]
        share = pair.memories / math.sqrt(max(1, heard[0]) * max(1, heard[1]))
        yield places[pair.a_id], places[pair.b_id], WEAK * share


def _central_first(groups: Sequence[Sequence[int]], edges: Iterable[Edge]) -> list[list[int]]:
    home = {one: number for number, group in enumerate(groups) for one in group}
    degree = dict.fromkeys(home, 0.0)
    for a, b, weight in edges:
        if a in home and home[a] == home.get(b):
            degree[a] += weight
            degree[b] += weight
    return [sorted(group, key=lambda one: (-degree[one], one)) for group in groups]


def _terms(view: GraphView, group: Sequence[str]) -> Counter[str]:
    """Predicates and objects that are said of the members; members' own names do not count."""
    own = {view.name(id) for id in group}
    said = [fact for id in group for fact in view.said_of(id) if fact.predicate != NOTE]
    words = Counter(fact.predicate for fact in said)
    words.update(fact.object for fact in said if len(fact.object) <= LONGEST_TERM)
    return Counter({word: count for word, count in words.items() if word and word not in own})


def _distinctive(terms: Counter[str], spread: Counter[str], groups: int) -> list[str]:
    """The terms that are frequent here and rare elsewhere."""
    weight = {term: count * math.log(1 + groups / spread[term]) for term, count in terms.items()}
    return sorted(weight, key=lambda term: (-weight[term], term))[:TERMS]


def _community(view: GraphView, group: Sequence[str], terms: Sequence[str]) -> Community:
    members = tuple(view.name(id) for id in group)
    name = ", ".join(members[:CENTRAL])
    named = f"{name}: {', '.join(terms[:CENTRAL])}" if terms else name
    return Community(name=named, members=members, terms=tuple(terms))
