"""Logistic regression by Newton's method: standardised, weighted, ridge-penalised. NumPy only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


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


def fit(
    figures: NDArray[np.floating],
    gold: NDArray[np.bool_],
    importance: Array,
    ridge: Array,
    prior: Array,
) -> Fitted:
    """Fit rows to gold labels; `importance` weighs the rows, classes are balanced inside.

    `ridge` holds each column's weight to its `prior`. An unknown figure (NaN) counts as the mean
    of the known ones of its column, 0 where none is known.
    """
    figures = np.asarray(figures, np.float64)
    mean = np.array([_known_mean(column, importance) for column in figures.T])
    figures = np.where(np.isnan(figures), mean, figures)
    scale = np.sqrt(np.average((figures - mean) ** 2, axis=0, weights=importance))
    scale = np.where(scale > 1e-9, scale, 1.0)
    columns = np.column_stack([(figures - mean) / scale, np.ones(len(figures))])
    weights = _balanced(gold, importance)
    solution = _newton(columns, gold.astype(np.float64), weights, ridge, prior)
    return Fitted(mean, scale, solution[:-1], float(solution[-1]))


def _known_mean(column: Array, importance: Array) -> float:
    known = ~np.isnan(column)
    return float(np.average(column[known], weights=importance[known])) if known.any() else 0.0


def _balanced(gold: NDArray[np.bool_], importance: Array) -> Array:
    total = importance.sum()
    positive, negative = importance[gold].sum(), importance[~gold].sum()
    weights: Array = importance * np.where(gold, total / (2 * positive), total / (2 * negative))
    return weights


def _newton(columns: Array, gold: Array, weights: Array, ridge: Array, prior: Array) -> Array:
    penalty, centre = np.append(ridge, 1e-9), np.append(prior, 0.0)
    solution = centre.copy()
    for _ in range(50):
        odds = 1 / (1 + np.exp(-np.clip(columns @ solution, -30, 30)))
        slope = columns.T @ (weights * (odds - gold)) + penalty * (solution - centre)
        curve = (columns * (weights * odds * (1 - odds))[:, None]).T @ columns
        step = np.linalg.solve(curve + np.diag(penalty), slope)
        solution -= step
        if np.abs(step).max() < 1e-6:
            break
    return solution
