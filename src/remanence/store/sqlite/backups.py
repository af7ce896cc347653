"""Copies of a whole store, made under load; and a store held alone, so that one takes its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from remanence.errors import StoreBusy
from remanence.model.progress import Progress
from remanence.model.system.files import OPEN_FILES_MOVE, address_of, remove
from remanence.store.files import growing, put
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.faults import translated, translation
from remanence.store.sqlite.opening import CIPHER, check_ciphers, hexadecimal, open_bare, unlock

_PAGES_A_STEP = 1024
COMPANIONS = ("-wal", "-shm", "-journal")


def backup(database: Database, target: Path, progress: Progress | None) -> None:
    """A copy as of now, with the store's key; `target` appears when it is whole and on the disk."""
    key = database.connections.settings.key
    if key and database.connections.in_memory:
        with database.connections.alone() as connection, growing(Path(target), *COMPANIONS) as copy:
            rewrite_into(copy, connection, key)
            put(copy, Path(target))
        return
    with database.reading() as connection, growing(Path(target), *COMPANIONS) as copy:
        # Inside one read: a copy made in steps would start again at every write of somebody else.
        connection.execute("BEGIN")
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            copy_into(copy, connection, progress, key)
        finally:
            connection.execute("ROLLBACK")
        put(copy, Path(target))


def copy_into(copy: Path, connection: apsw.Connection, progress: Progress | None, key: str) -> None:
    """Fill a new file with all that a connection reads; both have the same key."""
    with closing(open_bare(str(copy), key)) as destination, translated(str(copy)):
        destination.pragma("journal_mode", "off")
        destination.pragma("synchronous", 0)
        with destination.backup("main", connection, "main") as copying:
            while not copying.done:
                copying.step(_PAGES_A_STEP)
                if progress is not None:
                    progress(copying.page_count - copying.remaining, copying.page_count)


def rewrite_into(copy: Path, connection: apsw.Connection, key: str) -> None:
    """Fill an empty file with all that a connection reads, under a key of its own or none.

    The connection takes addresses for files. Pages of encrypted files have less room, so page by
    page, as `copy_into` does it, they cannot be copied.
    """
    check_ciphers(key)
    how = f"cipher={CIPHER}&hexkey={hexadecimal(key)}" if key else "key="
    try:
        connection.execute("VACUUM INTO ?", (f"{address_of(copy.absolute())}?{how}",))
    except apsw.Error as error:  # its words may hold the address, and that the key
        raise translation(type(error)("the copy failed"), str(copy)) from None


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
