"""Which entities may be one: how alike their names are, whom they are joined to, what is said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from remanence.knowledge.graph.view import GraphView, ends
from remanence.model.graph import Likeness
from remanence.model.knowledge import EntityType, folded_name
from remanence.model.predicates import Holds, predicate_of

_WORD = re.compile(r"[^\W_]+")

_TITLES = frozenset(["dr", "mr", "mrs", "ms", "miss", "prof", "professor", "sir", "madam"])

_SMALL = frozenset(["of", "the", "and", "for", "de", "da", "do", "la", "le", "van", "von", "der"])

# A word in more names than this tells nothing about any two of them.
COMMON = 40

# Shorter names differ from each other by a letter all the time.
SHORTEST_MISSPELT = 4
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


class Sort(StrEnum):
    """In what way two names are alike."""

    SAME = "same"
    INITIALS = "initials"
    PART = "part"
    MISSPELT = "misspelt"


@dataclass(frozen=True, slots=True)
class NameLikeness:
    """How surely two names mean one thing by themselves; `fuller` if the second says more."""

    score: float
    why: str
    sort: Sort
    fuller: bool = False


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name as they are compared, without titles."""
    words = _WORD.findall(folded_name(name))
    return tuple(word for word in words if word not in _TITLES) or tuple(words)


def name_likeness(a: str, b: str) -> NameLikeness | None:
    """What speaks for two names being one; None if nothing does.

    >>> name_likeness("J. Smith", "John Smith").why
    'J. Smith may be short for John Smith'
    """
    first, second = words_of(a), words_of(b)
    if not first or not second or _numbers(first) != _numbers(second):
        return None
    if ("'s " in a) != ("'s " in b):  # Ana's mom is not Ana
        return None
    if first == second:
        return NameLikeness(0.93, "the same words", Sort.SAME, fuller=len(b) > len(a))
    if sorted(first) == sorted(second):
        return NameLikeness(0.9, "the same words in another order", Sort.SAME)
    if len(first) > len(second) or (len(first) == len(second) and len(a) > len(b)):
        mirrored = _shorter_first(second, first, b, a)
        return mirrored and replace(mirrored, fuller=False)
    return _shorter_first(first, second, a, b)


def pairs_worth_comparing(names: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    """Pairs of ids, each with all its names, that share a word, initials, or all but a letter."""
    shelves: dict[str, dict[str, None]] = {}
    for id, own in names.items():
        for key in {key for name in own for key in _keys(words_of(name))}:
            shelves.setdefault(key, {})[id] = None
    found = {
        (min(pair), max(pair))
        for ids in shelves.values()
        if len(ids) <= COMMON
        for pair in combinations(ids, 2)
    }
    return sorted(found)


def distance(a: str, b: str, most: int) -> int:
    """Letters to change, add, drop or swap to get from one word to the other; capped."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, right in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and left == b[j - 2] and a[i - 2] == right:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return min(row[-1], most + 1)


def _keys(words: tuple[str, ...]) -> Iterator[str]:
    yield from (f"word {word}" for word in words if word not in _SMALL and len(word) > 1)
    yield from (f"initials {letters}" for letters in (*_initials(words), "".join(words)))
    whole = "".join(words)
    if len(whole) >= SHORTEST_MISSPELT:
        yield f"spelt {whole}"
        yield from (f"spelt {whole[:at]}{whole[at + 1 :]}" for at in range(len(whole)))


def _shorter_first(
    short: tuple[str, ...], long: tuple[str, ...], a: str, b: str
) -> NameLikeness | None:
    if _abbreviates(short, long):
        return NameLikeness(0.85, f"{a} may be short for {b}", Sort.INITIALS, fuller=True)
    if _acronym(short, long):
        score = 0.75 if len("".join(short)) > 2 else 0.55
        return NameLikeness(score, f"{a} may be the initials of {b}", Sort.INITIALS, fuller=True)
    if _contained(short, long):
        return NameLikeness(0.55, f"{a} is part of {b}", Sort.PART, fuller=True)
    return _misspelling("".join(short), "".join(long), a, b)


def _abbreviates(short: Sequence[str], long: Sequence[str]) -> bool:
    """Whether some words stand for others by their first letter, and at least one stands whole."""
    if len(short) != len(long) or len(short) < 2:
        return False
    same = [x == y and len(x) > 1 for x, y in zip(short, long, strict=True)]
    initial = [len(x) == 1 and y.startswith(x) for x, y in zip(short, long, strict=True)]
    return any(same) and any(initial) and all(map(max, same, initial))


def _acronym(short: Sequence[str], long: Sequence[str]) -> bool:
    spelt = len(short) == 1 or all(len(word) == 1 for word in short)
    return spelt and "".join(short) in _initials(long)


def _initials(words: Sequence[str]) -> list[str]:
    """The first letters of a name of several words, with and without the small ones."""
    telling = [word for word in words if word not in _SMALL]
    return ["".join(word[0] for word in some) for some in (words, telling) if len(some) > 1]


def _contained(short: Sequence[str], long: Sequence[str]) -> bool:
    """Whether the short name's words stand in the long one, in order, at its start or end."""
    if len(short) >= len(long) or len("".join(short)) < 3:
        return False
    return tuple(long[: len(short)]) == tuple(short) or tuple(long[-len(short) :]) == tuple(short)


def _misspelling(short: str, long: str, a: str, b: str) -> NameLikeness | None:
    least = min(len(short), len(long))
    if least < SHORTEST_MISSPELT:
        return None
    allowed = 2 if least >= 9 else 1
    changes = distance(short, long, allowed)
    if changes > allowed:
        return None
    score = (0.45 if least == SHORTEST_MISSPELT else 0.65) - (0.2 if short[0] != long[0] else 0.0)
    why = f"{a} and {b} differ by {changes} letter{'s' * (changes > 1)}"
    return NameLikeness(score, why, Sort.MISSPELT)


def _numbers(words: Iterable[str]) -> list[str]:
    return sorted(word for word in words if any(c.isdigit() for c in word))


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


def alike(view: GraphView, embed: Embed | None, least: float) -> list[Likeness]:
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


def _by_name(view: GraphView) -> dict[Pair, _Evidence]:
    names = {id: [one.name for one in group] for id, group in view.known.members.items()}
    found: dict[Pair, NameLikeness] = {}
    for pair in pairs_worth_comparing(names):
        compared = (name_likeness(a, b) for a, b in product(names[pair[0]], names[pair[1]]))
        best = max((one for one in compared if one), key=lambda one: one.score, default=None)
        if best is not None and _may_be_one(view, pair, best):
            found[pair] = best
    return {pair: _Evidence(name=one) for pair, one in _lonely_parts_raised(found).items()}


def _may_be_one(view: GraphView, pair: Pair, name: NameLikeness | None) -> bool:
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


def _at_odds(view: GraphView, a: str, b: str) -> bool:
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


def _add_context(view: GraphView, pair: Pair, one: _Evidence) -> None:
    sides = [_joined(view, id) for id in pair]
    both, either = sides[0] & sides[1], sides[0] | sides[1]
    one.shared = sorted({view.name(id) for _, id in both})
    one.context = len(both) / len(either) if either else 0.0


def _joined(view: GraphView, id: str) -> set[tuple[str, str]]:
    """With what an entity is joined, and how."""
    edges = view.relations_of(id)
    return {(one.relation, other) for one in edges for other in ends(one) if other != id}


def _add_vectors(view: GraphView, evidence: dict[Pair, _Evidence], embed: Embed) -> None:
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


def _told(view: GraphView, id: str) -> str:
    """The name and what is said of it, as one text."""
    facts = "; ".join(f"{one.predicate} {one.object}" for one in view.said_of(id)[:FACTS_TOLD])
    return f"{view.name(id)}: {facts}" if facts else view.name(id)


def _likeness(view: GraphView, pair: Pair, one: _Evidence) -> Likeness:
    """Into the fuller name; else into the one that more is known of."""
    a, b = sorted(pair, key=view.weight, reverse=True)
    if one.name is not None and one.name.sort in (Sort.PART, Sort.INITIALS):
        a, b = pair if one.name.fuller else (pair[1], pair[0])
    return Likeness(name=view.name(a), into=view.name(b), score=one.score, why=one.why)
