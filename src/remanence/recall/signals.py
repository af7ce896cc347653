"""The signals: for each memory of the pool, the figures the ranker weighs. Pure NumPy.

What is relative (a part of the best, a place) is relative to all pools of a search, so that
memories of several users compete on one scale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from remanence.language.traits import NAMES, NUMBER, QUESTION, TIME
from remanence.model.embedding import FloatArray
from remanence.recall.scene import Scene, figures_of

LEADERS = 3
MOST = 8.0  # of the best; ordinary pools stay far below


@dataclass(frozen=True, slots=True, eq=False)
class Extents:
    """How far the figures reach over all pools of a search."""

    dense: float
    words: float
    session_words: float
    late: tuple[float, float]
    pair: tuple[float, float]
    around: tuple[float, float]
    pairs: FloatArray  # of every memory, ascending
    centre: FloatArray  # the direction of the memories that look best so far


def extents_of(scenes: Sequence[Scene]) -> Extents:
    """The extents of these pools together."""
    dense = np.concatenate([s.dense for s in scenes])
    words = np.concatenate([s.words_at(0) for s in scenes])
    late = np.concatenate([s.late for s in scenes])
    pairs = np.concatenate([s.late_pair for s in scenes])
    first = figures_of(dense / _best(dense) + words / _best(words) + late / _best(late))
    return Extents(
        dense=_best(dense),
        words=_best(words),
        session_words=_best(np.concatenate([s.session_words for s in scenes])),
        late=_range(late),
        pair=_range(pairs),
        around=_around(scenes),
        pairs=np.sort(pairs),
        centre=_centre(scenes, first),
    )


def _around(scenes: Sequence[Scene]) -> tuple[float, float]:
    """Only where the question asks when: nothing else needs it, and it takes a while."""
    values = [s.late_around for s in scenes if s.question.wants_time]
    return _range(np.concatenate(values)) if values else (0.0, 0.0)


def _best(values: FloatArray) -> float:
    return max(float(values.max(initial=0)), 1e-6)


def _part(values: FloatArray, best: float) -> FloatArray:
    """Values as parts of the best one; bounded: the best of a poor pool may be next to nothing."""
    return figures_of(np.clip(values / best, -MOST, MOST))


def _range(values: FloatArray) -> tuple[float, float]:
    return float(values.min(initial=0)), float(values.max(initial=0))


def _centre(scenes: Sequence[Scene], first: FloatArray) -> FloatArray:
    leaders = np.argsort(-first, kind="stable")[:LEADERS]
    if len(scenes) == 1:
        found = scenes[0].vectors[leaders]
    else:
        found = np.concatenate([s.vectors for s in scenes])[leaders]
    centre = found.mean(axis=0)
    return figures_of(centre / max(float(np.linalg.norm(centre)), 1e-6))


def _spread(values: FloatArray, over: tuple[float, float]) -> FloatArray:
    """Values moved to 0..1 over the pools."""
    low, high = over
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def _places(values: FloatArray, ascending: FloatArray) -> FloatArray:
    """One over each value's place, the best first; equals share a place."""
    above = len(ascending) - np.searchsorted(ascending, values, side="right")
    return figures_of(1 / (1 + above))


def _window_words(s: Scene) -> FloatArray:
    return figures_of(s.windows.max(axis=1).sum(axis=0))


def _window_share(s: Scene) -> FloatArray:
    return s.words.share(np.asarray((s.windows > 0).any(axis=1)))


def _length(s: Scene) -> FloatArray:
    return np.log1p(s.columns.characters[s.rows]).astype(np.float32)


def _position(s: Scene) -> FloatArray:
    session = s.columns.session[s.rows]
    if not len(s.columns.lexicons.sessions.names):
        return np.zeros(len(s.rows), np.float32)
    first, last = s.columns.session_rows[session], s.columns.session_rows[session + 1]
    place = (s.rows - first) / np.maximum(last - first, 1)
    return np.where(session >= 0, place, 0).astype(np.float32)


def _session_words(s: Scene, e: Extents) -> FloatArray:
    own = _part(s.words_at(0), e.words)
    return np.where(s.alone, own, _part(s.session_words, e.session_words))


def _says_when(s: Scene, e: Extents) -> FloatArray:
    if not s.question.wants_time:
        return np.zeros(len(s.rows), np.float32)
    return s.has(TIME) * _spread(s.late_around, e.around)


def _words_then(s: Scene, e: Extents) -> FloatArray:
    """The words of a memory, or of the question it answers: "two" is about what was asked."""
    if s.question.period is None:
        return s.date_match
    told = np.maximum(s.words_at(0), s.words_at(-1) * s.answers)
    return figures_of(s.date_match * _part(told, e.words))


def _when(wanted: bool, figures: FloatArray) -> FloatArray:
    return figures if wanted else np.zeros_like(figures)


BASIC: Mapping[str, Callable[[Scene, Extents], FloatArray]] = {
    "vector": lambda s, e: s.dense,
    "vector.part": lambda s, e: _part(s.dense, e.dense),
    "vector.mean": lambda s, e: s.read(s.evidence.mean),
    "vector.before": lambda s, e: s.dense_before,
    "vector.session": lambda s, e: s.session_best(s.dense),
    "vector.feedback": lambda s, e: figures_of(s.vectors @ e.centre),
    "tokens": lambda s, e: s.late,
    "tokens.spread": lambda s, e: _spread(s.late, e.late),
    "tokens.session": lambda s, e: s.session_best(s.late),
    "tokens.speaker": lambda s, e: s.late * s.speaker_named,
    "tokens.pair": lambda s, e: s.late_pair,
    "tokens.pair.spread": lambda s, e: _spread(s.late_pair, e.pair),
    "tokens.pair.place": lambda s, e: _places(s.late_pair, e.pairs),
    "tokens.pair.speaker": lambda s, e: s.late_pair * s.speaker_named,
    "tokens.around": lambda s, e: s.late_around,
    "tokens.before": lambda s, e: s.late_before,
    "tokens.rarest": lambda s, e: s.late_rarest,
    "tokens.covered": lambda s, e: s.late_covered,
    "tokens.place": lambda s, e: _places(s.late, np.sort(s.late)),
    "vector.place": lambda s, e: _places(s.dense, np.sort(s.dense)),
    "words": lambda s, e: _part(s.words_at(0), e.words),
    "words.share": lambda s, e: s.covered,
    "around.words": lambda s, e: _part(_window_words(s) - s.words_at(0), e.words),
    "around.share": lambda s, e: _window_share(s) - s.covered,
    "around.before": lambda s, e: _part(s.words_at(-1), e.words),
    "around.before.share": lambda s, e: s.words.share(s.window[-1] > 0),
    "around.before2": lambda s, e: _part(s.words_at(-2), e.words),
    "around.after": lambda s, e: _part(s.words_at(1), e.words),
    "around.after2": lambda s, e: _part(s.words_at(2), e.words),
    "around.session": _session_words,
    "around.none": lambda s, e: figures_of(s.alone),
    "around.replied": lambda s, e: s.late_before * (1 - s.by_user),
    "speaker": lambda s, e: s.speaker_named,
    "speaker.user": lambda s, e: s.by_user,
    "speaker.user.asked": lambda s, e: _when(s.question.about_assistant, s.by_user),
    "form.question": lambda s, e: s.has(QUESTION),
    "form.answers": lambda s, e: s.answers,
    "form.answered": lambda s, e: s.answered,
    "form.length": lambda s, e: _length(s),
    "form.position": lambda s, e: _position(s),
    "form.number": lambda s, e: s.has(NUMBER),
    "form.number.wanted": lambda s, e: _when(s.question.wants_number, s.has(NUMBER)),
    "form.names.wanted": lambda s, e: _when(s.question.wants_name, s.has(NAMES)),
    "form.names": lambda s, e: s.has(NAMES),
    "form.time": lambda s, e: s.has(TIME),
    "form.weight": lambda s, e: s.columns.importance[s.rows],
    "graph": lambda s, e: s.graph,
    "time": lambda s, e: s.date_match,
    "time.words": _words_then,
    "time.told": lambda s, e: s.date_match * s.has(TIME),
    "time.said": _says_when,
    "time.only": lambda s, e: s.in_time,
    "time.outdated": lambda s, e: s.outdated,
    "time.outdated.now": lambda s, e: _when(s.question.recency_cue == "latest", s.outdated),
}

# Each signal again, times how wordy the partition is: what counts in chat counts less in essays.
WORDY = ".wordy"
# Some again when the question wants several things: they are said here and there, so that who said
# it counts more, and what was said around it less.
SEVERAL = ".several"
# Some again for a memory that is in no session, as nothing around it can speak for it.
SOLO = ".alone"
_SOLO = (
    *("vector", "vector.part", "vector.feedback", "tokens", "tokens.spread", "words"),
    *("words.share", "speaker", "speaker.user", "form.question", "form.length", "form.names"),
)
_SEVERAL = (
    *("speaker", "tokens.speaker", "tokens.pair.speaker", "vector.session", "tokens.session"),
    *("around.session", "around.words", "form.position", "form.names", "form.time", "form.weight"),
)
SIGNALS: tuple[str, ...] = (
    *BASIC,
    *(name + WORDY for name in BASIC if not name.startswith(("time", "graph"))),
    *(name + SEVERAL for name in _SEVERAL),
    *(name + SOLO for name in _SOLO),
)


def measure(scene: Scene, extents: Extents, names: Sequence[str]) -> FloatArray:
    """The named signals of the pool: (memories, signals).

    A memory without vectors (not embedded yet) has NaN where one would be needed.
    """
    plan = _planned(tuple(names))
    found = np.empty((len(plan.basic), len(scene.rows)), np.float32)
    for place, name in enumerate(plan.basic):
        found[place] = BASIC[name](scene, extents)
    factors = np.array([1, scene.wordiness, scene.question.wants_several, 1], np.float32)
    figures = np.empty((len(scene.rows), len(names)), np.float32)
    np.multiply(found[plan.places].T, factors[plan.times], out=figures)
    figures[:, plan.solo] *= scene.alone[:, None]
    if scene.bare.any():
        figures[np.ix_(scene.bare, plan.by_vector)] = np.nan
    return figures


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """How signals come from the basic ones: which of them, and times which factor."""

    basic: tuple[str, ...]
    places: NDArray[np.intp]
    times: NDArray[np.intp]
    solo: NDArray[np.bool_]
    by_vector: NDArray[np.bool_]


@lru_cache(maxsize=8)
def _planned(names: tuple[str, ...]) -> _Plan:
    split = [_split(name) for name in names]
    basic = tuple(dict.fromkeys(name for name, _ in split))
    return _Plan(
        basic,
        np.array([basic.index(name) for name, _ in split], np.intp),
        np.array([("", WORDY, SEVERAL, SOLO).index(times) for _, times in split], np.intp),
        np.array([times == SOLO for _, times in split], np.bool_),
        np.array([name.startswith("vector") for name in names], np.bool_),
    )


def _split(name: str) -> tuple[str, str]:
    """A signal's basic name and what it is multiplied by."""
    ending = next((end for end in (WORDY, SEVERAL, SOLO) if name.endswith(end)), "")
    return name.removesuffix(ending), ending
