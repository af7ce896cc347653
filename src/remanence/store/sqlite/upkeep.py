"""Care of a whole SQLite store: one caller at a time, small transactions, counts and sizes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import numpy as np

from remanence.errors import StoreError
from remanence.model.embedding import Fingerprint
from remanence.model.fork_safety import ForkSafeLock
from remanence.model.progress import Progress
from remanence.model.stats import Finding, StoreStats
from remanence.model.system.locks import try_lock, unlock
from remanence.store.core.upkeep import MOST_BYTES_READ, Steps, StoredUpkeep, counted
from remanence.store.sqlite.backups import backup
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.doctor import Doctor
from remanence.store.sqlite.opening import IN_MEMORY
from remanence.store.sqlite.session import Session, fetch_all, run, run_many

_lock = ForkSafeLock()
_handles: dict[str, int] = {}
_taken: set[tuple[int, str, str]] = set()
PAGES_A_STEP = 256
MOST_STEPS = 1_000
ENTRIES_A_STEP = 2_000
SPARE_PAGES = 64
_INCREMENTAL = 2
_IDLE_MERGE = 2  # FTS5 had nothing to merge if fewer rows than this changed
LEFTOVERS = (
    "The log, where a reader held it: until the next write after that reader.",
    "Unused space between live rows (about 1 removal in 1,000), until the store is compacted.",
)


@contextmanager
def alone(path: str, identity: str, name: str) -> Iterator[bool]:
    """Whether nobody else has that name in the store now; it is given back at the end.

    Byte locks on a file beside the database say so. Such locks belong to a process and vanish when
    any of its handles on the file is closed, so there is one handle per file, which stays open, and
    a set of the names taken within the process.
    """
    mark = (os.getpid(), identity, name)
    got = _take(path, mark)
    try:
        yield got
    finally:
        if got:
            _give_back(path, mark)


def _take(path: str, mark: tuple[int, str, str]) -> bool:
    with _lock:
        if mark in _taken or not _on_file(try_lock, path, mark[2]):
            return False
        _taken.add(mark)
        return True


def _give_back(path: str, mark: tuple[int, str, str]) -> None:
    with _lock:
        _taken.discard(mark)
        _on_file(unlock, path, mark[2])


def _on_file(act: Callable[[int, int], bool | None], path: str, name: str) -> bool:
    if path == IN_MEMORY:
        return True
    place = int.from_bytes(blake2b(name.encode(), digest_size=7).digest())
    try:
        return act(_handle(f"{path}.lock"), place) is not False
    except OSError as error:
        raise StoreError(f"{path}.lock cannot be locked ({error}); check its rights.") from error


def _handle(path: str) -> int:
    real = os.path.realpath(path)
    if real not in _handles:
        _handles[real] = os.open(real, os.O_RDWR | os.O_CREAT, 0o600)
    return _handles[real]


def tend(database: Database, progress: Progress | None) -> dict[str, int]:
    """All of it; what was done, in counts.

    The planner's figures are given by the migrations so that plans are alike in every store;
    ANALYZE and `PRAGMA optimize` would put measured ones in their place, and are never run.
    """
    steps = Steps(progress)
    done = {
        "words_merged": _merge_words(database, steps),
        "feed_trimmed": _trim_feed(database, steps),
        "pages_freed": _free_pages(database, steps),
    }
    database.eraser.after_write(removed=True)
    return done


def _merge_words(database: Database, steps: Steps) -> int:
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


def _trim_feed(database: Database, steps: Steps) -> int:
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


def _free_pages(database: Database, steps: Steps) -> int:
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


def _files(database: Database) -> dict[str, int]:
    if database.connections.in_memory:
        return {}
    names = {"database": "", "log": "-wal", "shared memory": "-shm"}
    paths = {part: database.path + suffix for part, suffix in names.items()}
    return {part: os.path.getsize(path) for part, path in paths.items() if os.path.exists(path)}


class SqliteUpkeep(StoredUpkeep[Database]):
    """The Upkeep port."""

    @property
    def kind(self) -> str:
        """What it is."""
        return "sqlite"

    @property
    def leftovers(self) -> tuple[str, ...]:
        """Where bytes of what is removed may stay, and until when."""
        return () if self._database.connections.in_memory else LEFTOVERS

    @property
    def schema(self) -> int:
        """The number of the newest migration that the file has seen."""
        with self._database.reading() as connection:
            return int(connection.pragma("user_version"))

    def alone(self, name: str) -> AbstractContextManager[bool]:
        """Whether this caller alone, of all processes, is now at what `name` stands for."""
        return alone(self._database.path, self._database.identity, name)

    def bulk(self) -> AbstractContextManager[None]:
        """Nothing is built after many writes here; every write is whole."""
        return nullcontext()

    def backup(self, target: Path, progress: Progress | None = None) -> None:
        """A consistent copy, made while others read and write; appears whole or not at all."""
        backup(self._database, Path(target), progress)

    def doctor(self, *, repair: bool, fingerprint: Fingerprint | None) -> list[Finding]:
        """Check everything against the rows; with `repair`, mend what can be mended."""
        return Doctor(self._database, repair, self._clock.now()).examine(fingerprint)

    def compact(self) -> None:
        """Rewrite the file, so that no byte of what was removed stays and free space goes back."""
        self._renew_dictionaries()
        self._database.eraser.compact()

    def tend(self, progress: Progress | None = None) -> Mapping[str, int]:
        """Keep the file in shape, in small transactions while others read and write."""
        with self.alone("tend") as mine:
            return tend(self._database, progress) if mine else {}

    def stats(self, tenant: str, fingerprint: Fingerprint | None = None) -> StoreStats:
        """Counts of one tenant, sizes of the whole store; of a large one, those of its files."""
        files = _files(self._database)
        large = files.get("database", 0) > MOST_BYTES_READ

        def work(session: Session) -> StoreStats:
            found = counted(session, fingerprint, large=large)
            parts = files if large else dict(session.rows("bytes_by_part"))
            return replace(found, bytes_on_disk=sum(files.values()), bytes_by_part=parts)

        return self._database.read(tenant, work)
