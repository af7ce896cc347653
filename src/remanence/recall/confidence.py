"""How sure it is that the first hits answer the question: a logistic regression over raw figures.

Nothing here is relative to the pool: the best of a poor pool is no better for being the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import FloatArray
from remanence.recall.columns import ALONE
from remanence.recall.confidence_weights import BASE, TABLE
from remanence.recall.postings import Rows
from remanence.recall.ranked import Ranked
from remanence.recall.ranker import Ranker, families
from remanence.recall.scene import Scene

FIRST = 5
LEADING = 3
# So many memories know most words of an ordinary question, whatever it is about.
MANY = 400
# A difference beyond this is as clear: in a small memory nothing else may be near at all.
CLEAR = 0.25
FURTHEST = 30.0  # of the log-odds, beyond which only rounding is left
WEIGHTS = Ranker.from_table(TABLE, BASE)
FAMILIES = frozenset({"base", *(name.partition(".")[0] for name in TABLE)})


class Confidence(NamedTuple):
    """A probability, and the signals that add up to its log-odds; None where nothing is known."""

    value: float | None
    signals: Mapping[str, float]

    def reaches(self, least: float | None) -> bool:
        """Whether it is high enough; what is not known is never too low."""
        return least is None or self.value is None or self.value >= least


NOTHING = Confidence(0.0, {})
UNKNOWN = Confidence(None, {})


@dataclass(frozen=True, eq=False)
class Foremost:
    """A scene and the places in its pool that are ranked first."""

    scene: Scene
    first: Rows

    @cached_property
    def named(self) -> NDArray[np.bool_]:
        """Which of the pool somebody said whom the question names."""
        return np.asarray(self.scene.speaker_named > 0, np.bool_)

    @cached_property
    def rivals(self) -> NDArray[np.bool_]:
        """Which of the pool somebody else said; none where the question names no speaker."""
        known = self.scene.columns.speaker[self.scene.rows] != ALONE
        return np.asarray(known & ~self.named & bool(self.scene.people), np.bool_)


def confidence_of(ranked: Ranked, weights: Ranker = WEIGHTS) -> Confidence:
    """How sure the first of these are to answer; with several partitions, that of the surest.

    Where nothing was found it is 0. Without vectors it is not known.
    """
    if not len(ranked):
        return NOTHING
    told = [_confidence(one, weights) for one in foremost(ranked) if not one.scene.bare.all()]
    return max(told, key=lambda one: one.value or 0.0, default=UNKNOWN)


def foremost(ranked: Ranked) -> list[Foremost]:
    """The scenes of the first hits, each with its own first."""
    scenes = dict.fromkeys(ranked.scene[:FIRST].tolist())
    return [Foremost(ranked.scenes[n], ranked.place[ranked.scene == n][:FIRST]) for n in scenes]


def figures_of(one: Foremost, names: tuple[str, ...]) -> FloatArray:
    """These figures in a row."""
    return np.array([[FIGURES[name](one) for name in names]], np.float32)


def _confidence(one: Foremost, weights: Ranker) -> Confidence:
    [signals] = families(weights.names, weights.shares(figures_of(one, weights.names)))
    odds = weights.base + sum(signals.values())
    value = 1 / (1 + math.exp(-min(max(odds, -FURTHEST), FURTHEST)))
    return Confidence(value, {"base": weights.base, **signals})


def _vector(one: Foremost) -> float:
    """The best cosine of the first hits."""
    return float(one.scene.dense[one.first].max())


def _tokens(one: Foremost) -> float:
    """The part of the question's worth that some memory meets closely, token by token."""
    return float(one.scene.late_covered.max())


def _heard(one: Foremost) -> float:
    """The part of the question's worth in words that the memory has heard at all.

    In a small memory hardly any word was, which says little: it counts as the size squared.
    """
    words = one.scene.words
    total = float(words.idf.sum())
    if not total:
        return 1.0
    apart = one.scene.apart
    new = np.array(
        [not p.common and not len(np.setdiff1d(p.rows, apart)) for p in words.postings], np.float32
    )
    size = min(math.log(len(one.scene.columns)) / math.log(MANY), 1.0)
    return 1 - float(words.idf @ new) / total * size**2


def _leading(values: FloatArray) -> float:
    """The mean of the few highest."""
    return float(np.sort(values)[-LEADING:].mean()) if len(values) else 0.0


def _clear(difference: float) -> float:
    return min(max(difference, -CLEAR), CLEAR)


def _ahead(one: Foremost) -> float:
    """How much closer what the person named said is than what others said."""
    if not one.rivals.any():
        return 0.0
    dense = one.scene.dense
    return _clear(_leading(dense[one.named]) - _leading(dense[one.rivals]))


def _behind(one: Foremost) -> float:
    """How far the closest of it stands behind the closest of theirs; 0 where it does not."""
    if not one.rivals.any():
        return 0.0
    dense = one.scene.dense
    return min(_clear(float(dense[one.named].max(initial=0) - dense[one.rivals].max())), 0.0)


def _first(one: Foremost) -> float:
    """A half if the person named said the first hit, minus a half if somebody else did."""
    if not one.rivals.any():
        return 0.0
    place = one.first[0]
    return (float(one.named[place]) - float(one.rivals[place])) / 2


# Each speaks for an answer the more, the higher it is, so that no weight is below zero.
FIGURES: Mapping[str, Callable[[Foremost], float]] = {
    "vector": _vector,
    "vector.wordy": lambda one: _vector(one) * one.scene.wordiness,
    "tokens": _tokens,
    "words": _heard,
    "speaker.ahead": _ahead,
    "speaker.behind": _behind,
    "speaker.first": _first,
}
