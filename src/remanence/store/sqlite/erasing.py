"""Erasure from the files: what was removed must not stay in the log, nor between live rows.

`secure_delete` overwrites deleted cells, yet when SQLite rearranges a page, copies of cells can
stay in its unused middle (about 1 in 1,000 removals); only a rewrite of the file clears those.
"""

from __future__ import annotations

from remanence.errors import StoreBusy
from remanence.store.sqlite.connections import Connections
from remanence.store.sqlite.statements import run

_PATIENCE_MS = 200
_ON_DISK, _IN_MEMORY = 1, 2


class Eraser:
    """Empties the log after removals; if readers still hold it, again after the next write."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._owing = False

    def after_write(self, removed: bool) -> None:
        """Empty the log if something was removed, now or before."""
        self._owing = self._owing or removed
        if self._owing and not self._connections.in_memory:
            self._owing = not self._emptied()

    def compact(self) -> None:
        """Rewrite text index and file from the live rows, then empty the log."""
        with self._connections.writing() as connection:
            run(connection, "rebuild_words")
        with self._connections.alone() as connection:
            # In memory it takes as much as the file is long; on disk it is not encrypted.
            encrypted = bool(self._connections.settings.key)
            connection.pragma("temp_store", _IN_MEMORY if encrypted else _ON_DISK)
            try:
                connection.execute("VACUUM")
            finally:
                connection.pragma("temp_store", _IN_MEMORY)
        self.after_write(removed=True)

    def _emptied(self) -> bool:
        timeout = int(self._connections.settings.busy_timeout_s * 1000)
        try:
            with self._connections.alone() as connection:
                connection.set_busy_timeout(min(_PATIENCE_MS, timeout))
                try:
                    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
                finally:
                    connection.set_busy_timeout(timeout)
        except StoreBusy:
            return False
        return not busy
