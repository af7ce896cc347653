"""Summaries stand behind what they were made of: they lead to it and take no place from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import FloatArray
from remanence.model.memory import Kind, MemoryRecord
from remanence.recall.candidates import Pool
from remanence.recall.columns import ALONE, KINDS, Columns
from remanence.recall.conditions import ReadPartition, microseconds
from remanence.recall.lexical import WordScores
from remanence.recall.postings import Rows
from remanence.recall.scene import Scene

SUMMARY, MESSAGE = KINDS[Kind.SUMMARY.value], KINDS[Kind.MESSAGE.value]
# A summary among so many first of the pool leads to what it was made of, as long as it is one of
# the first few; each costs a read.
MATCHING, LEADING = 20, 2
MOST = 40  # turns that one brings, those with the words of the question first
STEP = 1e-3  # below what it stands behind


def are_summaries(columns: Columns, rows: Rows) -> NDArray[np.bool_]:
    """Which of these rows are summaries."""
    return np.asarray(columns.kind[rows] == SUMMARY)


def covered(
    source: ReadPartition, partition: int, columns: Columns, pool: Pool, words: WordScores
) -> Rows:
    """What the best matching summaries of a pool were made of."""
    first = pool.rows[:MATCHING]
    leading = first[are_summaries(columns, first)][:LEADING]
    if not len(leading):
        return np.zeros(0, np.int64)
    records = source.records(partition, columns.key[leading].tolist()).values()
    found = [_sources(columns, record, words) for record in records]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *found]))


def _sources(columns: Columns, record: MemoryRecord, words: WordScores) -> Rows:
    """The messages of the summary's time, and of its conversation if it is of one."""
    start = record.metadata.get("from")
    if not isinstance(start, str):
        return np.zeros(0, np.int64)
    first, last = map(microseconds, (datetime.fromisoformat(start), record.happened_at))
    told = (columns.kind == MESSAGE) & (columns.happened >= first) & (columns.happened <= last)
    if record.session_id is not None:
        told &= columns.session == columns.lexicons.sessions.numbers.get(record.session_id, ALONE)
    rows = np.flatnonzero(told)
    return rows[np.argsort(-words.totals[rows], kind="stable")[:MOST]]


def apart(scene: Scene) -> list[Scene]:
    """The scene without its summaries, and one of those alone, which then change nothing in it."""
    told = are_summaries(scene.columns, scene.rows)
    parts = [scene.rows[~told], scene.rows[told]]
    if not all(map(len, parts)):
        return [scene]
    return [replace(scene, pool=replace(scene.pool, rows=rows)) for rows in parts]


def leading(scenes: Sequence[Scene]) -> list[Scene]:
    """Those that are not of summaries; all where there are no others."""
    return [one for one in scenes if not _of_summaries(one)] or list(scenes)


def held_back(scenes: Sequence[Scene], scores: Sequence[FloatArray]) -> list[FloatArray]:
    """What each memory loses to stand behind all it may have been made of."""
    return [
        _below(one, own, [(s, n) for s, n in zip(scenes, scores, strict=True) if s is not one])
        if _of_summaries(one)
        else np.zeros(len(own), np.float32)
        for one, own in zip(scenes, scores, strict=True)
    ]


def _below(scene: Scene, own: FloatArray, others: Iterable[tuple[Scene, FloatArray]]) -> FloatArray:
    least = np.full(len(own), np.inf)
    place, happened = scene.columns.place[scene.rows], scene.columns.happened[scene.rows]
    for other, scores in others:
        if other.partition != scene.partition:
            continue
        columns, rows = other.columns, other.rows
        told = (columns.kind[rows] == MESSAGE) & (columns.happened[rows] <= happened[:, None])
        told &= (columns.place[rows] == place[:, None]) | (place == ALONE)[:, None]
        least = np.minimum(least, np.where(told, scores, np.inf).min(axis=1, initial=np.inf))
    return np.minimum(least - STEP - own, 0).astype(np.float32)


def _of_summaries(scene: Scene) -> bool:
    return bool(len(scene.rows)) and bool(are_summaries(scene.columns, scene.rows).all())
