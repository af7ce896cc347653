"""Which entities may be one: by their names, whom they are joined to, what is said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from remanence.knowledge.graph.naming import (
    NameLikeness,
    Sort,
    name_likeness,
    pairs_worth_comparing,
)
from remanence.knowledge.graph.view import View, ends
from remanence.model.graph import Likeness
from remanence.model.knowledge import EntityType
from remanence.model.predicates import Holds, predicate_of

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
Pair = tuple[str, str]

# Shares that context and vectors have in what the name leaves open.
CONTEXT, VECTOR = 0.6, 0.5
ONLY_ONE = 0.15  # more for a part of a name that is part of no other name
NEAR = 0.75  # cosine from which texts about two entities speak for their being one
ALIKE = 0.9  # cosine from which they do so although the names are not alike
# What can be said at most: without likeness of names, and of names that differ by a letter.
NAMELESS, MISSPELT, SUREST = 0.7, 0.85, 0.99
MOST_EMBEDDED = 256
FACTS_TOLD = 8
# Types that say little: a thing or a topic may turn out to be anything.
VAGUE = frozenset({EntityType.THING.value, EntityType.TOPIC.value})


@dataclass(slots=True)
class _Evidence:
    """What speaks for a pair."""

    name: NameLikeness | None = None
    shared: list[str] = field(default_factory=list)
    context: float = 0.0
    cosine: float = 0.0

    @property
    def score(self) -> float:
        """Each kind of evidence takes its share of what the others leave open."""
        near = max(0.0, (self.cosine - NEAR) / (1 - NEAR))
        by_name = self.name.score if self.name else 0.0
        doubt = (1 - by_name) * (1 - CONTEXT * self.context) * (1 - VECTOR * near)
        return round(min(self._most(), 1 - doubt), 4)

    def _most(self) -> float:
        if self.name is None:
            return NAMELESS
        return MISSPELT if self.name.sort is Sort.MISSPELT else SUREST

    @property
    def why(self) -> tuple[str, ...]:
        """The evidence in words, the strongest kind first."""
        said = [self.name.why] if self.name else []
        if self.shared:
            said.append(f"both are joined to {', '.join(self.shared[:3])}")
        if self.cosine >= NEAR:
            said.append(f"what is said of them is alike (cosine {self.cosine:.2f})")
        return tuple(said)


def alike(view: View, embed: Embed | None, least: float) -> list[Likeness]:
    """Pairs that may be one and reach the score, the likeliest first."""
    evidence = _by_name(view)
    if embed is not None:
        _add_vectors(view, evidence, embed)
    for pair, one in evidence.items():
        _add_context(view, pair, one)
    found = (_likeness(view, pair, one) for pair, one in evidence.items())
    return sorted(
        (one for one in found if one.score >= least),
        key=lambda one: (-one.score, one.name, one.into),
    )


def certain(
    suggested: Iterable[Likeness], threshold: float
) -> tuple[list[Likeness], list[Likeness]]:
    """What to merge, and what to leave: a name that would fit two others fits neither surely."""
    sure = [one for one in suggested if one.score >= threshold]
    joined = {frozenset((one.name, one.into)) for one in sure}
    fits: dict[str, set[str]] = {}
    for one in sure:
        fits.setdefault(one.name, set()).add(one.into)
    clear = {
        name
        for name, others in fits.items()
        if all(frozenset(pair) in joined for pair in combinations(others, 2))
    }
    return (
        [one for one in sure if one.name in clear],
        [one for one in sure if one.name not in clear],
    )


def _by_name(view: View) -> dict[Pair, _Evidence]:
    names = {id: [one.name for one in group] for id, group in view.known.members.items()}
    found: dict[Pair, NameLikeness] = {}
    for pair in pairs_worth_comparing(names):
        compared = (name_likeness(a, b) for a, b in product(names[pair[0]], names[pair[1]]))
        best = max((one for one in compared if one), key=lambda one: one.score, default=None)
        if best is not None and _may_be_one(view, pair, best):
            found[pair] = best
    return {pair: _Evidence(name=one) for pair, one in _lonely_parts_raised(found).items()}


def _may_be_one(view: View, pair: Pair, name: NameLikeness | None) -> bool:
    """Nothing speaks against it: said to be apart, joined, of two types, with two birthdays."""
    a, b = pair
    types = {view.known.type_of(id) for id in pair}
    if pair in view.known.apart or not (len(types) == 1 or types & VAGUE):
        return False
    # Whoever writes both spellings in one breath means two.
    if (name is None or name.sort is Sort.MISSPELT) and pair in view.spoken.pairs:
        return False
    joined = any(b in ends(edge) for edge in view.relations_of(a))
    return not joined and not _at_odds(view, a, b)


def _at_odds(view: View, a: str, b: str) -> bool:
    """Whether something that never changes is said of both, and differs."""
    once = [
        {
            fact.predicate: fact.object_id or fact.object
            for fact in view.said_of(id)
            if predicate_of(fact.predicate).holds is Holds.ONCE
        }
        for id in (a, b)
    ]
    return any(once[1].get(name, value) != value for name, value in once[0].items())


def _lonely_parts_raised(found: dict[Pair, NameLikeness]) -> dict[Pair, NameLikeness]:
    """A short name that could be short for one thing only more likely is."""
    parts = {pair: one for pair, one in found.items() if one.sort is Sort.PART}
    wholes = Counter(_short(pair, one) for pair, one in parts.items())
    lonely = {
        pair: replace(one, score=one.score + ONLY_ONE, why=f"{one.why} and of no other name")
        for pair, one in parts.items()
        if wholes[_short(pair, one)] == 1
    }
    return found | lonely


def _short(pair: Pair, name: NameLikeness) -> str:
    return pair[0] if name.fuller else pair[1]


def _add_context(view: View, pair: Pair, one: _Evidence) -> None:
    sides = [_joined(view, id) for id in pair]
    both, either = sides[0] & sides[1], sides[0] | sides[1]
    one.shared = sorted({view.name(id) for _, id in both})
    one.context = len(both) / len(either) if either else 0.0


def _joined(view: View, id: str) -> set[tuple[str, str]]:
    """With what an entity is joined, and how."""
    edges = view.relations_of(id)
    return {(one.relation, other) for one in edges for other in ends(one) if other != id}


def _add_vectors(view: View, evidence: dict[Pair, _Evidence], embed: Embed) -> None:
    """Compare what is said of entities; those best known also with others of unlike names."""
    named = dict.fromkeys(id for pair in evidence for id in pair)
    known = sorted((id for id in view.known.members if view.said_of(id)), key=view.weight)
    ids = list(dict.fromkeys([*named, *known]))[:MOST_EMBEDDED]
    if len(ids) < 2:
        return
    cosines = _cosines(np.asarray(embed([_told(view, id) for id in ids]), dtype=np.float32))
    for i, j in zip(*np.nonzero(np.triu(cosines >= NEAR, 1)), strict=True):
        pair = (min(ids[i], ids[j]), max(ids[i], ids[j]))
        if pair not in evidence and cosines[i, j] >= ALIKE and _may_be_one(view, pair, None):
            evidence[pair] = _Evidence()
        if pair in evidence:
            evidence[pair].cosine = float(min(1.0, cosines[i, j]))


def _cosines(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return np.asarray(unit @ unit.T, dtype=np.float32)


def _told(view: View, id: str) -> str:
    """The name and what is said of it, as one text."""
    facts = "; ".join(f"{one.predicate} {one.object}" for one in view.said_of(id)[:FACTS_TOLD])
    return f"{view.name(id)}: {facts}" if facts else view.name(id)


def _likeness(view: View, pair: Pair, one: _Evidence) -> Likeness:
    """Into the fuller name; else into the one that more is known of."""
    a, b = sorted(pair, key=view.weight, reverse=True)
    if one.name is not None and one.name.sort in (Sort.PART, Sort.INITIALS):
        a, b = pair if one.name.fuller else (pair[1], pair[0])
    return Likeness(name=view.name(a), into=view.name(b), score=one.score, why=one.why)
