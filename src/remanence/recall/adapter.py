"""The retrieval adapter in a search: what feedback taught about one user's way of asking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from remanence.model.embedding import FloatArray
from remanence.recall.postings import Rows
from remanence.recall.ranker import Ranker

# What an adapter adds to the score, beside a change of the ranker's own weights.
LEARNED = ("learned.vector", "learned.words")
# Of the words that one question may lead to.
MOST_WORDS = 24


@dataclass(frozen=True, slots=True, eq=False)
class Adapter:
    """A near-identical map of the question's vector, bridges between words, other weights.

    The question q becomes unit(q + out·(intoᵀq)). A bridge leads from a word of questions (or two
    that follow each other) to words of memories, each as strong as 0 to 1. `weights` are those of
    `LEARNED`; `ranker` is the search's own with this user's weights.
    """

    version: int
    out: FloatArray  # (dimension, rank)
    into: FloatArray  # (dimension, rank)
    bridges: Mapping[str, Mapping[str, float]]
    weights: tuple[float, float]
    ranker: Ranker

    def moved(self, vector: FloatArray) -> FloatArray:
        """The question's vector as this user means it; itself where nothing was learned."""
        if not self.out.size:
            return vector
        turned = vector + self.out @ (self.into.T @ vector)
        length = float(np.linalg.norm(turned))
        return np.asarray(turned / length, np.float32) if length > 1e-6 else vector

    def meant(self, terms: Sequence[str]) -> dict[str, float]:
        """The words that the question's terms lead to, strongest first, its own left out."""
        found: dict[str, float] = {}
        for unit in units(terms):
            for word, strength in self.bridges.get(unit, {}).items():
                found[word] = max(found.get(word, 0.0), strength)
        others = [(word, strength) for word, strength in found.items() if word not in terms]
        return dict(sorted(others, key=lambda one: (-one[1], one[0]))[:MOST_WORDS])


def units(terms: Sequence[str]) -> Iterator[str]:
    """What a bridge may begin at: each term, and each two that follow each other."""
    yield from terms
    yield from (" ".join(pair) for pair in pairwise(terms))


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What an adapter makes of one question in one partition."""

    adapter: Adapter
    vector: FloatArray | None  # the moved question
    words: FloatArray  # by row, 0 to 1; empty where no bridge leads anywhere

    def best_by_words(self, count: int) -> Rows:
        """The rows that bridges lead to most strongly."""
        best = np.argsort(-self.words, kind="stable")[:count]
        return np.asarray(best[self.words[best] > 0], np.int64)

    def figures(self, vectors: FloatArray, dense: FloatArray, rows: Rows) -> FloatArray:
        """The figures of `LEARNED` for these rows: (rows, 2)."""
        nearer = np.zeros(len(rows), np.float32)
        if self.vector is not None and len(vectors):
            nearer = np.where(vectors.any(axis=1), vectors @ self.vector - dense, 0)
        words = self.words[rows] if len(self.words) else np.zeros(len(rows), np.float32)
        return np.column_stack([nearer, words]).astype(np.float32)
