"""A store put under another key: a copy is made, checked, and put in the place of the old file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from remanence.errors import StoreCorrupt, StoreError
from remanence.model.system.files import BINARY, OPEN_FILES_MOVE, create, remove
from remanence.store.sqlite.backups import held, put_in_place, rewrite_into
from remanence.store.sqlite.database import check_ours
from remanence.store.sqlite.faults import translated
from remanence.store.sqlite.opening import (
    Settings,
    begin_file,
    check_ciphers,
    create_file,
    open_bare,
    open_reader,
)

_MARK = ".rewritten"
_FORMER = ".former"
_BLOCK = 1 << 20


def recrypt(path: Path, old: str, new: str, ready: Callable[[], None] = lambda: None) -> None:
    """Take the key of a store from `old` to `new`; an empty one means not encrypted.

    Killed at any moment, the file is the old one or the new one. `ready` is called when the new one
    is whole, before it takes its place. `StoreBusy` if it is open somewhere.
    """
    check_ciphers(old or new)
    path = Path(os.path.realpath(path))
    with closing(open_reader(str(path), Settings(key=old))) as reader, translated(str(path)):
        check_ours(reader, str(path))
    with (
        held(path, old, "run it again") as source,
        last_of(path),
        translated(str(path)),
        _drafted(path) as copy,
    ):
        rewrite_into(copy, source, new)
        _check_same(copy, source, new)
        ready()
        put_in_place(copy, path, source, "run it again")


def overwrite(path: Path) -> None:
    """Remove a file, its bytes first."""
    if path.exists():
        with last_of(path):
            remove(path)


@contextmanager
def last_of(path: Path) -> Iterator[None]:
    """Overwrite the bytes of a file that has lost its name by the end.

    Whoever opened it and waits for its lock then finds no store, rather than one that is gone.
    """
    with _kept_open(path) if OPEN_FILES_MOVE else _kept_aside(path):
        yield


@contextmanager
def _kept_open(path: Path) -> Iterator[None]:
    # Closed last: a closed handle ends the locks of this process on the file.
    file = os.open(path, os.O_RDWR)
    try:
        yield
        if os.fstat(file).st_nlink == 0:
            _blank(file)
    finally:
        os.close(file)


@contextmanager
def _kept_aside(path: Path) -> Iterator[None]:
    """The same where a file that is open cannot be replaced: by a second name."""
    aside = _former(path)
    _let_go(path)
    os.link(path, aside)
    try:
        yield
    finally:
        _let_go(path)


def _let_go(path: Path) -> None:
    """Remove the second name of a file, and its bytes unless they are still its first name's."""
    aside = _former(path)
    if not aside.exists():
        return
    if not (path.exists() and path.samefile(aside)):
        file = os.open(aside, os.O_RDWR | BINARY)
        try:
            _blank(file)
        finally:
            os.close(file)
    remove(aside)


def _blank(file: int) -> None:
    size = os.fstat(file).st_size
    os.lseek(file, 0, os.SEEK_SET)
    for start in range(0, size, _BLOCK):
        os.write(file, bytes(min(_BLOCK, size - start)))
    os.fsync(file)


def sweep(path: Path) -> None:
    """Remove what a change of key left behind that was killed; the store is open, so none runs."""
    real = Path(os.path.realpath(path))
    overwrite(_draft(real))
    _let_go(_draft(real))
    _let_go(real)


@contextmanager
def _drafted(path: Path) -> Iterator[Path]:
    """A new private file beside the store; what is left of it at the end is removed."""
    draft = _draft(path)
    try:
        overwrite(draft)
        create(draft)
        yield draft
    except OSError as error:
        raise StoreError(f"{draft} cannot be written ({error}); make room, try again.") from error
    finally:
        overwrite(draft)


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}{_MARK}")


def _former(path: Path) -> Path:
    return path.with_name(f".{path.name}{_FORMER}")


def _check_same(copy: Path, source: apsw.Connection, key: str) -> None:
    with closing(open_reader(str(copy), Settings(key=key))) as made:
        same = made.pragma("integrity_check") == "ok" and _rows(made) == _rows(source)
    if not same:
        raise StoreCorrupt(
            "The copy is not what the store is, so nothing was changed; run `rem doctor --repair`."
        )


def _rows(connection: apsw.Connection) -> dict[str, int]:
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
    names = [str(name) for (name,) in connection.execute(tables)]
    quoted = {name: name.replace('"', '""') for name in names}
    return {
        name: int(connection.execute(f'SELECT count(*) FROM "{inside}"').get)  # noqa: S608
        for name, inside in quoted.items()
    }


_EXTRA = 3  # also what says that a journal is gone is on the disk when a line is
_TABLE = "CREATE TABLE IF NOT EXISTS lines (id INTEGER PRIMARY KEY, line BLOB NOT NULL)"


class SealedLines:
    """A file of lines; several processes may add to it."""

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self._key = key

    def add(self, lines: Iterable[bytes]) -> None:
        """Write these lines, all or none."""
        create_file(str(self.path))
        begin_file(str(self.path), Settings(key=self._key))
        with (
            closing(open_bare(str(self.path), self._key)) as connection,
            translated(str(self.path)),
        ):
            connection.pragma("synchronous", _EXTRA)
            connection.pragma("temp_store", 2)
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            connection.executemany("INSERT INTO lines (line) VALUES (?)", ((x,) for x in lines))
            connection.execute("COMMIT")

    def read(self) -> list[bytes]:
        """Every line, in the order in which they were added."""
        if not self.path.exists():
            return []
        with (
            closing(open_bare(str(self.path), self._key)) as connection,
            translated(str(self.path)),
        ):
            if not connection.table_exists("main", "lines"):
                return []
            return [bytes(line) for (line,) in connection.execute("SELECT line FROM lines")]
