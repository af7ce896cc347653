"""A scene: one question before one partition's pool, with the raw figures of every memory in it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.language.traits import QUESTION
from remanence.model.embedding import FloatArray
from remanence.recall.adapter import Learned
from remanence.recall.candidates import Pool, said_by
from remanence.recall.columns import ALONE, ROLES, Columns
from remanence.recall.evidence import Evidence, weighted
from remanence.recall.lexical import WordScores
from remanence.recall.postings import Rows
from remanence.recall.question import Question

LEADING = 3
CHATTY = 100
TALKATIVE = 500
WINDOW = (-2, -1, 0, 1, 2)
_WINDOW = np.array(WINDOW)[:, None]
STRETCH = (-3, -2, -1, 1)
DAY = 86_400_000_000
# A time said more vaguely than in so many days, or than so often the question's own, says little.
VAGUE_DAYS = 32
# Cosine from which a newer memory may say the same anew: of any, and of those asked how it is now.
ALIKE, NOW_ALIKE = 0.7, 0.5
AS_NEAR = 0.85
VAGUE_TIMES = 4


def figures_of(values: NDArray[Any]) -> FloatArray:
    """Any array as 32-bit figures; true is 1, false is 0."""
    return np.asarray(values, np.float32)


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
    apart: Rows = field(default_factory=lambda: np.zeros(0, np.int64))  # as if not there

    @property
    def rows(self) -> Rows:
        """The pool's rows."""
        return self.pool.rows

    @cached_property
    def windows(self) -> FloatArray:
        """Term scores (terms, window, pool) of the turns around each memory of the pool."""
        rows = self.columns.neighbours(self.rows, _WINDOW)
        rows[WINDOW.index(0)] = self.rows
        self._neighbours.update(zip(WINDOW, rows, strict=True))
        return self.words.values(rows.ravel()).reshape(-1, len(WINDOW), len(self.rows))

    @cached_property
    def window(self) -> dict[int, FloatArray]:
        """The same by distance: (terms, pool)."""
        return {n: self.windows[:, place] for place, n in enumerate(WINDOW)}

    @cached_property
    def _neighbours(self) -> dict[int, Rows]:
        return {0: self.rows}

    def around(self, offset: int) -> Rows:
        """The row of the turn at that distance, -1 where there is none."""
        if offset not in self._neighbours:
            self._neighbours[offset] = self.columns.neighbours(self.rows, offset)
        return self._neighbours[offset]

    @cached_property
    def _places(self) -> dict[int, NDArray[np.int64]]:
        return {}

    def read(self, figures: FloatArray, offset: int = 0) -> FloatArray:
        """One of the figures of the evidence for the turn at that distance."""
        if offset not in self._places:
            self._places[offset] = self.evidence.places(self.around(offset))
        return self.evidence.at(figures, self._places[offset])

    @cached_property
    def _words(self) -> dict[int, FloatArray]:
        return dict(zip(WINDOW, figures_of(self.windows.sum(axis=0)), strict=True))

    def words_at(self, offset: int) -> FloatArray:
        """The word score of the turn at that distance."""
        return self._words[offset]

    @cached_property
    def covered(self) -> FloatArray:
        """The share of the question that each memory's words cover."""
        return self.words.share(self.window[0] > 0)

    @cached_property
    def dense(self) -> FloatArray:
        """The cosine of each memory's best piece."""
        return self.read(self.evidence.best)

    @cached_property
    def dense_before(self) -> FloatArray:
        """The cosine of the turn before."""
        return self.read(self.evidence.best, -1)

    @cached_property
    def vectors(self) -> FloatArray:
        """The vector of each memory's best piece."""
        return self.read(self.evidence.vectors)

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """Which memories are in no session: notes, facts, documents."""
        return np.asarray(self.columns.session[self.rows] == ALONE)

    @cached_property
    def session_words(self) -> FloatArray:
        """The word score of each memory's session, 0 where it has none."""
        known = self.words.sessions
        if not len(known):
            return np.zeros(len(self.rows), np.float32)
        return np.where(self.alone, np.float32(0), known[self.columns.session[self.rows]])

    @cached_property
    def matches(self) -> FloatArray:
        """Token matches of each memory."""
        return self.read(self.evidence.matches)

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
        return np.where(self.bare, self.covered, compared)

    @cached_property
    def late_pair(self) -> FloatArray:
        """The same with the better of the memory and the turn before, token by token."""
        compared = np.maximum(self.dense, self.dense_before)
        if self.token_weights.any():
            before = self.read(self.evidence.matches, -1)
            compared = weighted(np.maximum(self.matches, before), self.token_weights)
        covered = self.words.share((self.window[0] > 0) | (self.window[-1] > 0))
        return np.where(self.bare, covered, compared)

    @cached_property
    def late_rarest(self) -> FloatArray:
        """How well each memory meets the word of the question that is worth most."""
        if not self.token_weights.any():
            return self.late
        best = self.token_weights >= self.token_weights.max() * np.float32(0.8)
        return np.where(self.bare, self.late, self.matches[:, best].mean(axis=1))

    @cached_property
    def late_covered(self) -> FloatArray:
        """The part of the question's worth that each memory meets closely."""
        if not self.token_weights.any():
            return self.late
        met = np.clip((self.matches - np.float32(0.3)) * np.float32(2.5), 0, 1)
        return np.where(self.bare, self.late, weighted(met, self.token_weights))

    @cached_property
    def late_around(self) -> FloatArray:
        """The same with the best of the stretch of talk it stands in, as far as that was read."""
        if not self.token_weights.any():
            return self.late_pair
        best = self.matches
        for offset in STRETCH:
            there = self.read(self.evidence.matches, offset)
            best = np.maximum(best, there)
        return np.where(self.bare, self.late_pair, weighted(best, self.token_weights))

    @cached_property
    def by_user(self) -> FloatArray:
        """0 for what a nameless assistant said; whoever has a name takes part as a person."""
        nameless = self.columns.speaker[self.rows] == ALONE
        return figures_of((self.columns.role[self.rows] != ROLES["assistant"]) | ~nameless)

    @cached_property
    def late_before(self) -> FloatArray:
        """Late interaction of the turn before; its cosine where there are no tokens."""
        if not self.token_weights.any():
            return self.dense_before
        return weighted(self.read(self.evidence.matches, -1), self.token_weights)

    @cached_property
    def speaker_named(self) -> FloatArray:
        """1 where the speaker is a person the question names."""
        return figures_of(said_by(self.columns, self.rows, self.people))

    @cached_property
    def graph(self) -> FloatArray:
        """How strongly the names in the question lead to each memory."""
        if not len(self.reached):
            return np.zeros(len(self.rows), np.float32)
        return self.reached[self.rows]

    def session_best(self, values: FloatArray) -> FloatArray:
        """Mean of the three best values of each memory's session among the pool.

        What is in no session has its own value.
        """
        session = self.columns.session[self.rows]
        order = np.lexsort((-values, session))
        ordered = session[order]
        first = np.ones(len(order), np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
        group = np.cumsum(first) - 1
        leading = (np.arange(len(order)) - np.flatnonzero(first)[group] < LEADING) & (ordered >= 0)
        total = np.bincount(group[leading], values[order][leading], minlength=len(order))
        share = np.bincount(group[leading], minlength=len(order))
        means = np.empty(len(order), np.float32)
        means[order] = (total / np.maximum(share, 1))[group]
        return np.where(self.alone, values, means)

    @cached_property
    def wordiness(self) -> float:
        """0 where memories are short as in chat, 1 where they are long as in essays."""
        low, high = math.log(CHATTY), math.log(TALKATIVE)
        return min(max((self.columns.log_characters - low) / (high - low), 0.0), 1.0)

    @cached_property
    def date_match(self) -> FloatArray:
        """1 inside the time the question speaks of, falling with the distance outside.

        A memory is of the time it was said at, and of the time it speaks of.
        """
        period = self.question.period
        if period is None:
            return np.zeros(len(self.rows), np.float32)
        start, end = period.start.timestamp() * 1e6, period.end.timestamp() * 1e6
        days = [at.replace(tzinfo=UTC).timestamp() * 1e6 for at in (period.start, period.end)]
        happened = self.columns.happened[self.rows]
        gap = np.maximum(np.maximum(start - happened, happened - end), 0)
        gap = np.minimum(gap, self._gap_of_said(*days))
        return figures_of(np.exp(-gap / max(end - start, 3 * DAY)))

    @cached_property
    def outdated(self) -> FloatArray:
        """How surely a newer memory of the pool says the same anew, 0 to 1.

        It is as near to the question and says nearly the same thing, such as the same with another
        value; asked how it is now, less likeness is enough. Of the past, nothing is outdated.
        """
        question = self.question
        if question.period is not None or question.recency_cue == "earliest":
            return np.zeros(len(self.rows), np.float32)
        now = question.recency_cue == "latest"
        least, near_enough = (NOW_ALIKE, AS_NEAR) if now else (ALIKE, 1.0)
        happened = self.columns.happened[self.rows]
        newer = happened[None] > happened[:, None]
        near = self.late[None] >= self.late[:, None] * np.float32(near_enough)
        alike = np.where(newer & near, self.vectors @ self.vectors.T, 0).max(axis=1, initial=0)
        return figures_of(np.clip((alike - least) / (1 - least) * 2, 0, 1))

    @cached_property
    def in_time(self) -> FloatArray:
        """1 inside the time the question speaks of, if it asks for nothing else."""
        return figures_of(self.date_match >= 1) * np.float32(self.question.of_time_alone)

    def _gap_of_said(self, start: float, end: float) -> NDArray[np.float64]:
        """How far the days each memory speaks of lie from those; infinite without any."""
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
        return figures_of(self.flags & flag != 0)

    @cached_property
    def answered(self) -> FloatArray:
        """1 for a question that another person took up: what was asked for stands after it."""
        after, columns = self.around(1), self.columns
        nameless = columns.speaker[after] == ALONE
        other = columns.speaker[after] != columns.speaker[self.rows]
        person = other & ~(nameless & (columns.role[after] == ROLES["assistant"]))
        return figures_of((after >= 0) & person & (self.flags & QUESTION != 0))

    @cached_property
    def answers(self) -> FloatArray:
        """1 where the turn before asks and somebody else spoke."""
        before = self.around(-1)
        asked = (self.columns.flags[before] & QUESTION) != 0
        other = self.columns.speaker[before] != self.columns.speaker[self.rows]
        return figures_of((before >= 0) & asked & other)
