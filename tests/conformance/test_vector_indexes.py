"""Every vector index against the one suite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from remanence.backends.index.bits import BitsIndex
from remanence.backends.index.chroma import ChromaEngine
from remanence.backends.index.qdrant import QdrantEngine
from remanence.backends.index.remote import Engine, FollowingIndex
from remanence.backends.index.remote.replication import MANY
from remanence.errors import IndexUnavailable
from remanence.model.embedding import FloatArray, quantised
from remanence.model.ports.store import Keys
from remanence.model.ports.vector_index import Nearest
from remanence.model.write import Piece, Pieces
from remanence.store.postgres import PgVectorIndex, PostgresStore
from remanence.store.postgres.session import Session
from remanence.store.postgres.vectors import Placing, employ
from remanence.testing.patience import HANG_S
from remanence.testing.vector_index import FINGERPRINT, OpenIndex, PieceSource, VectorIndexSuite
from support.following import FollowedPieces
from support.services.shared import Running

# More than a follower scores one by one, so that the engine is asked. How it fares with a large
# partition is its own affair, and seen once for each engine.
FEW = MANY + 200


class TestBitsIndex(VectorIndexSuite):
    @pytest.fixture
    def open_index(self, tmp_path: Path) -> Iterator[OpenIndex]:
        opened: list[BitsIndex] = []

        def open_index(source: PieceSource) -> BitsIndex:
            file = tmp_path / "agent.db.index"
            opened.append(BitsIndex(source, FINGERPRINT, identity="it", file=file, small=600))
            return opened[-1]

        yield open_index
        for index in opened:
            index.close()


class TestBitsIndexWithoutAFile(VectorIndexSuite):
    @pytest.fixture
    def open_index(self) -> OpenIndex:
        return lambda source: BitsIndex(
            source, FINGERPRINT, identity="it", small=600, budget_bytes=1
        )


class Patient(FollowingIndex):
    """Waits where recall would search the store instead."""

    def nearest(
        self,
        partition: int,
        vector: FloatArray,
        limit: int,
        allowed: Keys | None = None,
        *,
        exact: bool = True,
    ) -> Nearest:
        while True:
            try:
                return super().nearest(partition, vector, limit, allowed, exact=exact)
            except IndexUnavailable:
                self.flush([partition])


class FollowingSuite(VectorIndexSuite):
    """The suite over an engine; each test has a collection of its own."""

    @pytest.fixture
    def source(self) -> FollowedPieces:
        return FollowedPieces()

    @pytest.fixture
    def make_engine(self) -> Callable[[], Engine]:
        raise NotImplementedError("give the suite a `make_engine` fixture")

    @pytest.fixture
    def open_index(
        self, source: FollowedPieces, make_engine: Callable[[], Engine]
    ) -> Iterator[OpenIndex]:
        opened: list[Patient] = []

        def open_index(given: PieceSource) -> Patient:
            assert given is source
            identity, engine = source.identity, make_engine()
            opened.append(Patient(source, FINGERPRINT, engine, identity=identity, small=0))
            return opened[-1]

        yield open_index
        for index in opened:
            index.close()
        if opened:
            engine = make_engine()
            engine.ensure(opened[0].collection, FINGERPRINT.dimension)
            engine.drop()
            engine.close()


class TestQdrantIndex(FollowingSuite):
    @pytest.fixture
    def make_engine(self, qdrant_url: str) -> Callable[[], Engine]:
        return lambda: QdrantEngine([qdrant_url], timeout_s=HANG_S)


class TestQdrantIndexOnACluster(FollowingSuite):
    large = FEW

    @pytest.fixture
    def make_engine(self, qdrant_cluster: Running) -> Callable[[], Engine]:
        return lambda: QdrantEngine(qdrant_cluster.urls, timeout_s=HANG_S, replicas=2)


class TestChromaIndexInAFolder(FollowingSuite):
    @pytest.fixture
    def make_engine(self, tmp_path: Path) -> Callable[[], Engine]:
        return lambda: ChromaEngine(str(tmp_path / "chroma"))


class TestChromaIndexOnAServer(FollowingSuite):
    large = FEW

    @pytest.fixture
    def make_engine(self, chroma_url: str) -> Callable[[], Engine]:
        return lambda: ChromaEngine(chroma_url, timeout_s=HANG_S)


class PostgresPieces(PieceSource):
    """The suite's source, whose pieces are in a PostgreSQL store as well."""

    def __init__(self, store: PostgresStore) -> None:
        super().__init__()
        self.store = store
        employ(store._database, "t", [FINGERPRINT])

    def put(self, partition: int, vectors: dict[int, FloatArray]) -> None:
        super().put(partition, vectors)
        self._write(partition, set(vectors), vectors)

    def remove(self, partition: int, keys: Iterable[int]) -> None:
        gone = set(keys)
        super().remove(partition, gone)
        self._write(partition, gone, {})

    def _write(self, partition: int, keys: set[int], vectors: dict[int, FloatArray]) -> None:
        def work(session: Session) -> None:
            session.execute(
                "INSERT INTO partitions (tenant, id, user_id) OVERRIDING SYSTEM VALUE"
                " VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                (session.tenant, partition, f"u{partition}"),
            )
            placing = Placing(dict(session.rows("employed")))
            for key in keys:
                placing.clear(partition, key)
            for key, rows in vectors.items():
                placing.place(partition, key, [made(rows)])
            placing.run(session)
            held = sum(at == partition for at in self._partition_of.values())
            session.execute("UPDATE partitions SET memories = %s WHERE id = %s", (held, partition))
            self.store._database.heard_of(session.tenant, partition)

        self.store._database.write("t", work)


def made(rows: FloatArray) -> Pieces:
    """Pieces with these vectors."""
    pieces = (
        Piece(part=part, passage=0, start=0, stop=0, vector=quantised(row), codes=b"")
        for part, row in enumerate(rows)
    )
    return Pieces(fingerprint=FINGERPRINT, pieces=tuple(pieces))


class TestPgVectorIndex(VectorIndexSuite):
    @pytest.fixture
    def source(self, postgres_url: str) -> Iterator[PostgresPieces]:
        store = PostgresStore(postgres_url)
        yield PostgresPieces(store)
        store.close()

    @pytest.fixture
    def open_index(self, source: PostgresPieces) -> Iterator[OpenIndex]:
        opened: list[PgVectorIndex] = []

        def open_index(given: PieceSource) -> PgVectorIndex:
            assert given is source
            opened.append(PgVectorIndex(source.store, FINGERPRINT, small=600))
            assert opened[-1].built(60)
            return opened[-1]

        yield open_index
        for index in opened:
            index.close()
