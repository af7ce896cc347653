"""Variety among the hits: each next one is weighed against what has been chosen already (MMR)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from remanence.model.embedding import FloatArray
from remanence.recall.adapter import LEARNED
from remanence.recall.postings import Rows
from remanence.recall.ranker import Ranker, families
from remanence.recall.scene import Scene


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


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """All memories of all pools of a search: in which scene each stands, where, and its shares."""

    scenes: Sequence[Scene]
    scene: Rows
    place: Rows
    shares: FloatArray
    scores: FloatArray

    @classmethod
    def of(cls, scenes: Sequence[Scene], shares: Sequence[FloatArray], base: float) -> Ranked:
        """Put the pools together in the order of their scores; among equals the newest first."""
        scene = np.repeat(np.arange(len(scenes)), [len(s.rows) for s in scenes])
        place = np.concatenate([np.arange(len(s.rows)) for s in scenes])
        happened = np.concatenate([s.columns.happened[s.rows] for s in scenes])
        joined = np.concatenate(shares)
        scores = joined.sum(axis=1) + np.float32(base)
        order = np.lexsort((-happened, -scores))
        return cls(scenes, scene[order], place[order], joined[order], scores[order])

    def __len__(self) -> int:
        return len(self.scores)

    def first(self, places: Rows) -> Ranked:
        """Only these, in this order."""
        return Ranked(
            self.scenes,
            self.scene[places],
            self.place[places],
            self.shares[places],
            self.scores[places],
        )

    def rows(self) -> Iterator[tuple[Scene, int]]:
        """The scene and the row in its columns of each memory."""
        for scene, place in zip(self.scene.tolist(), self.place.tolist(), strict=True):
            yield self.scenes[scene], int(self.scenes[scene].rows[place])

    def keys(self) -> list[int]:
        """The key of each memory."""
        return [int(scene.columns.key[row]) for scene, row in self.rows()]

    def vectors(self) -> FloatArray:
        """The vector of each memory's best piece."""
        found = [self.scenes[s].vectors[p] for s, p in zip(self.scene, self.place, strict=True)]
        return np.stack(found)

    def signals(self, ranker: Ranker) -> list[dict[str, float]]:
        """Each memory's shares by family; they add up to its score."""
        base = {"base": ranker.base}
        return [base | found for found in families(self._parts(ranker), self.shares)]

    def details(self, ranker: Ranker) -> list[dict[str, float]]:
        """Each memory's shares by their full names."""
        rows, parts = self.shares.tolist(), self._parts(ranker)
        return [{"base": ranker.base, **dict(zip(parts, row, strict=True))} for row in rows]

    def _parts(self, ranker: Ranker) -> tuple[str, ...]:
        """The names of the shares: those of `LEARNED` only where an adapter took part."""
        return (*ranker.parts, *LEARNED)[: self.shares.shape[1]]
