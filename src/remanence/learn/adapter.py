"""What an adapter is fitted from: the map of question vectors, and the bridges between words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import FloatArray
from remanence.recall.adapter import units
from remanence.recall.packed import MOST_BRIDGES, MOST_LED_TO, MOST_RANK

# How firmly the map is held to identity: everywhere, and for questions about other things.
RIDGE = 2.0
ANCHOR = 1.0
# How far a question goes towards what helped with it.
TOWARDS = 1.0
# A map that turns further than this was bent by too few examples.
LONGEST = 1.0
# Bridges weaker than this lead astray as often as not.
FAINT = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Studied:
    """One lesson with all that fitting needs of it."""

    query: str
    vector: FloatArray  # of the question
    target: FloatArray | None  # the mean direction of what helped; None without vectors
    terms: tuple[str, ...]  # of the question
    words: frozenset[str]  # of what helped
    others: frozenset[str]  # of what did not


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The parts of an adapter that are fitted without looking at the ranking."""

    out: FloatArray
    into: FloatArray
    bridges: Mapping[str, Mapping[str, float]]


def fit_adapter(studied: Sequence[Studied], anchors: FloatArray, known: Mapping[str, int]) -> Fit:
    """Fit map and bridges; `known` says in how many memories a term of questions occurs."""
    out, into = fit_map(studied, anchors)
    return Fit(out, into, fit_bridges(studied, known))


def fit_map(
    studied: Sequence[Studied], anchors: FloatArray, rank: int = MOST_RANK
) -> tuple[FloatArray, FloatArray]:
    """The low-rank change that brings questions to what helped and leaves the anchors alone.

    Ridge regression of target - question on question, cut to its strongest directions.
    """
    pairs = [(one.vector, one.target) for one in studied if one.target is not None]
    dimension = anchors.shape[1]
    if not pairs:
        return np.zeros((dimension, 0), np.float32), np.zeros((dimension, 0), np.float32)
    asked = np.array([vector for vector, _ in pairs], np.float64)
    wanted = TOWARDS * (np.array([target for _, target in pairs], np.float64) - asked)
    held = np.asarray(anchors, np.float64)
    inner = asked.T @ asked + ANCHOR * held.T @ held + RIDGE * np.eye(dimension)
    change = np.linalg.solve(inner, asked.T @ wanted).T
    left, sizes, right = np.linalg.svd(change, full_matrices=False)
    roots = np.sqrt(np.minimum(sizes[:rank], LONGEST))
    return _narrow(left[:, :rank] * roots), _narrow(right[:rank].T * roots)


def fit_bridges(
    studied: Sequence[Studied], known: Mapping[str, int]
) -> dict[str, dict[str, float]]:
    """From the words of questions to those that mark what helped, and not what helped elsewhere.

    A bridge begins at a word (or two that follow each other) that does not itself stand in what
    helped. It is as strong as the share of its questions whose useful memories hold the other word,
    beyond the share everywhere else; one question alone is enough only for a word no memory holds.
    A word that was only ever asked together with another has a bridge with it, none alone.
    """
    lessons: defaultdict[str, list[Studied]] = defaultdict(list)
    for one in studied:
        for unit in dict.fromkeys(units(one.terms)):
            lessons[unit].append(one)
    everywhere = Counter(word for one in studied for word in one.words)
    bridges = {
        unit: led
        for unit, found in lessons.items()
        if _is_private(unit, found, known)
        and (led := _led_to(unit, found, everywhere, len(studied)))
    }
    for unit in [unit for unit in bridges if " " in unit]:
        for part in unit.split(" "):
            if len(lessons[part]) == len(lessons[unit]):
                bridges.pop(part, None)
    most_asked = sorted(bridges, key=lambda unit: (-len(lessons[unit]), unit))[:MOST_BRIDGES]
    return {unit: bridges[unit] for unit in sorted(most_asked)}


def _is_private(unit: str, found: Sequence[Studied], known: Mapping[str, int]) -> bool:
    """Whether it hardly stands in what helped, and was asked often enough to tell."""
    parts = unit.split(" ")
    said = sum(all(part in one.words for part in parts) for one in found)
    unheard = len(parts) == 1 and not known.get(unit, 0)
    return 2 * said <= len(found) and (len(found) > 1 or unheard)


def _led_to(
    unit: str, found: Sequence[Studied], everywhere: Counter[str], total: int
) -> dict[str, float]:
    here = Counter(word for one in found for word in one.words)
    against = Counter(word for one in found for word in one.others - one.words)
    enough = min(2, len(found))
    strengths = {
        word: _strength(count - against[word] / 2, len(found), everywhere[word] - count, total)
        for word, count in here.items()
        if count >= enough and word not in unit.split(" ")
    }
    best = sorted(strengths.items(), key=lambda one: (-one[1], one[0]))
    return {word: round(strength, 3) for word, strength in best[:MOST_LED_TO] if strength >= FAINT}


def _strength(count: float, of: int, elsewhere: int, total: int) -> float:
    usual = (elsewhere + 0.5) / (total - of + 1)
    return max(count / (of + 0.5) - usual, 0.0)


def _narrow(values: NDArray[np.float64]) -> FloatArray:
    """As it will be kept: 16 bits a figure."""
    return values.astype(np.float16).astype(np.float32)


def mean_direction(vectors: Iterable[FloatArray]) -> FloatArray | None:
    """The unit vector in the middle of these; None of none."""
    found = list(vectors)
    if not found:
        return None
    middle = np.mean(found, axis=0)
    length = float(np.linalg.norm(middle))
    return np.asarray(middle / length, np.float32) if length > 1e-6 else None
