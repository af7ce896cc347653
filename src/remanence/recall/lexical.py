"""Word scores: BM25 over a partition's own statistics, from the question's postings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import FloatArray
from remanence.model.ports.store import Keys
from remanence.recall.columns import Columns
from remanence.recall.postings import Posting, Rows, idf_of, posting_of


class WordScores:
    """How well each memory of a partition, its surroundings and its session match the terms."""

    def __init__(
        self, columns: Columns, terms: Sequence[str], postings: Sequence[Posting], most: int = 0
    ) -> None:
        """A posting is common if its term occurs more than `most` times."""
        self._columns = columns
        self._most = most
        self.terms = list(terms)
        self.postings = list(postings)

    @cached_property
    def idf(self) -> FloatArray:
        """The worth of each term."""
        return np.array([p.idf for p in self.postings], np.float32)

    @cached_property
    def worth(self) -> dict[str, float]:
        """The worth of each term, of a common one what it can be at most."""
        common = idf_of(len(self._columns), min(self._most, len(self._columns)))
        found = zip(self.terms, self.postings, strict=True)
        return {term: common if posting.common else posting.idf for term, posting in found}

    def without(self, names: frozenset[str]) -> WordScores:
        """The same scores with some terms left out (all of them stay if none would be left)."""
        keep = [n for n, term in enumerate(self.terms) if term not in names]
        if not keep or len(keep) == len(self.terms):
            return self
        terms, postings = zip(*((self.terms[n], self.postings[n]) for n in keep), strict=True)
        return WordScores(self._columns, terms, postings)

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """The word score of every row of the partition."""
        if not self.postings:
            return np.zeros(len(self._columns))
        rows = np.concatenate([p.rows for p in self.postings])
        scores = np.concatenate([p.scores for p in self.postings])
        return np.asarray(np.bincount(rows, scores, minlength=len(self._columns)), np.float64)

    def weighed(self, weights: FloatArray) -> NDArray[np.float64]:
        """The word score of every row, each term as heavy as its weight."""
        total = np.zeros(len(self._columns))
        for weight, posting in zip(weights.tolist(), self.postings, strict=True):
            np.add.at(total, posting.rows, weight * posting.scores)
        return total

    def values(self, rows: Rows) -> FloatArray:
        """Score of each term in each of these rows: (terms, rows); 0 where a row is -1."""
        out = np.zeros((len(self.postings), len(rows)), np.float32)
        for number, posting in enumerate(self.postings):
            if len(posting.rows):
                places = posting.rows.searchsorted(rows)
                places[places == len(posting.rows)] = 0
                out[number] = posting.scores[places] * (posting.rows[places] == rows)
        return out

    def share(self, present: NDArray[np.bool_]) -> FloatArray:
        """The part of the question's worth that is covered: (terms, rows) to (rows,)."""
        total = float(self.idf.sum())
        return (self.idf @ present) / total if total else np.zeros(present.shape[1], np.float32)

    @cached_property
    def sessions(self) -> FloatArray:
        """The word score of every session of the partition."""
        known = len(self._columns.session_terms)
        if not self.postings:
            return np.zeros(known, np.float32)
        sessions = np.concatenate([p.sessions for p in self.postings])
        scores = np.concatenate([p.session_scores for p in self.postings])
        return np.bincount(sessions, scores, minlength=known).astype(np.float32)


def word_scores(
    columns: Columns, terms: Sequence[str], found: Sequence[Keys | None], most: int = 0
) -> WordScores:
    """The scores of terms that have these keys; None for one that occurs more than `most` times."""
    return WordScores(columns, terms, [posting_of(columns, keys) for keys in found], most)
