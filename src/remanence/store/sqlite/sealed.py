"""Lines in an encrypted file of their own, each added for good."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from remanence.store.sqlite.faults import translated
from remanence.store.sqlite.opening import Settings, begin_file, create_file, open_bare

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
