"""What an engine must do to follow the store: few verbs over numbers and vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from remanence.index.bits.rows import unpacked
from remanence.model.embedding import FloatArray
from remanence.ports.store import Keys
from remanence.ports.vector_index import Nearest

PART_BITS = 14  # a memory of the longest text has some 10,000 pieces
MOST = 1000  # points a request; in a folder, 5,461 is Chroma's own limit
NUMBERS = 1_000_000  # a request; these are 12 MB of JSON, and Qdrant takes 32 MB


class EngineDown(Exception):
    """The engine did not do what it was asked; the message says why and what would help."""


class Refused(EngineDown):
    """The engine answers, but takes this one request amiss; others it may do."""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Pieces as an engine takes them: memory key, part and float vector of each."""

    keys: Keys
    parts: NDArray[np.int64]
    vectors: FloatArray

    def __len__(self) -> int:
        return len(self.keys)

    def slices(self) -> Iterable[Points]:
        """The same points, as many at a time as a request may have."""
        size = max(1, min(MOST, NUMBERS // max(self.vectors.shape[1], 1)))
        for at in range(0, len(self), size):
            cut = slice(at, at + size)
            yield Points(self.keys[cut], self.parts[cut], self.vectors[cut])


def points_of(found: Iterable[tuple[int, int, bytes]], dimension: int) -> Points:
    """Points of (key, part, packed vector)."""
    rows = unpacked(found, dimension)
    return Points(rows.keys, rows.parts, rows.values * rows.steps[:, None])


class Engine(Protocol):
    """One collection of a vector database, with the position of each partition in it.

    A position lies beside the points it speaks of, so that who loses them loses it too. Every
    verb raises `EngineDown` when it fails or takes too long; a write that failed may have been
    done. What a write has returned from, every later read sees. Thread-safe.
    """

    chooses: int  # how many allowed memories a search can be told of

    def ensure(self, collection: str, dimension: int) -> None:
        """Connect, and make the collection if it is not there; called again in a forked child."""

    def nearest(
        self, partition: int, vector: FloatArray, limit: int, allowed: Keys | None = None
    ) -> Nearest:
        """Nearly the nearest points of the partition, of `allowed` memories; best first."""

    def position(self, partition: int) -> int | None:
        """How far the partition has followed its feed; None if it was never filled."""

    def replace(self, partition: int, keys: Sequence[int], points: Points, position: int) -> None:
        """Make these memories have exactly these points, then move the position, if there is one.

        A position that was lost meanwhile stays lost: the rest of the points went with it.
        """

    def upsert(self, partition: int, points: Points) -> None:
        """Add points to a partition that is being filled."""

    def set_position(self, partition: int, position: int) -> None:
        """Say that the partition is filled up to there."""

    def clear(self, partition: int) -> None:
        """Remove the partition's points and position."""

    def count(self, partition: int | None = None) -> int:
        """How many points a partition has, or all of them."""

    def drop(self) -> None:
        """Remove the collection; `ensure` makes it anew."""

    def close(self) -> None:
        """Disconnect."""
