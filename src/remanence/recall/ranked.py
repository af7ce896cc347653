"""A pool after the ranker has weighed it: the order, the scores and what they are made of."""

from __future__ import annotations

from dataclasses import dataclass

from remanence.model.embedding import FloatArray
from remanence.recall.lexical import Rows
from remanence.recall.ranker import families
from remanence.recall.signals import Scene


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """A pool with its scores, best first."""

    scene: Scene
    order: Rows  # places in the pool, best first
    scores: FloatArray
    names: tuple[str, ...]
    shares: FloatArray

    def signals(self, place: int, base: float) -> dict[str, float]:
        """The shares of one memory by family; they add up to its score."""
        return {"base": base, **families(self.names, self.shares[place])}

    def details(self, place: int) -> dict[str, float]:
        """Every share of one memory by its full name."""
        return {n: float(s) for n, s in zip(self.names, self.shares[place], strict=True)}
