"""A scene: one question before one partition's pool, with the raw figures of every memory in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import FloatArray
from remanence.recall.adapter import Learned
from remanence.recall.candidates import Pool, session_values
from remanence.recall.columns import Columns
from remanence.recall.evidence import Evidence
from remanence.recall.late import weighted
from remanence.recall.lexical import Rows, WordScores
from remanence.recall.understand import Question

LEADING = 3
CHATTY = 100
TALKATIVE = 500
WINDOW = (-2, -1, 0, 1, 2)
STRETCH = (-3, -2, -1, 1)
DAY = 86_400_000_000
# A time said more vaguely than in so many days, or than so often the question's own, says little.
VAGUE_DAYS = 32
VAGUE_TIMES = 4


def figures_of(values: NDArray[Any]) -> FloatArray:
    """Any array as 32-bit figures."""
    return np.asarray(values, np.float32)


def flagged(values: NDArray[np.bool_]) -> FloatArray:
    """True as 1, false as 0."""
    return figures_of(values)


@dataclass(frozen=True, eq=False)
class Scene:
    """All that is known about one question and one partition's pool, computed once, on demand."""

    question: Question
    partition: int
    columns: Columns
    pool: Pool
    words: WordScores  # of the question without the names of people
    evidence: Evidence
    token_weights: FloatArray
    people: frozenset[int]
    reached: FloatArray  # by row, how strongly the question's names lead there, or empty
    degraded: str = ""
    learned: Learned | None = None

    @property
    def rows(self) -> Rows:
        """The pool's rows."""
        return self.pool.rows

    @cached_property
    def window(self) -> dict[int, FloatArray]:
        """Term scores (terms, pool) of the turns around each memory of the pool."""
        rows = np.concatenate([self._around(n) for n in WINDOW])
        found = self.words.values(rows).reshape(-1, len(WINDOW), len(self.rows))
        return {n: found[:, place] for place, n in enumerate(WINDOW)}

    def _around(self, offset: int) -> Rows:
        return self.rows if offset == 0 else self.columns.neighbours(self.rows, offset)

    def words_at(self, offset: int) -> FloatArray:
        """The word score of the turn at that distance."""
        return figures_of(self.window[offset].sum(axis=0))

    @cached_property
    def dense(self) -> FloatArray:
        """The cosine of each memory's best piece."""
        return self.evidence.at(self.evidence.best, self.rows)

    @cached_property
    def dense_before(self) -> FloatArray:
        """The cosine of the turn before."""
        return self.evidence.at(self.evidence.best, self._around(-1))

    @cached_property
    def vectors(self) -> FloatArray:
        """The vector of each memory's best piece."""
        return self.evidence.at(self.evidence.vectors, self.rows)

    @cached_property
    def session_words(self) -> FloatArray:
        """The word score of each memory's session."""
        return session_values(self.columns, self.rows, self.words.sessions[0])

    @cached_property
    def matches(self) -> FloatArray:
        """Token matches of each memory."""
        return self.evidence.at(self.evidence.matches, self.rows)

    @cached_property
    def bare(self) -> NDArray[np.bool_]:
        """Which memories have no vectors, because they are not embedded yet."""
        return self.evidence.places(self.rows) < 0

    @cached_property
    def late(self) -> FloatArray:
        """Late interaction of each memory alone.

        Its cosine where there are no tokens to compare; the share of the question that its words
        cover where there are no vectors, since a word meets itself fully.
        """
        compared = self.dense
        if self.token_weights.any():
            compared = weighted(self.matches, self.token_weights)
        return np.where(self.bare, self.words.share(self.window[0] > 0), compared)

    @cached_property
    def late_pair(self) -> FloatArray:
        """The same with the better of the memory and the turn before, token by token."""
        compared = np.maximum(self.dense, self.dense_before)
        if self.token_weights.any():
            before = self.evidence.at(self.evidence.matches, self._around(-1))
            compared = weighted(np.maximum(self.matches, before), self.token_weights)
        covered = self.words.share((self.window[0] > 0) | (self.window[-1] > 0))
        return np.where(self.bare, covered, compared)

    @cached_property
    def late_around(self) -> FloatArray:
        """The same with the best of the stretch of talk it stands in, as far as that was read."""
        if not self.token_weights.any():
            return self.late_pair
        best = self.matches
        for offset in STRETCH:
            there = self.evidence.at(self.evidence.matches, self._around(offset))
            best = np.maximum(best, there)
        return np.where(self.bare, self.late_pair, weighted(best, self.token_weights))

    @cached_property
    def speaker_named(self) -> FloatArray:
        """1 where the speaker is a person the question names."""
        if not self.people:
            return np.zeros(len(self.rows), np.float32)
        return flagged(np.isin(self.columns.speaker[self.rows], list(self.people)))

    @cached_property
    def graph(self) -> FloatArray:
        """How strongly the names in the question lead to each memory."""
        if not len(self.reached):
            return np.zeros(len(self.rows), np.float32)
        return self.reached[self.rows]

    def session_best(self, values: FloatArray) -> FloatArray:
        """Mean of the three best values of each memory's session among the pool."""
        session = self.columns.session[self.rows]
        order = np.lexsort((-values, session))
        ordered = session[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-2))
        place = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
        leading = (place < LEADING) & (ordered >= 0)
        count = int(session.max(initial=-1)) + 1
        total = np.bincount(ordered[leading], values[order][leading], minlength=count)
        share = np.bincount(ordered[leading], minlength=count)
        means = np.append(total / np.maximum(share, 1), 0)
        return figures_of(means[session])

    @cached_property
    def wordiness(self) -> float:
        """0 where memories are short as in chat, 1 where they are long as in essays."""
        low, high = np.log(CHATTY), np.log(TALKATIVE)
        return float(np.clip((self.columns.log_characters - low) / (high - low), 0, 1))

    @cached_property
    def date_match(self) -> FloatArray:
        """1 inside the time the question speaks of, falling with the distance outside.

        A memory is of the time it was said at, and of the time it speaks of.
        """
        period = self.question.period
        if period is None:
            return np.zeros(len(self.rows), np.float32)
        start, end = period.start.timestamp() * 1e6, period.end.timestamp() * 1e6
        happened = self.columns.happened[self.rows]
        gap = np.maximum(np.maximum(start - happened, happened - end), 0)
        gap = np.minimum(gap, self._gap_of_said(start, end))
        return figures_of(np.exp(-gap / max(end - start, 3 * DAY)))

    def _gap_of_said(self, start: float, end: float) -> NDArray[np.float64]:
        """How far the time each memory speaks of lies from that one; infinite without one."""
        first = self.columns.said_from[self.rows] * float(DAY)
        last = self.columns.said_to[self.rows] * float(DAY)
        vague = max(VAGUE_TIMES * (end - start), VAGUE_DAYS * DAY)
        said = (last > first) & (last - first <= vague)
        return np.where(said, np.maximum(np.maximum(start - last, first - end), 0), np.inf)

    @cached_property
    def flags(self) -> NDArray[np.uint8]:
        """What sort of sentence each memory is."""
        return self.columns.flags[self.rows]

    def has(self, flag: int) -> FloatArray:
        """1 where the text has that trait."""
        return flagged(self.flags & flag != 0)
