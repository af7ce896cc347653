"""The ranker: a weighted sum of standardised signals, so that its terms are the explanation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from remanence.model.embedding import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Ranker:
    """score = base + sum of weight x (signal - mean) / scale."""

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
        return (self.weight * (figures - self.mean) / self.scale).astype(np.float32)


def families(names: Iterable[str], shares: FloatArray) -> dict[str, float]:
    """The shares of one memory, summed by family: the part of a signal's name before the dot."""
    summed: dict[str, float] = {}
    for name, share in zip(names, shares, strict=True):
        family = name.partition(".")[0]
        summed[family] = summed.get(family, 0.0) + float(share)
    return summed
