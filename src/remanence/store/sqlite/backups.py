"""Copies of a whole store: made under load, checked, and put back whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from remanence.errors import StoreBusy, StoreCorrupt, StoreError
from remanence.ports.store import Progress
from remanence.store.files import growing, put
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.digests import damaged_keys
from remanence.store.sqlite.document_digests import damaged_documents, damaged_editions
from remanence.store.sqlite.faults import translated
from remanence.store.sqlite.knowledge_digests import damaged_claims, damaged_entities
from remanence.store.sqlite.opening import Settings, open_reader
from remanence.store.sqlite.schema import check_ours, new_identity

_PAGES_A_STEP = 1024
_WITH_DOCUMENTS = 3
_WITH_KNOWLEDGE = 4
_COMPANIONS = ("-wal", "-shm", "-journal")


def backup(database: Database, target: Path, progress: Progress | None) -> None:
    """A copy as of now; `target` appears when it is whole and on the disk."""
    with database.reading() as connection, growing(Path(target), *_COMPANIONS) as copy:
        # Inside one read: a copy made in steps would start again at every write of somebody else.
        connection.execute("BEGIN")
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            _copy(connection, copy, progress)
        finally:
            connection.execute("ROLLBACK")
        put(copy, Path(target))


def restore(source: Path, target: Path) -> None:
    """Check a backup, then put a copy in the place of `target`, under a new identity.

    `StoreCorrupt` if the backup is damaged, `StoreBusy` if `target` is open somewhere; then nothing
    has changed.
    """
    source, target = Path(source), Path(target)
    if not source.is_file():
        raise StoreError(f"There is no backup at {source}; check the path.")
    with closing(open_reader(str(source), Settings())) as connection, translated(str(source)):
        _check_whole(connection, source)
        with growing(target, *_COMPANIONS) as copy:
            _copy(connection, copy, None)
            _rename(copy)
            with _held(target):
                put(copy, target)


def _check_whole(connection: apsw.Connection, source: Path) -> None:
    check_ours(connection, str(source))
    if connection.pragma("user_version") == 0:
        raise StoreCorrupt(f"{source} is empty, not a backup; give another file.")
    if connection.pragma("integrity_check") != "ok":
        raise StoreCorrupt(f"The backup {source} is damaged; use another one.")
    if damaged := _damaged(connection):
        raise StoreCorrupt(
            f"The backup {source} holds {damaged}; open a copy of it and "
            "run `rem doctor --repair`, or use another one."
        )


def _damaged(connection: apsw.Connection) -> str:
    """How much of it is not what was signed; '' if all of it is."""
    memories = len(damaged_keys(connection))
    if memories or connection.pragma("user_version") < _WITH_DOCUMENTS:
        return f"{memories} damaged memories" if memories else ""
    documents = len(damaged_documents(connection)) + len(damaged_editions(connection))
    if documents or connection.pragma("user_version") < _WITH_KNOWLEDGE:
        return f"{documents} damaged documents" if documents else ""
    known = len(damaged_entities(connection)) + len(damaged_claims(connection))
    return f"{known} damaged entities and claims" if known else ""


def _copy(connection: apsw.Connection, copy: Path, progress: Progress | None) -> None:
    with closing(apsw.Connection(str(copy))) as destination, translated(str(copy)):
        destination.pragma("journal_mode", "off")
        destination.pragma("synchronous", 0)
        with destination.backup("main", connection, "main") as copying:
            while not copying.done:
                copying.step(_PAGES_A_STEP)
                if progress is not None:
                    progress(copying.page_count - copying.remaining, copying.page_count)


def _rename(copy: Path) -> None:
    with closing(apsw.Connection(str(copy))) as connection, translated(str(copy)):
        connection.pragma("journal_mode", "delete")
        new_identity(connection)


@contextmanager
def _held(target: Path) -> Iterator[None]:
    """Nobody else has the store open meanwhile, and no log of it is left for the next one."""
    if not target.exists():
        yield
        return
    with closing(apsw.Connection(str(target))) as connection:
        # A store too damaged to be locked is nobody's any more.
        with suppress(apsw.NotADBError, apsw.CorruptError):
            _lock(connection, target)
        for path in _companions(target):
            path.unlink(missing_ok=True)
        yield


def _lock(connection: apsw.Connection, target: Path) -> None:
    try:
        connection.pragma("locking_mode", "exclusive")
        if connection.pragma("journal_mode", "delete") != "delete":
            raise apsw.BusyError
        connection.execute("BEGIN EXCLUSIVE")
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"{target} is open; close it everywhere, then restore.") from error


def _companions(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in _COMPANIONS]
