"""pgvector's HNSW indexes: one per embedder and part of the table, over the vectors it made.

They are made while others read and write. One that was left half made is dropped and made again.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

import psycopg
from psycopg.sql import SQL, Identifier, Literal

from remanence.errors import Closed, RemanenceError
from remanence.model.embedding import Fingerprint
from remanence.model.progress import Progress
from remanence.store.postgres.opening import Connections, PatientConnection
from remanence.store.postgres.schema import only_one
from remanence.store.postgres.session import sql
from remanence.store.postgres.vectors import embedder_values

MOST_DIMENSIONS = 4000  # that an HNSW index over halfvec takes
_MEMORY = "512MB"
_STOP_S = 5.0
_AGAIN_S, _SELDOM_S = 1.0, 300.0  # between two tries, at first and at last
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WantedIndex:
    """An index that is or should be there."""

    embedder: int
    dimension: int
    table: str

    @property
    def name(self) -> str:
        """What the index is called."""
        return f"{self.table}_hnsw_{self.embedder}"


def want(connection: PatientConnection, made_by: Fingerprint) -> None:
    """Let the embedder's vectors be indexed from now on."""
    known = embedder_values(made_by)
    connection.execute(sql("insert_embedder").encode(), known)
    connection.execute(sql("want_index").encode(), known)


def rebuild(
    connection: PatientConnection, made_by: Fingerprint, progress: Progress | None = None
) -> None:
    """Make the embedder's indexes anew; progress in indexes."""
    want(connection, made_by)
    with only_one(connection, "indexes"):
        row = connection.execute(sql("embedder").encode(), {"fingerprint": str(made_by)}).fetchone()
        mine = [graph for graph, _ in graphs(connection) if row and graph.embedder == row[0]]
        for done, graph in enumerate(mine, start=1):
            _drop(connection, graph.name)
            _create(connection, graph)
            if progress is not None:
                progress(done, len(mine))


def build_missing(connection: PatientConnection) -> int:
    """Make every index that is wanted and not there, or not whole; how many."""
    made = 0
    with only_one(connection, "indexes"):
        for (name,) in connection.execute(sql("unwanted_graphs").encode()).fetchall():
            _drop(connection, name)
        for graph, whole in graphs(connection):
            if not whole:
                _drop(connection, graph.name)
                _create(connection, graph)
                made += 1
    return made


def drop_small(connection: PatientConnection, most_bytes: int) -> None:
    """Drop the indexes of parts that hold little, which are sooner made again than kept up."""
    rows = connection.execute(sql("vector_tables").encode()).fetchall()
    small = {name for name, size in rows if size <= most_bytes}
    with only_one(connection, "indexes"):
        for graph, whole in graphs(connection):
            if whole and graph.table in small:
                _drop(connection, graph.name)


def graphs(connection: PatientConnection) -> list[tuple[WantedIndex, bool]]:
    """Every index that is wanted, and whether it is there and whole."""
    rows = connection.execute(sql("graphs").encode(), {"most": MOST_DIMENSIONS}).fetchall()
    return [(WantedIndex(embedder, size, table), whole) for embedder, size, table, whole in rows]


def _drop(connection: PatientConnection, name: str) -> None:
    connection.execute(SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(Identifier(name)))


def _create(connection: PatientConnection, graph: WantedIndex) -> None:
    connection.execute("SELECT set_config('maintenance_work_mem', %s, false)", (_MEMORY,))
    try:
        _build(connection, graph)
    except psycopg.errors.DiskFull:
        # Workers share the graph in /dev/shm, which may be far smaller than the memory is.
        connection.execute("SELECT set_config('max_parallel_maintenance_workers', '0', false)")
        _drop(connection, graph.name)
        _build(connection, graph)


def _build(connection: PatientConnection, graph: WantedIndex) -> None:
    connection.execute(
        SQL(
            "CREATE INDEX CONCURRENTLY {} ON {} USING hnsw"
            " ((embedding::halfvec({})) halfvec_ip_ops) WHERE embedder = {}"
        ).format(
            Identifier(graph.name),
            Identifier(graph.table),
            Literal(graph.dimension),
            Literal(graph.embedder),
        )
    )


class Building:
    """A thread with a connection of its own. Should the server go away, it tries again later."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lock = threading.Lock()
        self._connection: PatientConnection | None = None
        self._stopped = threading.Event()
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
            self._stopped.set()
            if self._connection is not None:
                _cut(self._connection)
        self.ended(_STOP_S)

    def _run(self) -> None:
        pauses = (min(_AGAIN_S * 2**tries, _SELDOM_S) for tries in count())
        while not self._built() and not self._stopped.wait(next(pauses)):
            pass

    def _built(self) -> bool:
        try:
            with self._connections.fresh() as connection:
                with self._lock:
                    self._connection = None if self._stopped.is_set() else connection
                try:
                    if self._connection is not None:
                        build_missing(connection)
                finally:
                    with self._lock:
                        self._connection = None
        except Closed:
            return True
        except (RemanenceError, psycopg.Error) as error:
            _log.info("Vector indexes are not made yet, and answers slower meanwhile: %s", error)
            return False
        return True


def _cut(connection: PatientConnection) -> None:
    """End what the server does for a connection, and the wait of the thread that uses it."""
    with suppress(psycopg.Error, OSError):
        connection.cancel_safe(timeout=_STOP_S)
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)
