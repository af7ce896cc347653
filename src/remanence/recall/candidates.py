"""Which memories are worth a closer look: by vector, by words, by time, and their neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import FloatArray
from remanence.model.ports.vector_index import Nearest
from remanence.recall.columns import Columns
from remanence.recall.lexical import WordScores
from remanence.recall.postings import Rows

BY_WORDS = 200
BY_TIME = 100
BY_GRAPH = 50
LEADERS = 40
AROUND = np.array([[-2], [-1], [1], [2]])
POOL = 80

# What the pool is chosen by, each divided by its maximum: the own vector counts fully. Learned from
# questions about real conversations among 100,000 made-up memories (bench/crowd.py), then rounded.
WORDS_SHARE = 0.5
SESSION_SHARE = 0.5
PREVIOUS_SHARE = 0.25
TIME_SHARE = 0.5
TIME_ALONE_SHARE = 3.0
SPEAKER_SHARE = 0.4
GRAPH_SHARE = 0.3
_SHARES = np.array([1, WORDS_SHARE, PREVIOUS_SHARE, SESSION_SHARE])


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The rows to be ranked, and all rows that were considered for it."""

    rows: Rows
    considered: Rows


@dataclass(frozen=True, slots=True, eq=False)
class Lures:
    """What else speaks for rows: the question's time, who said it, what its names lead to."""

    in_period: Rows
    people: frozenset[int]
    graph: FloatArray  # by row, or empty
    time_alone: bool = False  # nothing else is asked for


def dense_of(rows: Rows, named: Rows, nearest: Nearest | None) -> FloatArray:
    """The best cosine of each of these (ascending) rows.

    `named` are the rows that the index named; any other gets the least it named.
    """
    if nearest is None or not len(nearest.keys) or not len(rows):
        return np.zeros(len(rows), np.float32)
    dense = np.full(len(rows), nearest.scores.min(), np.float32)
    places = np.minimum(rows.searchsorted(named), len(rows) - 1)
    here = rows[places] == named
    np.maximum.at(dense, places[here], nearest.scores[here])
    return dense


def choose_pool(
    columns: Columns,
    allowed: NDArray[np.bool_],
    words: WordScores,
    nearest: Nearest | None,
    lures: Lures,
    size: int,
    least: int,
) -> Pool:
    """The `size` most promising rows; at least `least` of them whenever that many are allowed."""
    by_vector = np.zeros(0, np.int64) if nearest is None else columns.rows_of(nearest.keys)
    rows = _gather(columns, allowed, words, by_vector, lures)
    dense = dense_of(rows, by_vector, nearest)
    promise = _promise(columns, rows, dense, words) + _lured(columns, rows, lures)
    order = np.argsort(-promise, kind="stable")
    chosen = rows[order[:size]]
    if len(chosen) < least:
        chosen = _filled(columns, allowed, chosen, least)
    return Pool(chosen, rows)


def _gather(
    columns: Columns, allowed: NDArray[np.bool_], words: WordScores, by_vector: Rows, lures: Lures
) -> Rows:
    totals = words.totals if allowed.all() else np.where(allowed, words.totals, 0)
    by_words = _largest(totals, BY_WORDS)
    recent = lures.in_period[np.argsort(-totals[lures.in_period], kind="stable")[:BY_TIME]]
    by_graph = _largest(lures.graph.astype(np.float64), BY_GRAPH)
    leaders = np.concatenate([by_words[:LEADERS], by_vector[:LEADERS]])
    leaders = leaders[leaders >= 0]
    around = columns.neighbours(leaders, AROUND).ravel()
    rows = np.unique(np.concatenate([by_words, by_vector, recent, by_graph, around]))
    rows = rows[rows >= 0]
    return np.asarray(rows[allowed[rows]], np.int64)


def _largest(totals: NDArray[np.float64], count: int) -> Rows:
    """Rows with a score above zero, best first, `count` at most."""
    rows = np.flatnonzero(totals > 0)
    if len(rows) > count:
        rows = rows[np.argpartition(-totals[rows], count)[:count]]
    ordered: Rows = rows[np.argsort(-totals[rows], kind="stable")].astype(np.int64)
    return ordered


def _promise(
    columns: Columns, rows: Rows, dense: FloatArray, words: WordScores
) -> NDArray[np.float64]:
    before = columns.neighbours(rows, -1)
    previous = np.where(before >= 0, words.totals[before], 0)
    parts = shares_of_best(np.stack([dense, words.totals[rows], previous]))
    session = session_parts(columns, rows, words.sessions, parts[1])
    promise: NDArray[np.float64] = _SHARES @ np.stack([*parts, np.clip(session, 0, 1)])
    return promise


def _lured(columns: Columns, rows: Rows, lures: Lures) -> NDArray[np.float64]:
    promise = np.zeros(len(rows))
    if len(lures.in_period):
        share = TIME_ALONE_SHARE if lures.time_alone else TIME_SHARE
        promise += share * np.isin(rows, lures.in_period)
    if lures.people:
        promise += SPEAKER_SHARE * said_by(columns, rows, lures.people)
    if len(lures.graph):
        promise += GRAPH_SHARE * lures.graph[rows]
    return promise


def said_by(columns: Columns, rows: Rows, people: frozenset[int]) -> NDArray[np.bool_]:
    """Which of these rows one of these (few) people said."""
    speaker, said = columns.speaker[rows], np.zeros(len(rows), np.bool_)
    for person in people:
        said |= speaker == person
    return said


def session_parts(
    columns: Columns, rows: Rows, by_session: FloatArray, own: NDArray[Any], best: float = 0.0
) -> FloatArray:
    """Each row's session as a part of the best one; a memory that stands alone has its `own` part.

    A single memory is a session of its own: it is not to lose to a chat in the same words.
    """
    session = columns.session[rows]
    if not len(by_session):
        return np.asarray(own, np.float32)
    found = by_session[session]
    best = best or max(float(np.where(session >= 0, found, 0).max(initial=0)), 1e-6)
    return np.where(session >= 0, found / np.float32(best), own).astype(np.float32)


def shares_of_best(lines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each value as a part of the largest of its line; all zero when none is above zero."""
    best = lines.max(axis=1, initial=0, keepdims=True)
    return np.maximum(lines, 0) / np.where(best > 0, best, 1)


def _filled(columns: Columns, allowed: NDArray[np.bool_], chosen: Rows, least: int) -> Rows:
    """The newest of the rest after the chosen ones, until there are enough."""
    rest = allowed.copy()
    rest[chosen] = False
    others = np.flatnonzero(rest)
    newest = others[np.argsort(-columns.happened[others], kind="stable")]
    return np.concatenate([chosen, newest[: least - len(chosen)]])
