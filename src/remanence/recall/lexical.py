"""Word scores: BM25 over a partition's own statistics, from the question's postings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import FloatArray
from remanence.ports.store import Keys
from remanence.recall.columns import Columns

K1 = 1.2
B = 0.75

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Posting:
    """One term: the rows that hold it (ascending), how often, and what it is worth."""

    rows: Rows
    counts: FloatArray
    idf: float
    scores: FloatArray
    common: bool = False


class WordScores:
    """How well each memory of a partition, its surroundings and its session match the terms."""

    def __init__(
        self, columns: Columns, terms: Sequence[str], found: Sequence[Keys | None], most: int = 0
    ) -> None:
        """`found` are the terms' postings; None for one that occurs more than `most` times."""
        self._columns = columns
        self._most = most
        self.terms = list(terms)
        self.postings = [_posting(columns, keys) for keys in found]

    @cached_property
    def idf(self) -> FloatArray:
        """The worth of each term."""
        return np.array([p.idf for p in self.postings], np.float32)

    @cached_property
    def worth(self) -> dict[str, float]:
        """The worth of each term, of a common one what it can be at most."""
        common = _idf(len(self._columns), min(self._most, len(self._columns)))
        found = zip(self.terms, self.postings, strict=True)
        return {term: common if posting.common else posting.idf for term, posting in found}

    def without(self, names: frozenset[str]) -> WordScores:
        """The same scores with some terms left out (all of them stay if none would be left)."""
        keep = [n for n, term in enumerate(self.terms) if term not in names]
        if not keep or len(keep) == len(self.terms):
            return self
        other = WordScores(self._columns, [], [])
        other.terms = [self.terms[n] for n in keep]
        other.postings = [self.postings[n] for n in keep]
        return other

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
        count = len(self._columns.lexicons.sessions.names)
        score = np.zeros(count, np.float32)
        lengths = self._columns.session_terms
        average = max(float(lengths.mean()), 1.0) if count else 1.0
        for posting in self.postings:
            having, counted = _by_session(self._columns, posting)
            idf = _idf(count, len(having))
            score[having] += _bm25(counted, lengths[having], average, idf)
        return score


def _by_session(columns: Columns, posting: Posting) -> tuple[NDArray[np.int32], FloatArray]:
    """The sessions that hold a term, ascending as the rows are, and how often."""
    session = columns.session[posting.rows]
    alone = int(session.searchsorted(0))
    session, counts = session[alone:], posting.counts[alone:]
    if not len(session):
        return session, counts
    starts = _starts(session)
    return session[starts], np.add.reduceat(counts, starts)


def _starts(ascending: NDArray[np.signedinteger]) -> Rows:
    """Where each value of an ascending array, which is not empty, first stands."""
    first = np.empty(len(ascending), bool)
    first[0] = True
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return np.flatnonzero(first)


def _posting(columns: Columns, keys: Keys | None) -> Posting:
    if keys is None:
        nothing = np.zeros(0, np.float32)
        return Posting(np.zeros(0, np.int64), nothing, 0.0, nothing, common=True)
    rows, weights = _counted(columns, keys)
    idf = _idf(len(columns), len(rows))
    scores = _bm25(weights, columns.terms[rows], columns.average_terms, idf)
    return Posting(rows, weights, idf, scores)


def _counted(columns: Columns, keys: Keys) -> tuple[Rows, FloatArray]:
    """The rows of ascending keys with repeats, ascending, and how often each stands there."""
    if not len(keys):
        return keys, np.zeros(0, np.float32)
    starts = _starts(keys)
    counts = np.empty(len(starts), np.float32)
    counts[:-1] = starts[1:] - starts[:-1]
    counts[-1] = len(keys) - starts[-1]
    rows = columns.rows_of(keys[starts])
    order = np.argsort(rows, kind="stable")
    order = order[np.searchsorted(rows[order], 0) :]
    return rows[order], counts[order]


def _idf(documents: int, having: int) -> float:
    return float(np.log1p((documents - having + 0.5) / (having + 0.5)))


def _bm25(
    counts: NDArray[np.floating], lengths: NDArray[np.integer], average: float, idf: float
) -> FloatArray:
    norm = K1 * (1 - B + B * lengths / average)
    return (idf * counts * (K1 + 1) / (counts + norm)).astype(np.float32)
