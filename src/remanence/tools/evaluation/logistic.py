"""Conditional logistic regression by Newton's method: each answer against the rest of its pool.

Standardised, weighted, ridge-penalised. NumPy only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEPS = 40
CLOSE = 1e-3
# Rivals that are chosen less often than this hardly bend the loss.
UNLIKELY = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A linear model over standardised columns."""

    mean: Array
    scale: Array
    weight: Array
    base: float

    def score(self, figures: NDArray[np.floating]) -> Array:
        """The log-odds of each row; an unknown figure (NaN) adds nothing."""
        shares = (figures - self.mean) / self.scale
        return np.where(np.isnan(shares), 0.0, shares) @ self.weight + self.base


@dataclass(frozen=True, slots=True, eq=False)
class Pools:
    """Standardised rows of several pools one after the other, and which of them are gold."""

    columns: Array
    gold: NDArray[np.bool_]
    starts: NDArray[np.int64]
    importance: Array  # of each row; the same within a pool

    def each(self, figures: Array) -> Array:
        """A figure of each pool for each of its rows."""
        return np.repeat(figures, np.diff([*self.starts, len(self.gold)]), axis=0)

    def rivals(self, scores: Array) -> Array:
        """Of each row, the logarithm of what all that is not gold in its pool weighs together."""
        others = np.where(self.gold, -np.inf, scores)
        highest = self.each(np.maximum.reduceat(others, self.starts))
        weighed = self.each(np.add.reduceat(np.exp(others - highest), self.starts))
        return np.asarray(highest + np.log(weighed), np.float64)


def fit(
    figures: NDArray[np.floating],
    gold: NDArray[np.bool_],
    starts: NDArray[np.int64],
    importance: Array,
    ridge: Array,
    prior: Array,
    begin: Array | None = None,
) -> Fitted:
    """Fit the order of each pool; every pool needs gold and something else.

    What is the same for a whole pool teaches nothing, so that questions with many answers and
    with few teach alike. `ridge` holds each column's weight to its `prior`; `begin` is where to
    start from. An unknown figure (NaN) counts as the mean of the known ones of its column, 0 where
    none is known. The base is set such that a score above 0 is rather an answer than not.
    """
    columns, mean, scale = _standardised(figures, importance)
    pools = Pools(columns, gold, starts, importance)
    weight = _newton(pools, ridge, prior, prior if begin is None else begin)
    return Fitted(mean, scale, weight, _base(columns @ weight, gold, importance))


def _standardised(figures: NDArray[np.floating], importance: Array) -> tuple[Array, Array, Array]:
    figures = np.asarray(figures, np.float64)
    mean = np.array([_known_mean(column, importance) for column in figures.T])
    figures = np.where(np.isnan(figures), mean, figures)
    scale = np.sqrt(np.average((figures - mean) ** 2, axis=0, weights=importance))
    scale = np.where(scale > 1e-9, scale, 1.0)
    return (figures - mean) / scale, mean, scale


def _known_mean(column: Array, importance: Array) -> float:
    known = ~np.isnan(column)
    return float(np.average(column[known], weights=importance[known])) if known.any() else 0.0


def _newton(pools: Pools, ridge: Array, prior: Array, begin: Array) -> Array:
    weight = begin.copy()
    loss = _loss(pools, weight, ridge, prior)
    for _ in range(STEPS):
        slope, curve = _derivatives(pools, weight)
        step = np.linalg.solve(curve + np.diag(ridge), slope + ridge * (weight - prior))
        part, after = 1.0, _loss(pools, weight - step, ridge, prior)
        while after > loss and part > CLOSE:
            part /= 2
            after = _loss(pools, weight - part * step, ridge, prior)
        weight, loss = weight - part * step, after
        if np.abs(part * step).max() < CLOSE:
            break
    return weight


def _loss(pools: Pools, weight: Array, ridge: Array, prior: Array) -> float:
    scores = pools.columns @ weight
    behind = (pools.rivals(scores) - scores)[pools.gold]
    told = pools.importance[pools.gold] @ np.logaddexp(0, behind)
    return float(told + ridge @ (weight - prior) ** 2 / 2)


def _derivatives(pools: Pools, weight: Array) -> tuple[Array, Array]:
    scores = pools.columns @ weight
    apart = scores - pools.rivals(scores)
    won = 1 / (1 + np.exp(-np.clip(apart, -30, 30)))
    lost = np.where(pools.gold, pools.importance * (1 - won), 0.0)
    chosen = np.where(pools.gold, 0.0, np.exp(np.minimum(apart, 0)))
    pull = pools.each(np.add.reduceat(lost, pools.starts)) * chosen
    slope = pools.columns.T @ (pull - lost)
    middle = np.add.reduceat(pools.columns * chosen[:, None], pools.starts, axis=0)
    near = pull > UNLIKELY
    curve = _spread(pools.columns[near], pull[near])
    curve -= _spread(middle, np.add.reduceat(lost, pools.starts))
    beyond = (pools.columns - pools.each(middle))[pools.gold]
    return slope, curve + _spread(beyond, (pools.importance * won * (1 - won))[pools.gold])


def _spread(rows: Array, weights: Array) -> Array:
    return np.asarray((rows * weights[:, None]).T @ rows, np.float64)


def _base(scores: Array, gold: NDArray[np.bool_], importance: Array) -> float:
    """What to add so that answers and others lie on either side of 0, each kind counting half."""
    weights = _balanced(gold, importance)
    low, high = -float(scores.max()) - 30, -float(scores.min()) + 30
    for _ in range(60):
        middle = (low + high) / 2
        odds = 1 / (1 + np.exp(-np.clip(scores + middle, -30, 30)))
        low, high = (middle, high) if weights @ (odds - gold) < 0 else (low, middle)
    return (low + high) / 2


def _balanced(gold: NDArray[np.bool_], importance: Array) -> Array:
    total = importance.sum()
    positive, negative = importance[gold].sum(), importance[~gold].sum()
    weights: Array = importance * np.where(gold, total / (2 * positive), total / (2 * negative))
    return weights
