"""Communities: entities that belong together, named by what sets them apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from remanence.knowledge.graph.clusters import Edge, clusters
from remanence.knowledge.graph.spoken import Talk
from remanence.knowledge.graph.view import View
from remanence.model.graph import Community
from remanence.model.predicates import NOTE

CENTRAL = 3  # members that give a community its name
TERMS = 5
LONGEST_TERM = 40
# Being spoken of together says less than a relation does.
WEAK = 0.5


def communities_of(view: View, *, together: bool, least: int, limit: int) -> list[Community]:
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


def _edges(view: View, together: bool) -> Iterable[Edge]:
    places = view.places
    for one in view.relations:
        if one.source_id != one.target_id:
            yield places[one.source_id], places[one.target_id], one.confidence
    for pair in view.together if together else ():
        heard = [view.spoken.talk.get(id, Talk()).memories for id in (pair.a_id, pair.b_id)]
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


def _terms(view: View, group: Sequence[str]) -> Counter[str]:
    """Predicates and objects that are said of the members; members' own names do not count."""
    own = {view.name(id) for id in group}
    said = [fact for id in group for fact in view.said_of(id) if fact.predicate != NOTE]
    words = Counter(fact.predicate for fact in said)
    words.update(fact.object for fact in said if len(fact.object) <= LONGEST_TERM)
    return Counter({word: count for word, count in words.items() if word and word not in own})


def _distinctive(terms: Counter[str], spread: Counter[str], groups: int) -> list[str]:
    """The terms that are frequent here and rare elsewhere."""
    weight = {
        term: count * math.log(1 + groups / spread[term]) for term, count in terms.items()
    }  # fmt: skip
    return sorted(weight, key=lambda term: (-weight[term], term))[:TERMS]


def _community(view: View, group: Sequence[str], terms: Sequence[str]) -> Community:
    members = tuple(view.name(id) for id in group)
    name = ", ".join(members[:CENTRAL])
    named = f"{name}: {', '.join(terms[:CENTRAL])}" if terms else name
    return Community(name=named, members=members, terms=tuple(terms))
