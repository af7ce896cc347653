"""The engines under the speed benchmark, each behind the same few verbs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from remanence.model.telemetry import hush
from synthetic import DIMENSION, Turn

Vector = NDArray[np.float32]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TENANT = "default"


class Engine(Protocol):
    """Opened on a folder; rows are numbered in the order in which they were loaded."""

    def load(self, rows: Iterable[tuple[Turn, Vector]]) -> None:
        """Add many."""

    def add(self, turn: Turn, vector: Vector) -> None:
        """Add one, durably."""

    def search(self, vector: Vector, limit: int) -> list[int]:
        """The nearest rows."""

    def filtered(self, vector: Vector, team: str, limit: int) -> list[int]:
        """The nearest rows of one team."""

    def index_bytes(self) -> int | None:
        """Bytes of index in memory, where the engine can tell."""

    def close(self) -> None:
        """Release everything."""


class Remanence:
    """The store and its index through their ports, with vectors given instead of embedded."""

    def __init__(self, folder: Path) -> None:
        from remanence.backends.index.bits import BitsIndex
        from remanence.store.sqlite import SqliteStore

        path = folder / "agent.db"
        self._fingerprint = bundled_fingerprint()
        self._store = SqliteStore(path)
        self._index = BitsIndex(
            self._store,
            self._fingerprint,
            identity=self._store.upkeep.identity,
            file=path.with_name(path.name + ".index"),
        )

    def load(self, rows: Iterable[tuple[Turn, Vector]]) -> None:
        for batch in batches(rows, 1000):
            self._write(batch)

    def add(self, turn: Turn, vector: Vector) -> None:
        self._write([(turn, vector)])

    def search(self, vector: Vector, limit: int) -> list[int]:
        return (self._index.nearest(1, vector, limit).keys - 1).tolist()

    def filtered(self, vector: Vector, team: str, limit: int) -> list[int]:
        from remanence.model.filter import parse_filter

        where = parse_filter({"team": team})
        assert where is not None
        allowed = self._store.recall.keys(1, where)
        return (self._index.nearest(1, vector, limit, allowed).keys - 1).tolist()

    def index_bytes(self) -> int | None:
        return self._index.stats().bytes_in_memory

    def close(self) -> None:
        self._index.close()
        self._store.close()

    def _write(self, rows: list[tuple[Turn, Vector]]) -> None:
        from remanence.model.write import Batch

        actions = tuple(insert_of(turn, vector, self._fingerprint) for turn, vector in rows)
        self._store.archive.write(Batch(tenant=TENANT, at=NOW, actions=actions))


class Chroma:
    """Chroma embedded, with its defaults but for the cosine and one thread."""

    def __init__(self, folder: Path) -> None:
        hush()
        import chromadb

        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(folder), settings=settings)
        self._collection = self._client.get_or_create_collection(
            "memories",
            configuration={"hnsw": {"space": "cosine", "num_threads": 1}},
            embedding_function=None,
        )

    def load(self, rows: Iterable[tuple[Turn, Vector]]) -> None:
        for batch in batches(rows, 5000):
            self._write(batch)

    def add(self, turn: Turn, vector: Vector) -> None:
        self._write([(turn, vector)])

    def search(self, vector: Vector, limit: int) -> list[int]:
        return self._query(vector, limit)

    def filtered(self, vector: Vector, team: str, limit: int) -> list[int]:
        return self._query(vector, limit, where={"team": team})

    def index_bytes(self) -> int | None:
        return None

    def close(self) -> None:
        self._client.close()

    def _query(self, vector: Vector, limit: int, **where: Any) -> list[int]:
        found = self._collection.query(
            query_embeddings=[vector], n_results=limit, include=["distances"], **where
        )
        return [int(name) for name in found["ids"][0]]

    def _write(self, rows: list[tuple[Turn, Vector]]) -> None:
        self._collection.add(
            ids=[str(turn.number) for turn, _ in rows],
            embeddings=np.stack([vector for _, vector in rows]),
            documents=[turn.text for turn, _ in rows],
            metadatas=[
                {"team": turn.team, "session": turn.session, "speaker": turn.speaker}
                for turn, _ in rows
            ],
        )


class SqliteVec:
    """sqlite-vec through apsw: an exact scan of float vectors, write-ahead log, full sync."""

    def __init__(self, folder: Path) -> None:
        import apsw
        import sqlite_vec

        self._connection = apsw.Connection(str(folder / "vec.db"))
        self._connection.enable_load_extension(True)
        self._connection.load_extension(sqlite_vec.loadable_path())
        self._connection.pragma("journal_mode", "wal")
        self._connection.pragma("synchronous", 2)
        self._connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS memories USING vec0 ("
            f"vector float[{DIMENSION}] distance_metric=cosine, "
            "team text, +session text, +speaker text, +document text)"
        )

    def load(self, rows: Iterable[tuple[Turn, Vector]]) -> None:
        for batch in batches(rows, 1000):
            self._write(batch)

    def add(self, turn: Turn, vector: Vector) -> None:
        self._write([(turn, vector)])

    def search(self, vector: Vector, limit: int) -> list[int]:
        return self._query("", vector, limit)

    def filtered(self, vector: Vector, team: str, limit: int) -> list[int]:
        return self._query("AND team = ?", vector, limit, team)

    def index_bytes(self) -> int | None:
        return None

    def close(self) -> None:
        self._connection.close()

    def _query(self, condition: str, vector: Vector, limit: int, *values: str) -> list[int]:
        statement = f"SELECT rowid FROM memories WHERE vector MATCH ? AND k = ? {condition}"
        rows = self._connection.execute(statement, (vector.tobytes(), limit, *values))
        return [row[0] - 1 for row in rows]

    def _write(self, rows: list[tuple[Turn, Vector]]) -> None:
        with self._connection:
            self._connection.executemany(
                "INSERT INTO memories (rowid, vector, team, session, speaker, document) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (t.number + 1, v.tobytes(), t.team, t.session, t.speaker, t.text)
                    for t, v in rows
                ),
            )


ENGINES = {"remanence": Remanence, "chroma": Chroma, "sqlite-vec": SqliteVec}


def insert_of(turn: Turn, vector: Vector, fingerprint: Any, tenant: str = TENANT) -> Any:
    """The write of one turn with its vector."""
    from remanence.model.embedding import quantised
    from remanence.model.memory import Kind, MemoryRecord
    from remanence.model.write import Insert, Piece, Pieces

    record = MemoryRecord(
        id=str(UUID(int=turn.number + 1)),
        text=turn.text,
        tenant=tenant,
        happened_at=NOW,
        created_at=NOW,
        updated_at=NOW,
        kind=Kind.MESSAGE,
        session_id=turn.session,
        speaker=turn.speaker,
        external_id=str(turn.number),
        metadata={"team": turn.team},
    )
    piece = Piece(
        part=0,
        passage=0,
        start=0,
        stop=len(turn.text),
        vector=quantised(vector),
        codes=turn.codes,
    )
    return Insert(record=record, pieces=Pieces(fingerprint=fingerprint, pieces=(piece,)))


def bundled_fingerprint() -> Any:
    """The bundled model's, so that `Memory` finds the vectors; any, if there is no model."""
    from remanence.backends.embedding.manifest import read_manifest
    from remanence.backends.embedding.models import find_model
    from remanence.config import load_settings
    from remanence.errors import EmbedderError
    from remanence.model.embedding import Fingerprint

    settings = load_settings({})
    try:
        return read_manifest(find_model(settings.embedder, settings.cache_folder)).fingerprint
    except EmbedderError:
        return Fingerprint("synthetic", "0" * 64, DIMENSION, "mean", "1")


def batches(rows: Iterable[tuple[Turn, Vector]], size: int) -> Iterator[list[tuple[Turn, Vector]]]:
    """Lists of at most `size` rows."""
    rest = iter(rows)
    while batch := list(islice(rest, size)):
        yield batch
