"""The signals: for each memory of the pool, the figures the ranker weighs. Pure NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import FloatArray
from remanence.recall.candidates import Pool, session_values, share_of_best
from remanence.recall.columns import ROLES, Columns
from remanence.recall.evidence import Evidence
from remanence.recall.late import weighted
from remanence.recall.lexical import Rows, WordScores
from remanence.recall.understand import Question
from remanence.text.flags import NAMES, NUMBER, QUESTION

SHORT = 200
LONG = 800
WINDOW = (-2, -1, 0, 1, 2)
DAY = 86_400_000_000

Figures = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Scene:
    """All that is known about one question and one partition's pool, computed once, on demand."""

    question: Question
    columns: Columns
    pool: Pool
    words: WordScores  # of the question without the names of people
    evidence: Evidence
    token_weights: FloatArray
    people: frozenset[int]

    @property
    def rows(self) -> Rows:
        """The pool's rows."""
        return self.pool.rows

    @cached_property
    def window(self) -> dict[int, FloatArray]:
        """Term scores (terms, pool) of the turns around each memory of the pool."""
        return {n: self.words.values(self._around(n)) for n in WINDOW}

    def _around(self, offset: int) -> Rows:
        return self.rows if offset == 0 else self.columns.neighbours(self.rows, offset)

    @cached_property
    def best_words(self) -> float:
        """The highest word score in the pool, never zero."""
        return max(float(self.window[0].sum(axis=0).max(initial=0)), 1e-6)

    def words_at(self, offset: int) -> FloatArray:
        """The word score of the turn at that distance, as a part of the pool's best."""
        return _figures(self.window[offset].sum(axis=0) / self.best_words)

    @cached_property
    def dense(self) -> FloatArray:
        """The cosine of each memory's best piece."""
        return self.evidence.at(self.evidence.best, self.rows)

    def dense_at(self, offset: int) -> FloatArray:
        """The cosine of the turn at that distance."""
        return self.evidence.at(self.evidence.best, self._around(offset))

    @cached_property
    def matches(self) -> FloatArray:
        """Token matches of each memory."""
        return self.evidence.at(self.evidence.matches, self.rows)

    @cached_property
    def late(self) -> FloatArray:
        """Late interaction of each memory alone."""
        return weighted(self.matches, self.token_weights)

    @cached_property
    def late_pair(self) -> FloatArray:
        """Late interaction with the better of the memory and the turn before, token by token."""
        before = self.evidence.at(self.evidence.matches, self._around(-1))
        return weighted(np.maximum(self.matches, before), self.token_weights)

    @cached_property
    def speaker_named(self) -> FloatArray:
        """1 where the speaker is a person the question names."""
        if not self.people:
            return np.zeros(len(self.rows), np.float32)
        return _flag(np.isin(self.columns.speaker[self.rows], list(self.people)))

    @cached_property
    def short(self) -> FloatArray:
        """1 for a turn that says little by itself."""
        return _flag(self.columns.characters[self.rows] < SHORT)

    @cached_property
    def session_dense(self) -> FloatArray:
        """Mean of the three best cosines of the session among the pool."""
        session = self.columns.session[self.rows]
        out = np.zeros(len(self.rows), np.float32)
        for number in np.unique(session[session >= 0]):
            inside = session == number
            out[inside] = np.sort(self.dense[inside])[-3:].mean()
        return out

    @cached_property
    def date_match(self) -> FloatArray:
        """1 inside the time the question speaks of, falling with the distance outside."""
        period = self.question.period
        if period is None:
            return np.zeros(len(self.rows), np.float32)
        start, end = period.start.timestamp() * 1e6, period.end.timestamp() * 1e6
        happened = self.columns.happened[self.rows]
        gap = np.maximum(np.maximum(start - happened, happened - end), 0)
        return _figures(np.exp(-gap / max(end - start, 3 * DAY)))

    @cached_property
    def flags(self) -> NDArray[np.uint8]:
        """What sort of sentence each memory is."""
        return self.columns.flags[self.rows]

    def has(self, flag: int) -> FloatArray:
        """1 where the text has that trait."""
        return _flag(self.flags & flag != 0)

    @cached_property
    def feedback(self) -> FloatArray:
        """Cosine with the mean vector of the three memories that look best so far."""
        vectors = self.evidence.at(self.evidence.vectors, self.rows)
        first = share_of_best(self.dense) + self.words_at(0) + share_of_best(self.late)
        leaders = np.argsort(-first, kind="stable")[:3]
        centre = vectors[leaders].mean(axis=0)
        return _figures(vectors @ (centre / max(float(np.linalg.norm(centre)), 1e-6)))


def _figures(values: NDArray[Any]) -> FloatArray:
    return np.asarray(values, np.float32)


def _flag(values: NDArray[np.bool_]) -> FloatArray:
    return _figures(values)


def _spread(values: FloatArray) -> FloatArray:
    """Values moved to 0..1 over the pool."""
    low, high = float(values.min(initial=0)), float(values.max(initial=0))
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def _window_words(s: Scene) -> FloatArray:
    return _figures(np.max([s.window[n] for n in WINDOW], axis=0).sum(axis=0) / s.best_words)


def _window_share(s: Scene) -> FloatArray:
    return s.words.share(np.any([s.window[n] > 0 for n in WINDOW], axis=0))


def _session_words(s: Scene) -> FloatArray:
    return _part(session_values(s.columns, s.rows, s.words.sessions[0]))


def _session_share(s: Scene) -> FloatArray:
    return session_values(s.columns, s.rows, s.words.sessions[1])


def _part(values: FloatArray) -> FloatArray:
    return share_of_best(values).astype(np.float32)


def _length(s: Scene) -> FloatArray:
    return np.log1p(s.columns.characters[s.rows]).astype(np.float32)


def _position(s: Scene) -> FloatArray:
    session = s.columns.session[s.rows]
    if not len(s.columns.sessions.names):
        return np.zeros(len(s.rows), np.float32)
    first, last = s.columns.session_rows[session], s.columns.session_rows[session + 1]
    place = (s.rows - first) / np.maximum(last - first, 1)
    return np.where(session >= 0, place, 0).astype(np.float32)


def _answers(s: Scene) -> FloatArray:
    before = s.columns.neighbours(s.rows, -1)
    asked = (s.columns.flags[before] & QUESTION) != 0
    other = s.columns.speaker[before] != s.columns.speaker[s.rows]
    return _flag((before >= 0) & asked & other)


def _previous_named(s: Scene) -> FloatArray:
    before = s.columns.neighbours(s.rows, -1)
    return _flag((before >= 0) & np.isin(s.columns.speaker[before], list(s.people)))


def _by_user(s: Scene) -> FloatArray:
    return _flag(s.columns.role[s.rows] != ROLES["assistant"])


def _when(s: Scene, wanted: bool, figures: FloatArray) -> FloatArray:
    return figures if wanted else np.zeros_like(figures)


def _long(s: Scene) -> FloatArray:
    return _flag(s.columns.characters[s.rows] > LONG)


SIGNALS: Mapping[str, Callable[[Scene], FloatArray]] = {
    "vector": lambda s: s.dense,
    "vector.part": lambda s: _part(s.dense),
    "vector.mean": lambda s: s.evidence.at(s.evidence.mean, s.rows),
    "vector.before": lambda s: s.dense_at(-1),
    "vector.after": lambda s: s.dense_at(1),
    "vector.session": lambda s: s.session_dense,
    "vector.feedback": lambda s: s.feedback,
    "vector.speaker": lambda s: s.dense * s.speaker_named,
    "tokens": lambda s: s.late,
    "tokens.spread": lambda s: _spread(s.late),
    "tokens.pair": lambda s: s.late_pair,
    "tokens.pair.spread": lambda s: _spread(s.late_pair),
    "tokens.speaker": lambda s: s.late * s.speaker_named,
    "tokens.pair.speaker": lambda s: s.late_pair * s.speaker_named,
    "tokens.short": lambda s: s.late * s.short,
    "tokens.pair.short": lambda s: s.late_pair * s.short,
    "words": lambda s: s.words_at(0),
    "words.share": lambda s: s.words.share(s.window[0] > 0),
    "words.speaker": lambda s: s.words_at(0) * s.speaker_named,
    "around.words": _window_words,
    "around.share": _window_share,
    "around.before": lambda s: s.words_at(-1),
    "around.after": lambda s: s.words_at(1),
    "around.before2": lambda s: s.words_at(-2),
    "around.after2": lambda s: s.words_at(2),
    "around.before.share": lambda s: s.words.share(s.window[-1] > 0),
    "around.session": _session_words,
    "around.session.share": _session_share,
    "around.short.before": lambda s: s.words_at(-1) * s.short,
    "around.short.after": lambda s: s.words_at(1) * s.short,
    "around.short.words": lambda s: _window_words(s) * s.short,
    "around.short.session": lambda s: _session_words(s) * s.short,
    "around.short.dense": lambda s: s.session_dense * s.short,
    "around.long.words": lambda s: _window_words(s) * _long(s),
    "speaker": lambda s: s.speaker_named,
    "speaker.before": _previous_named,
    "speaker.user": _by_user,
    "speaker.user.assistant": lambda s: _when(s, s.question.about_assistant, _by_user(s)),
    "form.question": lambda s: s.has(QUESTION),
    "form.answers": _answers,
    "form.length": _length,
    "form.short.length": lambda s: _length(s) * s.short,
    "form.position": _position,
    "form.number": lambda s: s.has(NUMBER),
    "form.names": lambda s: s.has(NAMES),
    "form.number.wanted": lambda s: _when(s, s.question.wants_number, s.has(NUMBER)),
    "form.names.wanted": lambda s: _when(s, s.question.wants_name, s.has(NAMES)),
    "time": lambda s: s.date_match,
    "time.words": lambda s: s.date_match * s.words_at(0),
}


def measure(scene: Scene, names: tuple[str, ...]) -> Figures:
    """The named signals of the pool: (memories, signals)."""
    if not names:
        return np.zeros((len(scene.rows), 0), np.float32)
    return np.stack([SIGNALS[name](scene) for name in names], axis=1).astype(np.float32)
