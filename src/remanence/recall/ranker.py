"""The ranker: a weighted sum of standardised signals, so that its terms are the explanation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from remanence.model.embedding import FloatArray

OUTDATED = "time.superseded"
# What the score holds beside the ranker's own signals.
EXTRA = ("importance", "recency", "behind", "time.newer", OUTDATED)


@dataclass(frozen=True, slots=True, eq=False)
class Ranker:
    """score = base + sum of weight x (signal - mean) / scale; an unknown signal adds nothing."""

    names: tuple[str, ...]
    mean: FloatArray
    scale: FloatArray
    weight: FloatArray
    base: float

    @classmethod
    def from_table(cls, table: Mapping[str, tuple[float, float, float]], base: float) -> Ranker:
        """A ranker from {signal: (mean, scale, weight)}."""
        figures = np.array(list(table.values()), np.float32).reshape(-1, 3)
        return cls(tuple(table), figures[:, 0], figures[:, 1], figures[:, 2], base)

    def shares(self, figures: FloatArray) -> FloatArray:
        """What each signal adds to each memory's score."""
        shares = self.weight * (figures - self.mean) / self.scale
        return np.where(np.isnan(shares), np.float32(0), shares).astype(np.float32)

    def changed(self, change: Mapping[str, float]) -> Ranker:
        """The same with other weights; signals it does not have are passed over."""
        more = np.array([change.get(name, 0.0) for name in self.names], np.float32)
        return Ranker(self.names, self.mean, self.scale, self.weight + more, self.base)

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of all a score is made of, `base` aside."""
        return (*self.names, *EXTRA)


def families(names: tuple[str, ...], shares: FloatArray) -> list[dict[str, float]]:
    """Each memory's shares summed by family: the part of a signal's name before the dot."""
    known, member = _members(names)
    sums = (shares @ member).tolist()
    return [dict(zip(known, row, strict=True)) for row in sums]


@lru_cache(maxsize=8)
def _members(names: tuple[str, ...]) -> tuple[list[str], FloatArray]:
    first = [name.partition(".")[0] for name in names]
    known = list(dict.fromkeys(first))
    return known, np.array([[family == name for family in known] for name in first], np.float32)
