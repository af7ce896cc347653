"""Tending a file in small transactions: words merged, the feed shortened, free pages given back.

The planner's figures are given by the migrations so that plans are alike in every store; ANALYZE
and `PRAGMA optimize` would put measured ones in their place, and are never run.
"""

from __future__ import annotations

import numpy as np

from remanence.ports.store import Progress
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.erasing import Eraser
from remanence.store.sqlite.statements import fetch_all, run, run_many

PAGES_A_STEP = 256
MOST_STEPS = 1_000
ENTRIES_A_STEP = 2_000
SPARE_PAGES = 64

_INCREMENTAL = 2
_IDLE_MERGE = 2  # FTS5 had nothing to merge if fewer rows than this changed


def tend(database: Database, eraser: Eraser, progress: Progress | None) -> dict[str, int]:
    """All of it; what was done, in counts."""
    steps = _Steps(progress)
    done = {
        "words_merged": _merge_words(database, steps),
        "feed_trimmed": _trim_feed(database, steps),
        "pages_freed": _free_pages(database, steps),
    }
    eraser.after_write(removed=True)
    return done


class _Steps:
    """Tells of every transaction; how many there will be is not known."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._done = 0

    def one(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, 0)


def _merge_words(database: Database, steps: _Steps) -> int:
    """Bring the text index towards one segment; how many steps that took. The next call goes on."""
    pages = -PAGES_A_STEP  # below 0, all segments are made candidates first
    for done in range(MOST_STEPS):
        with database.writing() as connection:
            before = connection.total_changes()
            run(connection, "merge_words", (pages,))
            if connection.total_changes() - before < _IDLE_MERGE:
                return done
        pages = PAGES_A_STEP
        steps.one()
    return MOST_STEPS


def _trim_feed(database: Database, steps: _Steps) -> int:
    """Leave out entries that a later one of the same memory repeats; how many.

    Whoever followed the feed up to any place still finds every memory that changed after it.
    """
    with database.reading() as connection:
        partitions = [id for id, _, _ in fetch_all(connection, "every_partition")]
    trimmed = 0
    for partition in partitions:
        repeated = _repeated(database, partition)
        for start in range(0, len(repeated), ENTRIES_A_STEP):
            with database.writing() as connection:
                gone = repeated[start : start + ENTRIES_A_STEP].tolist()
                run_many(connection, "delete_change", [(seq,) for seq in gone])
            steps.one()
        trimmed += len(repeated)
    return trimmed


def _repeated(database: Database, partition: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    entry = np.dtype([("seq", np.int64), ("memory", np.int64)])
    with database.reading() as connection:
        feed = np.fromiter(run(connection, "feed", (partition,)), entry)
    newest_first = feed[::-1]
    _, newest = np.unique(newest_first["memory"], return_index=True)
    return np.delete(newest_first["seq"], newest)[::-1]


def _free_pages(database: Database, steps: _Steps) -> int:
    """Give free pages at the end of the file back, a few at a time; how many.

    A file made before pages were kept account of gets shorter only by `compact`, and then so.
    """
    with database.reading() as connection:
        if connection.pragma("auto_vacuum") != _INCREMENTAL:
            return 0
    freed = 0
    for _ in range(MOST_STEPS):
        with database.connections.alone() as connection:
            spare = int(connection.pragma("freelist_count")) - SPARE_PAGES
            if spare <= 0:
                break
            pages = min(spare, PAGES_A_STEP)
            connection.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()
        freed += pages
        steps.one()
    return freed
