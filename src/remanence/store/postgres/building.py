"""Missing HNSW indexes, made in the background."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress

import psycopg

from remanence.errors import RemanenceError
from remanence.store.postgres.connections import Connections
from remanence.store.postgres.indexes import build_missing
from remanence.store.postgres.opening import PatientConnection

_STOP_S = 5.0


class Building:
    """A thread with a connection of its own. Should the server go away, the next start goes on."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lock = threading.Lock()
        self._connection: PatientConnection | None = None
        self._stopped = False
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, name="remanence-hnsw", daemon=True)
        self._thread.start()

    def ended(self, timeout_s: float | None = None) -> bool:
        """Wait for the end; whether it came."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Leave the rest to whoever opens next; a forked child has nothing to stop."""
        if self._process != os.getpid() or not self._thread.is_alive():
            return
        with self._lock:
            self._stopped = True
            if self._connection is not None:
                _cut(self._connection)
        self.ended(_STOP_S)

    def _run(self) -> None:
        with suppress(RemanenceError, psycopg.Error), self._connections.fresh() as connection:
            with self._lock:
                self._connection = None if self._stopped else connection
            try:
                if self._connection is not None:
                    build_missing(connection)
            finally:
                with self._lock:
                    self._connection = None


def _cut(connection: PatientConnection) -> None:
    """End what the server does for a connection, and the wait of the thread that uses it."""
    with suppress(psycopg.Error, OSError):
        connection.cancel_safe(timeout=_STOP_S)
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)
