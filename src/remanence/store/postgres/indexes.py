"""pgvector's HNSW indexes: one per embedder and part of the table, over the vectors it made.

They are made while others read and write. One that was left half made is dropped and made again.
"""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
from psycopg.sql import SQL, Identifier, Literal

from remanence.model.embedding import Fingerprint
from remanence.ports.store import Progress
from remanence.store.postgres.opening import PatientConnection
from remanence.store.postgres.placing import embedder_values
from remanence.store.postgres.schema import only_one
from remanence.store.postgres.session import sql

MOST_DIMENSIONS = 4000  # that an HNSW index over halfvec takes
_MEMORY = "512MB"


@dataclass(frozen=True, slots=True)
class Graph:
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


def graphs(connection: PatientConnection) -> list[tuple[Graph, bool]]:
    """Every index that is wanted, and whether it is there and whole."""
    rows = connection.execute(sql("graphs").encode(), {"most": MOST_DIMENSIONS}).fetchall()
    return [(Graph(embedder, size, table), whole) for embedder, size, table, whole in rows]


def _drop(connection: PatientConnection, name: str) -> None:
    connection.execute(SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(Identifier(name)))


def _create(connection: PatientConnection, graph: Graph) -> None:
    connection.execute("SELECT set_config('maintenance_work_mem', %s, false)", (_MEMORY,))
    try:
        _build(connection, graph)
    except psycopg.errors.DiskFull:
        # Workers share the graph in /dev/shm, which may be far smaller than the memory is.
        connection.execute("SELECT set_config('max_parallel_maintenance_workers', '0', false)")
        _drop(connection, graph.name)
        _build(connection, graph)


def _build(connection: PatientConnection, graph: Graph) -> None:
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
