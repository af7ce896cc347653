"""A database held by one caller alone, so that another file can take its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from remanence.errors import StoreBusy
from remanence.store.files import put
from remanence.store.sqlite.backups import COMPANIONS
from remanence.store.sqlite.keys import unlock
from remanence.system.files import OPEN_FILES_MOVE, remove


@contextmanager
def held(target: Path, key: str, then: str) -> Iterator[apsw.Connection]:
    """Nobody else has the store open meanwhile, and no log of it is left for the next one.

    `then` says what the caller wants to do, for the error that it is open.
    """
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
    with closing(apsw.Connection(str(target.absolute()), flags=flags)) as connection:
        unlock(connection, key)
        # A store too damaged to be locked is nobody's any more.
        with suppress(apsw.NotADBError, apsw.CorruptError):
            _lock(connection, target, then)
        if OPEN_FILES_MOVE:
            _remove_logs(target)
        yield connection


def put_in_place(copy: Path, target: Path, holder: apsw.Connection | None, then: str) -> None:
    """Put a copy that is whole in the place of a store that is held, for good.

    Windows replaces no file that is open. It is let go of there, and whoever opens it in that
    moment keeps it: `StoreBusy`.
    """
    try:
        if holder is not None and not OPEN_FILES_MOVE:
            holder.close()
            _remove_logs(target)
        put(copy, target)
    except PermissionError as error:
        if OPEN_FILES_MOVE:
            raise
        raise StoreBusy(f"{target} is open; close it everywhere, then {then}.") from error


def _remove_logs(target: Path) -> None:
    for suffix in COMPANIONS:
        remove(target.with_name(target.name + suffix))


def _lock(connection: apsw.Connection, target: Path, then: str) -> None:
    try:
        connection.pragma("locking_mode", "exclusive")
        if connection.pragma("journal_mode", "delete") != "delete":
            raise apsw.BusyError
        # In this locking mode the lock stays when the transaction ends.
        connection.execute("BEGIN EXCLUSIVE; COMMIT")
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"{target} is open; close it everywhere, then {then}.") from error
