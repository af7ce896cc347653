"""Which lessons are kept from a training, how good rankings of them are, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from remanence.learn.replay import Lesson, lot
from remanence.model.learning import Judged, LearnPolicy

DEPTH = 10
# Kept from the training: this share of the questions as the newest, and of the rest by lot.
NEWEST = 0.2
BY_LOT = 0.2
# A gain of less than so many standard errors may be chance.
ERRORS = 2.0
# Fewer than this say nothing either way.
FEWEST = 6


@dataclass(frozen=True, slots=True)
class Split:
    """Lessons to learn from, and those that were kept back: the newest, and some of the others."""

    learned: tuple[Lesson, ...]
    newest: tuple[Lesson, ...]
    older: tuple[Lesson, ...]


def split(lessons: Sequence[Lesson], seed: int) -> Split:
    """Part lessons that come oldest first; no question is on both sides."""
    last = len(lessons) - int(len(lessons) * NEWEST)
    before = sorted(lessons[:last], key=lambda lesson: lot(lesson.query, seed))
    kept = int(len(before) * BY_LOT)
    return Split(tuple(before[kept:]), tuple(lessons[last:]), tuple(before[:kept]))


def ndcg(found: Sequence[int], gold: Collection[int]) -> float:
    """Discounted gain of the gold ones among the first ten, as a part of the best possible."""
    best = sum(1 / math.log2(n + 2) for n in range(min(len(gold), DEPTH)))
    gain = sum(1 / math.log2(n + 2) for n, key in enumerate(found[:DEPTH]) if key in gold)
    return gain / best if best else 0.0


def judged_by(
    newest: Sequence[tuple[float, float]], older: Sequence[tuple[float, float]]
) -> Judged:
    """The figures of (before, after) on both parts of what was kept back."""
    before, after = _means([*newest, *older])
    older_before, older_after = _means(older)
    return Judged(
        questions=len(newest) + len(older),
        before=before,
        after=after,
        older=len(older),
        older_before=older_before,
        older_after=older_after,
    )


def verdict(
    judged: Judged, gains: Sequence[float], policy: LearnPolicy, beside: float = 0.0
) -> str | None:
    """Why it is rejected; None if it is accepted.

    `gains` are those of the single questions: a mean that their spread explains is no gain.
    `beside` is what it wins over the present adapter where that can be told.
    """
    if judged.questions < FEWEST:
        return "too few questions were left to judge it by"
    if judged.gain < policy.margin:
        return f"it gained {judged.gain:+.3f} on unseen questions, less than {policy.margin:.3f}"
    error = ERRORS * float(np.std(gains, ddof=1)) / math.sqrt(len(gains))
    if judged.gain <= error:
        return f"its gain of {judged.gain:+.3f} may be chance, which goes up to {error:.3f}"
    if judged.older_after < judged.older_before - policy.tolerance:
        lost = judged.older_before - judged.older_after
        return f"it lost {lost:.3f} on older questions"
    if beside < -policy.tolerance:
        return f"the present version does better by {-beside:.3f} on the newest questions"
    return None


def _means(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    if not pairs:
        return 0.0, 0.0
    before, after = np.mean(pairs, axis=0).tolist()
    return round(before, 4), round(after, 4)
