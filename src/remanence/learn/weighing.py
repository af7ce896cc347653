"""Weights of what an adapter adds, and small changes of the ranker's own, from ranked pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import FloatArray
from remanence.recall.adapter import LEARNED

# What is learned counts by how large it usually is: a change of cosine, a part of the best.
USUAL = np.array([0.1, 0.5])
LEARNED_RIDGE = 0.5
# Past these, questions in plain words begin to lose (bench/adapter.py), and little is won.
HEAVIEST = np.array([6.0, 4.0])
# The ranker's weights come from thousands of questions; a user's few may only lean on them.
SIGNAL_RIDGE = 300.0
# Signals of what sort of memory it is. How far words and vectors match is no matter of taste:
# learned from questions in private words, those would come to count less in plain ones.
TASTE = ("speaker", "form", "graph", "time")
# A memory that was called useless counts as often as so many that merely were not chosen.
USELESS_TIMES = 3.0
STEPS = 30
CLOSE = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Ballot:
    """One question's pool: the present scores, the figures to weigh, and how it should be."""

    scores: FloatArray  # of the present search; what was called useless stands higher here
    learned: FloatArray  # (memories, LEARNED)
    signals: FloatArray  # (memories, signals), standardised
    wanted: FloatArray  # the chance each memory should have of being first; they add up to 1


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """What was found: for `LEARNED`, and the change of each of the ranker's signals."""

    learned: tuple[float, float]
    change: FloatArray


def weigh(ballots: Sequence[Ballot]) -> Weights:
    """The weights under which what helped comes first: a softmax over each pool, by Newton.

    What is learned never counts against a memory.
    """
    usable = [one for one in ballots if one.wanted.sum() > 0]
    signals = ballots[0].signals.shape[1] if ballots else 0
    size = len(LEARNED) + signals
    ridge = np.concatenate([np.full(len(LEARNED), LEARNED_RIDGE), np.full(signals, SIGNAL_RIDGE)])
    fixed = np.zeros(size, bool)
    weight = np.zeros(size)
    while usable:
        weight = _newton(usable, ridge, fixed)
        wrong = np.flatnonzero((weight < 0) & (np.arange(size) < len(LEARNED)) & ~fixed)
        if not len(wrong):
            break
        fixed[wrong] = True
    first = np.clip(weight[: len(LEARNED)] / USUAL, 0, HEAVIEST)
    vector, words = (float(one) for one in first)
    return Weights((vector, words), weight[len(LEARNED) :].astype(np.float32))


def _newton(
    ballots: Sequence[Ballot], ridge: NDArray[np.float64], fixed: NDArray[np.bool_]
) -> NDArray[np.float64]:
    columns = [_columns(one) * ~fixed for one in ballots]
    weight = np.zeros(len(ridge))
    loss = np.inf
    part = 1.0
    for _ in range(STEPS):
        now, slope, curve = _derivatives(ballots, columns, weight, ridge)
        step = np.linalg.solve(curve, slope)
        if now > loss + CLOSE:
            part /= 2
        loss = now
        weight = weight - part * step
        if float(np.abs(part * step).max()) < CLOSE:
            break
    return weight * ~fixed


def _columns(one: Ballot) -> NDArray[np.float64]:
    return np.column_stack([one.learned / USUAL, one.signals]).astype(np.float64)


def _derivatives(
    ballots: Sequence[Ballot],
    columns: Sequence[NDArray[np.float64]],
    weight: NDArray[np.float64],
    ridge: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    loss = float(ridge @ weight**2) / 2
    slope, curve = ridge * weight, np.diag(ridge)
    for one, column in zip(ballots, columns, strict=True):
        scores = one.scores + column @ weight
        scores = scores - scores.max()
        chance = np.exp(scores)
        loss += float(np.log(chance.sum()) - one.wanted @ scores)
        chance = chance / chance.sum()
        middle = chance @ column
        slope = slope + middle - one.wanted @ column
        curve = curve + (column * chance[:, None]).T @ column - np.outer(middle, middle)
    return loss, slope, curve


def helped(
    scores: FloatArray, useful: NDArray[np.bool_], useless: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Scores and wanted chances of a question with feedback."""
    higher = np.where(useless, np.float32(np.log(USELESS_TIMES)), np.float32(0))
    return scores + higher, (useful / max(int(useful.sum()), 1)).astype(np.float32)


def as_it_is(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scores and wanted chances of a question whose ranking is to stay."""
    chance = np.exp(scores - scores.max(initial=0))
    return scores, (chance / max(float(chance.sum()), 1e-9)).astype(np.float32)
