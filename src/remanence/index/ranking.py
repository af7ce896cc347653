"""The best of what was scored."""

from __future__ import annotations

import numpy as np

from remanence.ports.vector_index import Nearest


def nothing() -> Nearest:
    """No pieces."""
    return Nearest(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))


def together(one: Nearest, other: Nearest) -> Nearest:
    """All pieces of both, in no order."""
    return Nearest(
        np.concatenate([one.keys, other.keys]),
        np.concatenate([one.parts, other.parts]),
        np.concatenate([one.scores, other.scores]),
    )


def best(found: Nearest, limit: int) -> Nearest:
    """The `limit` best, best first; equals by key and part."""
    rows = np.arange(len(found.scores))
    if 0 < limit < len(rows):
        rows = np.flatnonzero(found.scores >= np.partition(found.scores, -limit)[-limit])
    keys, parts, scores = found.keys[rows], found.parts[rows], found.scores[rows]
    order = np.lexsort((parts, keys, -scores))[: max(limit, 0)]
    return Nearest(keys[order], parts[order], scores[order])
