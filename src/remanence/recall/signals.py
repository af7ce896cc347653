"""The signals: for each memory of the pool, the figures the ranker weighs. Pure NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

LEADING = 3
CHATTY = 100
TALKATIVE = 500
WINDOW = (-2, -1, 0, 1, 2)
DAY = 86_400_000_000


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
        return _figures(means[session])

    @property
    def wordiness(self) -> float:
        """0 where memories are short as in chat, 1 where they are long as in essays."""
        low, high = np.log(CHATTY), np.log(TALKATIVE)
        return float(np.clip((self.columns.log_characters - low) / (high - low), 0, 1))

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


def _places(values: FloatArray) -> FloatArray:
    """One over each value's place in the pool, the best first."""
    places = 1 + np.searchsorted(np.sort(-values), -values)  # equal values share a place
    return _figures(1 / places)


def _window_words(s: Scene) -> FloatArray:
    return _figures(np.max([s.window[n] for n in WINDOW], axis=0).sum(axis=0) / s.best_words)


def _window_share(s: Scene) -> FloatArray:
    return s.words.share(np.any([s.window[n] > 0 for n in WINDOW], axis=0))


def _session_words(s: Scene) -> FloatArray:
    return _part(session_values(s.columns, s.rows, s.words.sessions[0]))


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


def _by_user(s: Scene) -> FloatArray:
    return _flag(s.columns.role[s.rows] != ROLES["assistant"])


def _when(wanted: bool, figures: FloatArray) -> FloatArray:
    return figures if wanted else np.zeros_like(figures)


BASIC: Mapping[str, Callable[[Scene], FloatArray]] = {
    "vector": lambda s: s.dense,
    "vector.part": lambda s: _part(s.dense),
    "vector.mean": lambda s: s.evidence.at(s.evidence.mean, s.rows),
    "vector.before": lambda s: s.dense_at(-1),
    "vector.session": lambda s: s.session_best(s.dense),
    "vector.feedback": lambda s: s.feedback,
    "tokens": lambda s: s.late,
    "tokens.spread": lambda s: _spread(s.late),
    "tokens.session": lambda s: s.session_best(s.late),
    "tokens.speaker": lambda s: s.late * s.speaker_named,
    "tokens.pair": lambda s: s.late_pair,
    "tokens.pair.spread": lambda s: _spread(s.late_pair),
    "tokens.pair.place": lambda s: _places(s.late_pair),
    "tokens.pair.speaker": lambda s: s.late_pair * s.speaker_named,
    "words": lambda s: s.words_at(0),
    "around.words": _window_words,
    "around.share": _window_share,
    "around.before": lambda s: s.words_at(-1),
    "around.before.share": lambda s: s.words.share(s.window[-1] > 0),
    "around.before2": lambda s: s.words_at(-2),
    "around.after": lambda s: s.words_at(1),
    "around.after2": lambda s: s.words_at(2),
    "around.session": _session_words,
    "speaker": lambda s: s.speaker_named,
    "speaker.user": _by_user,
    "speaker.user.asked": lambda s: _when(s.question.about_assistant, _by_user(s)),
    "form.question": lambda s: s.has(QUESTION),
    "form.answers": _answers,
    "form.length": _length,
    "form.position": _position,
    "form.number": lambda s: s.has(NUMBER),
    "form.number.wanted": lambda s: _when(s.question.wants_number, s.has(NUMBER)),
    "form.names.wanted": lambda s: _when(s.question.wants_name, s.has(NAMES)),
    "time": lambda s: s.date_match,
    "time.words": lambda s: s.date_match * s.words_at(0),
}

# Each signal again, times how wordy the partition is: what counts in chat counts less in essays.
WORDY = ".wordy"
SIGNALS: tuple[str, ...] = (
    *BASIC,
    *(name + WORDY for name in BASIC if not name.startswith("time")),
)


def measure(scene: Scene, names: Sequence[str]) -> FloatArray:
    """The named signals of the pool: (memories, signals)."""
    basic = {name.removesuffix(WORDY) for name in names}
    found = {name: BASIC[name](scene) for name in basic}
    figures = np.empty((len(scene.rows), len(names)), np.float32)
    for column, name in enumerate(names):
        values = found[name.removesuffix(WORDY)]
        figures[:, column] = values * scene.wordiness if name.endswith(WORDY) else values
    return figures
