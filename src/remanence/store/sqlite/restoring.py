"""A copy put back: checked first, then in the place of the store that was there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import apsw

from remanence.errors import StoreCorrupt, StoreError
from remanence.model.ports.store import Inherit, Store
from remanence.store.files import growing
from remanence.store.sqlite.backups import COMPANIONS, copy_into, held, put_in_place
from remanence.store.sqlite.database import check_ours, new_identity
from remanence.store.sqlite.doctor import SqliteGuard
from remanence.store.sqlite.faults import translated
from remanence.store.sqlite.opening import Settings, check_ciphers, open_bare, open_reader
from remanence.store.sqlite.session import Session
from remanence.store.sqlite.store import SqliteStore

_WITH_DOCUMENTS = 3
_WITH_KNOWLEDGE = 4


def restore(source: Path, target: Path, inherit: Inherit | None = None, *, key: str = "") -> None:
    """Check a backup, then put a copy in the place of `target`, under a new identity.

    What the copy inherits from `target` it does before it takes its place. Both are encrypted with
    `key`, if there is one.
    `StoreCorrupt` if the backup is damaged, `StoreBusy` if `target` is open somewhere; then nothing
    has changed.
    """
    check_ciphers(key)
    source, target = Path(source), Path(target)
    if not source.is_file():
        raise StoreError(f"There is no backup at {source}; check the path.")
    with (
        closing(open_reader(str(source), Settings(key=key))) as connection,
        translated(str(source)),
    ):
        _check_whole(connection, source)
        heir = None if inherit is None else _heir(inherit, target, key)
        with growing(target, *COMPANIONS) as copy:
            copy_into(copy, connection, None, key)
            _rename(copy, key)
            with held(target, key, "restore") if target.exists() else nullcontext() as holder:
                if heir is not None:
                    _endow(copy, heir, key)
                put_in_place(copy, target, holder, "restore")


def _heir(inherit: Inherit, target: Path, key: str) -> Callable[[Store], bool]:
    if not target.exists():
        return inherit(None)
    _check_key(target, key)
    try:
        old = SqliteStore(target, key=key)
    except StoreError:
        return inherit(None)
    with closing(old):
        return inherit(old)


def _check_key(target: Path, key: str) -> None:
    """What is merely damaged is replaced; what another key would open is not."""
    try:
        open_bare(str(target), key).close()
    except StoreCorrupt:
        return


def _endow(copy: Path, heir: Callable[[Store], bool], key: str) -> None:
    with closing(SqliteStore(copy, key=key)) as new:
        if heir(new):
            new.upkeep.compact()


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
    schema = connection.pragma("user_version")
    return SqliteGuard().damage(
        Session(connection, ""),
        documents=schema >= _WITH_DOCUMENTS,
        knowledge=schema >= _WITH_KNOWLEDGE,
    )


def _rename(copy: Path, key: str) -> None:
    with closing(open_bare(str(copy), key)) as connection, translated(str(copy)):
        connection.pragma("journal_mode", "delete")
        new_identity(connection)
