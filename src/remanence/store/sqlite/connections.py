"""Connections to one database: a writer behind a lock, readers in a pool, none across a fork.

SQLite keeps locks per process and file, so a connection opened in a forked child beside inherited
ones believes it holds locks that it does not. All are therefore closed before a fork and opened
again on both sides when they are next needed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from remanence.errors import Closed, StoreBusy, StoreError, StoreVersion
from remanence.model import deadline, fork_safety
from remanence.store.sqlite.faults import translated
from remanence.store.sqlite.opening import IN_MEMORY, Settings, open_reader, open_writer
from remanence.store.sqlite.session import run

_READERS_KEPT = 8
_FORK_PATIENCE_S = 5.0
_PATIENCE_MS = 200
_ON_DISK, _IN_MEMORY = 1, 2


class Connections:
    """As many readers as threads that read; a database in memory has one connection for all."""

    def __init__(self, path: str, settings: Settings) -> None:
        self.path = path
        self.settings = settings
        self.in_memory = path == IN_MEMORY
        self.schema = 0  # what this process has brought it up to; 0 while that is not done
        self._write_lock = threading.RLock()
        self._gate = threading.Condition(threading.Lock())
        self._idle: list[apsw.Connection] = []
        self._readers = 0
        self._writer: apsw.Connection | None = None
        self._file: tuple[int, int] | None = None  # device and number of what the writer has open
        self._closed = False
        self._forking = False
        self._stranded = False
        self._pid = os.getpid()
        fork_safety.watch(self)

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection to read with."""
        if self.in_memory:
            with self.alone() as connection:
                yield connection
            return
        connection = self._take()
        try:
            with translated(self.path):
                yield connection
        finally:
            self._give_back(connection)

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """The writer inside a transaction, which commits at the end or never was."""
        with self.alone() as connection:
            self._check_there()
            self._begin(connection)
            try:
                self._check_schema(connection)
                yield connection
                deadline.check()
                with deadline.unlimited():
                    connection.execute("COMMIT")
            except BaseException:
                with deadline.unlimited():
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                raise
            deadline.committed()

    def _begin(self, connection: apsw.Connection) -> None:
        """Wait for other processes no longer than the call may."""
        patience = self.settings.busy_timeout_s
        left = deadline.left(patience)
        if left >= patience:
            connection.execute("BEGIN IMMEDIATE")
            return
        connection.set_busy_timeout(int(left * 1000))
        try:
            connection.execute("BEGIN IMMEDIATE")
        finally:
            connection.set_busy_timeout(int(patience * 1000))

    def _check_schema(self, connection: apsw.Connection) -> None:
        """A newer version may have migrated the file while this process had it open."""
        if self.schema and connection.pragma("user_version") > self.schema:
            raise StoreVersion(
                f"A newer Remanence has migrated {self.path} meanwhile; restart this process with "
                "that version. What was not written was not changed."
            )

    @contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """The writer with no transaction open; no other thread has it meanwhile."""
        if not self._write_lock.acquire(timeout=deadline.left(self.settings.busy_timeout_s)):
            deadline.check()
            raise StoreBusy(f"{self.path} is being written by another thread; try again.")
        try:
            self._check_usable()
            if self._writer is None:
                self._writer = open_writer(self.path, self.settings)
                self._file = self._found()
            with translated(self.path):
                yield self._writer
        finally:
            self._write_lock.release()

    def close(self) -> None:
        """Close what is open; a connection that is being read closes when its reader is done."""
        with self._write_lock, self._gate:
            if not self._closed:
                self._closed = True
                self._drop_connections()

    def before_fork(self) -> None:
        """Keep every other thread out, and leave nothing open that a child could inherit."""
        self._write_lock.acquire()
        self._gate.acquire()
        if not self.in_memory:
            self._forking = True
            self._gate.wait_for(lambda: self._readers == 0, _FORK_PATIENCE_S)
            self._stranded = self._readers > 0
            self._drop_connections()

    def after_fork_in_parent(self) -> None:
        """Let the threads go on."""
        self._stranded = False
        self._release_after_fork()

    def after_fork_in_child(self) -> None:
        """Start anew; a read that was under way in the parent cannot be undone here."""
        self._pid = os.getpid()
        self._release_after_fork()

    def _release_after_fork(self) -> None:
        self._forking = False
        self._gate.notify_all()
        self._gate.release()
        self._write_lock.release()

    def _take(self) -> apsw.Connection:
        with self._gate:
            self._gate.wait_for(lambda: not self._forking)
            self._check_usable()
            self._readers += 1
            if self._idle:
                return self._idle.pop()
        try:
            return open_reader(self.path, self.settings)
        except BaseException:
            self._count_out()
            raise

    def _give_back(self, connection: apsw.Connection) -> None:
        with self._gate:
            keep = not (self._closed or self._forking) and len(self._idle) < _READERS_KEPT
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()
        self._count_out()

    def _count_out(self) -> None:
        with self._gate:
            self._readers -= 1
            self._gate.notify_all()

    def _drop_connections(self) -> None:
        open_ones = [*self._idle, *([self._writer] if self._writer else [])]
        self._idle, self._writer = [], None
        for connection in open_ones:
            connection.close()

    def _check_there(self) -> None:
        """Refuse to write to a file that nobody could open again."""
        if self._file is not None and self._found() != self._file:
            raise StoreError(
                f"{self.path} was deleted, moved or replaced while it was open: nothing was "
                "written. Put it back, or close the store and open it anew."
            )

    def _found(self) -> tuple[int, int] | None:
        if self.in_memory or self.settings.vfs is not None:
            return None
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _check_usable(self) -> None:
        if self._closed:
            raise Closed(f"{self.path} is closed; open it again.")
        if self._stranded or self._pid != os.getpid():
            raise StoreError(
                f"This process was forked while {self.path} was being read, or by a call that "
                "Python does not see; start the process anew and open the store there."
            )


class Eraser:
    """Empties the log after removals; if readers still hold it, again after the next write.

    `secure_delete` overwrites deleted cells, yet when SQLite rearranges a page, copies of cells can
    stay in its unused middle (about 1 in 1,000 removals); only a rewrite of the file clears those.
    """

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
