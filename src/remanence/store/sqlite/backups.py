"""Copies of a whole store, made under load."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

from remanence.ports.store import Progress
from remanence.store.files import growing, put
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.faults import translated, translation
from remanence.store.sqlite.keys import CIPHER, check_ciphers, hexadecimal
from remanence.store.sqlite.opening import open_bare
from remanence.system.files import address_of

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
