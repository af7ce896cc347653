"""What an adapter makes of a question: the words it means, the rows it brings up, its shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from remanence.model.embedding import FloatArray, QueryEmbedding
from remanence.model.ports.store import RecallSource
from remanence.model.ports.vector_index import VectorIndex
from remanence.recall.adapter import LEARNED, Adapter, Learned
from remanence.recall.columns import Columns
from remanence.recall.conditions import Mask
from remanence.recall.lexical import WordScores, word_scores
from remanence.recall.postings import Rows
from remanence.recall.question import Question
from remanence.recall.scene import Scene, figures_of

# How many of the best by vector and by words join the pool.
FEW = 40


# A word in more memories than this marks none of them.
MANY = 20_000


class Adapting:
    """Puts adapters to use in a search over the store and the vector index."""

    def __init__(self, source: RecallSource, vectors: Callable[[], VectorIndex]) -> None:
        self._source = source
        self._vectors = vectors

    def learned(
        self,
        adapter: Adapter,
        question: Question,
        embedded: QueryEmbedding | None,
        columns: Columns,
        partition: int,
    ) -> Learned:
        """The question as the adapter understands it."""
        meant = adapter.meant(question.terms)
        words = np.zeros(0, np.float32)
        if meant:
            found = self._source.postings(partition, list(meant), MANY)
            words = led_to(word_scores(columns, list(meant), found, MANY), meant)
        vector = None if embedded is None else adapter.moved(embedded.vector)
        return Learned(adapter, vector, words)

    def lured(self, learned: Learned, columns: Columns, mask: Mask, partition: int) -> Rows:
        """The rows that it alone may bring up."""
        by_words = learned.best_by_words(FEW)
        if learned.vector is None or not learned.adapter.out.size:
            return by_words
        keys = None if columns.whole and mask.all() else np.sort(columns.key[mask])
        near = self._vectors().nearest(partition, learned.vector, FEW, keys, exact=False)
        by_vector = columns.rows_of(near.keys[:FEW])
        return np.unique(np.concatenate([by_words, by_vector[by_vector >= 0]]))


def led_to(words: WordScores, meant: Mapping[str, float]) -> FloatArray:
    """How strongly bridges lead to each row: its part of the best, times the best bridge."""
    total = words.weighed(np.array(list(meant.values()), np.float32))
    best = float(total.max(initial=0))
    if best <= 0:
        return np.zeros(0, np.float32)
    return np.asarray(total * (max(meant.values()) / best), np.float32)


def learned_shares(scene: Scene) -> FloatArray:
    """What an adapter adds to each memory of the pool beside the ranker's own signals."""
    if scene.learned is None:
        return np.zeros((len(scene.rows), len(LEARNED)), np.float32)
    figures = scene.learned.figures(scene.vectors, scene.dense, scene.rows)
    return figures_of(figures * np.array(scene.learned.adapter.weights, np.float32))
