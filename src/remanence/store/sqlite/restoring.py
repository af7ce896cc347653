"""A copy put back: checked first, then in the place of the store that was there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from remanence.errors import StoreBusy, StoreCorrupt, StoreError
from remanence.ports.store import Inherit, Store
from remanence.store.files import growing, put
from remanence.store.sqlite.backups import COMPANIONS, copy_into
from remanence.store.sqlite.digests import damaged_keys
from remanence.store.sqlite.document_digests import damaged_documents, damaged_editions
from remanence.store.sqlite.faults import translated
from remanence.store.sqlite.knowledge_digests import damaged_claims, damaged_entities
from remanence.store.sqlite.opening import Settings, open_reader
from remanence.store.sqlite.schema import check_ours, new_identity
from remanence.store.sqlite.store import SqliteStore

_WITH_DOCUMENTS = 3
_WITH_KNOWLEDGE = 4


def restore(source: Path, target: Path, inherit: Inherit | None = None) -> None:
    """Check a backup, then put a copy in the place of `target`, under a new identity.

    What the copy inherits from `target` it does before it takes its place.
    `StoreCorrupt` if the backup is damaged, `StoreBusy` if `target` is open somewhere; then nothing
    has changed.
    """
    source, target = Path(source), Path(target)
    if not source.is_file():
        raise StoreError(f"There is no backup at {source}; check the path.")
    with closing(open_reader(str(source), Settings())) as connection, translated(str(source)):
        _check_whole(connection, source)
        heir = None if inherit is None else _heir(inherit, target)
        with growing(target, *COMPANIONS) as copy:
            copy_into(copy, connection, None)
            _rename(copy)
            with _held(target):
                if heir is not None:
                    _endow(copy, heir)
                put(copy, target)


def _heir(inherit: Inherit, target: Path) -> Callable[[Store], bool]:
    if not target.exists():
        return inherit(None)
    try:
        old = SqliteStore(target)
    except StoreError:
        return inherit(None)
    with closing(old):
        return inherit(old)


def _endow(copy: Path, heir: Callable[[Store], bool]) -> None:
    with closing(SqliteStore(copy)) as new:
        if heir(new):
            new.compact()


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
    return [path.with_name(path.name + suffix) for suffix in COMPANIONS]
