"""Copies of a whole store, made under load."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

from remanence.ports.store import Progress
from remanence.store.files import growing, put
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.faults import translated

_PAGES_A_STEP = 1024
COMPANIONS = ("-wal", "-shm", "-journal")


def backup(database: Database, target: Path, progress: Progress | None) -> None:
    """A copy as of now; `target` appears when it is whole and on the disk."""
    with database.reading() as connection, growing(Path(target), *COMPANIONS) as copy:
        # Inside one read: a copy made in steps would start again at every write of somebody else.
        connection.execute("BEGIN")
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            copy_into(copy, connection, progress)
        finally:
            connection.execute("ROLLBACK")
        put(copy, Path(target))


def copy_into(copy: Path, connection: apsw.Connection, progress: Progress | None) -> None:
    """Fill a new file with all that a connection reads."""
    with closing(apsw.Connection(str(copy))) as destination, translated(str(copy)):
        destination.pragma("journal_mode", "off")
        destination.pragma("synchronous", 0)
        with destination.backup("main", connection, "main") as copying:
            while not copying.done:
                copying.step(_PAGES_A_STEP)
                if progress is not None:
                    progress(copying.page_count - copying.remaining, copying.page_count)
