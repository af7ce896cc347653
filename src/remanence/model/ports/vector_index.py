"""The VectorIndex port: nearest pieces of a partition, kept up to date by the change feed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import FloatArray
from remanence.model.ports.store import Keys
from remanence.model.progress import Progress


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """Pieces nearest to a vector, best first: memory key, part and cosine of each.

    `degraded` says why another index than the one asked for has answered, if so.
    """

    keys: Keys
    parts: NDArray[np.int64]
    scores: FloatArray
    degraded: str = ""

    @classmethod
    def nothing(cls) -> Nearest:
        """No pieces."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))

    def take(self, rows: NDArray[np.bool_ | np.intp]) -> Nearest:
        """Only these of the pieces, in that order."""
        return Nearest(self.keys[rows], self.parts[rows], self.scores[rows])

    def together(self, other: Nearest) -> Nearest:
        """All pieces of both, in no order."""
        return Nearest(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.parts, other.parts]),
            np.concatenate([self.scores, other.scores]),
        )

    def best(self, limit: int) -> Nearest:
        """The `limit` best, best first; equals by key and part."""
        some = self
        if 0 < limit < len(self.scores):
            some = self.take(self.scores >= np.partition(self.scores, -limit)[-limit])
        order = np.lexsort((some.parts, some.keys, -some.scores))
        return some.take(order[: max(limit, 0)])


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStats:
    """What the index holds, and how far behind the store it is (in feed entries it knows of)."""

    vectors: int = 0
    bytes_in_memory: int = 0
    behind: int = 0
    healthy: bool = True
    detail: str = ""


class VectorIndex(Protocol):
    """A cache over the store's pieces of one fingerprint; it can always be rebuilt from there.

    Before every answer it applies the partition's feed up to the store's position, idempotently;
    one that cannot raises `IndexUnavailable`. Thread-safe.
    """

    def nearest(
        self,
        partition: int,
        vector: FloatArray,
        limit: int,
        allowed: Keys | None = None,
        *,
        exact: bool = True,
    ) -> Nearest:
        """The nearest pieces among those of `allowed` memories (ascending keys; None: all).

        At least `limit` pieces come back whenever that many are there. With `exact=False` an
        index may give estimated scores, and parts of 0, to callers who look closer themselves.
        """

    def stats(self) -> IndexStats:
        """Size and position."""

    def flush(self, partitions: Iterable[int] = ()) -> bool:
        """Let nothing stay that the store has erased, in these partitions or in those used here.

        A cache file, if there is one, is written, so that the next start is quick. False if an
        index elsewhere cannot be reached now, and does it when it is back.
        """

    def rebuild(self, progress: Progress | None = None) -> None:
        """Forget everything, cache file included, and make it anew from the store.

        An index that reads the store on demand may leave that to the next search.
        """

    def close(self) -> None:
        """Flush and release; safe to call twice."""
