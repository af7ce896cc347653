"""Variety among the hits: each next one is weighed against what has been chosen already (MMR)."""

from __future__ import annotations

import numpy as np

from remanence.model.embedding import FloatArray
from remanence.recall.ranked import Ranked

Entry = tuple[float, Ranked, int]


def diversified(entries: list[Entry], limit: int, diversity: float) -> list[Entry]:
    """Entries by (1 - d) x score - d x likeness to those before; the scores stay."""
    if len(entries) < 2:
        return entries
    vectors = np.stack([_vector(part, place) for _, part, place in entries])
    scores = np.array([score for score, _, _ in entries])
    scores = (scores - scores.min()) / max(float(np.ptp(scores)), 1e-9)
    return [entries[n] for n in _choose(scores, vectors @ vectors.T, limit, diversity)]


def _choose(scores: FloatArray, alike: FloatArray, limit: int, diversity: float) -> list[int]:
    chosen: list[int] = []
    nearest = np.zeros(len(scores))
    left = np.ones(len(scores), bool)
    for _ in range(min(limit, len(scores))):
        worth = np.where(left, (1 - diversity) * scores - diversity * nearest, -np.inf)
        best = int(np.argmax(worth))
        chosen.append(best)
        left[best] = False
        nearest = np.maximum(nearest, alike[best])
    return chosen


def _vector(part: Ranked, place: int) -> FloatArray:
    scene = part.scene
    found: FloatArray = scene.evidence.at(scene.evidence.vectors, scene.rows[place : place + 1])[0]
    return found
