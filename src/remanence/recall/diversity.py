"""Variety among the hits: each next one is weighed against what has been chosen already (MMR)."""

from __future__ import annotations

import numpy as np

from remanence.model.embedding import FloatArray
from remanence.recall.postings import Rows


def diversified(scores: FloatArray, vectors: FloatArray, limit: int, diversity: float) -> Rows:
    """Places in the order of (1 - d) x score - d x likeness to those before, scores from 0 to 1."""
    worth = (scores - scores.min(initial=0)) / max(
        float(np.ptp(scores)) if len(scores) else 0, 1e-9
    )
    chosen: list[int] = []
    nearest = np.zeros(len(scores), np.float32)
    left = np.ones(len(scores), bool)
    while len(chosen) < min(limit, len(scores)):
        value = np.where(left, (1 - diversity) * worth - diversity * nearest, -np.inf)
        best = int(np.argmax(value))
        chosen.append(best)
        left[best] = False
        nearest = np.maximum(nearest, vectors @ vectors[best])
    return np.array(chosen, np.int64)
