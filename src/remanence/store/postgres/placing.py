"""Pieces on their way into the tables, and who still lacks pieces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from remanence.errors import StoreError
from remanence.model.embedding import Fingerprint, restored
from remanence.model.write import Piece, Pieces
from remanence.store.pieces import check_piece
from remanence.store.postgres.arrays import byteas, halfvecs, int8s
from remanence.store.postgres.database import Database
from remanence.store.postgres.schema import lock_number
from remanence.store.postgres.session import Session

WORDS_LOCK = lock_number("words")


class Unemployed(Exception):
    """Raised inside a write: the tenant does not employ these embedders yet."""

    def __init__(self, fingerprints: Iterable[Fingerprint]) -> None:
        super().__init__()
        self.fingerprints = set(fingerprints)


def writers_lock(tenant: int) -> int:
    """The lock that a tenant's writers share, and whoever changes the rules for them has alone."""
    return lock_number(f"writers of {tenant}")


def employ(database: Database, tenant: str, fingerprints: Iterable[Fingerprint]) -> None:
    """Let a tenant's memories, and those to come, have pieces of these embedders.

    Whoever else employed one a moment ago has queued its memories; some have pieces by now.
    """

    def work(session: Session) -> None:
        session.run("lock_writers", own=writers_lock(session.tenant))
        for made_by in fingerprints:
            embedder = _embedder(session, made_by)
            if session.value("employ", embedder=embedder) is not None:
                session.run("await_everything", embedder=embedder)

    database.write(tenant, work)


def embedder_values(made_by: Fingerprint) -> dict[str, str | int]:
    """What the table `embedders` keeps of an embedder."""
    return {
        "fingerprint": str(made_by),
        "name": made_by.name,
        "digest": made_by.digest,
        "dimension": made_by.dimension,
        "pooling": made_by.pooling,
        "codes": made_by.codes,
    }


def _embedder(session: Session, made_by: Fingerprint) -> int:
    session.run("insert_embedder", **embedder_values(made_by))
    found = session.value("embedder", fingerprint=str(made_by))
    if found is None:
        raise StoreError(f"The embedder {made_by} could not be registered; try again.")
    return int(found)


@dataclass(slots=True)
class Placing:
    """Pieces of one transaction; `employed` are the tenant's embedders."""

    employed: Mapping[str, int]
    _old: list[tuple[int, int, int]] = field(default_factory=list)
    _waiting: set[tuple[int, int]] = field(default_factory=set)
    _served: set[tuple[int, int]] = field(default_factory=set)
    _new: list[tuple[int, int, int, Pieces]] = field(default_factory=list)

    def check(self, made: Iterable[Pieces]) -> None:
        """Raise `Unemployed` if the tenant does not employ who made these."""
        missing = {one.fingerprint for one in made if str(one.fingerprint) not in self.employed}
        if missing:
            raise Unemployed(missing)

    def place(self, partition: int, key: int, made: Iterable[Pieces]) -> None:
        """A new memory's pieces; embedders without any have it pending."""
        self._waiting |= {(embedder, key) for embedder in self.employed.values()}
        for pieces in made:
            self._put(partition, key, pieces)

    def replace(
        self, partition: int, key: int, made: Iterable[Pieces], *, text_changed: bool
    ) -> None:
        """Pieces in place of older ones; of all older ones if the text changed."""
        if text_changed:
            self._old += [(partition, embedder, key) for embedder in self.employed.values()]
            self._waiting |= {(embedder, key) for embedder in self.employed.values()}
        for pieces in made:
            self._old.append((partition, self._embedder(pieces), key))
            self._put(partition, key, pieces)

    def clear(self, partition: int, key: int) -> None:
        """No pieces of a memory that goes away."""
        self._old += [(partition, embedder, key) for embedder in self.employed.values()]
        self._served |= {(embedder, key) for embedder in self.employed.values()}

    def run(self, session: Session) -> None:
        """Do all of it, in a few statements."""
        if self._old:
            partitions, embedders, keys = map(int8s, zip(*self._old, strict=True))
            old = {"partitions": partitions, "embedders": embedders, "keys": keys}
            session.run("delete_pieces", **old)
            session.run("delete_vectors", **old)
        self._queue(session, "delete_pending", self._served)
        self._queue(session, "insert_pending", self._waiting - self._served)
        self._insert(session)

    def _put(self, partition: int, key: int, pieces: Pieces) -> None:
        embedder = self._embedder(pieces)
        for piece in pieces.pieces:
            check_piece(piece, pieces.fingerprint)
        self._new.append((partition, embedder, key, pieces))
        self._served.add((embedder, key))

    def _embedder(self, pieces: Pieces) -> int:
        return self.employed[str(pieces.fingerprint)]

    def _queue(self, session: Session, name: str, pairs: set[tuple[int, int]]) -> None:
        if pairs:
            embedders, keys = map(int8s, zip(*pairs, strict=True))
            session.run(name, embedders=embedders, keys=keys)

    def _insert(self, session: Session) -> None:
        rows = [
            (partition, embedder, key, piece)
            for partition, embedder, key, pieces in self._new
            for piece in pieces.pieces
        ]
        for size in {len(piece.vector) for *_, piece in rows}:
            _insert_alike(session, [row for row in rows if len(row[3].vector) == size])


def _insert_alike(session: Session, rows: list[tuple[int, int, int, Piece]]) -> None:
    partitions, embedders, keys, pieces = zip(*rows, strict=True)
    vectors = [piece.vector for piece in pieces]
    places = {
        "partitions": int8s(partitions),
        "embedders": int8s(embedders),
        "keys": int8s(keys),
        "parts": int8s(piece.part for piece in pieces),
    }
    session.run(
        "insert_pieces",
        **places,
        passages=int8s(piece.passage for piece in pieces),
        starts=int8s(piece.start for piece in pieces),
        stops=int8s(piece.stop for piece in pieces),
        vectors=byteas(vectors),
        codes=byteas(piece.codes for piece in pieces),
    )
    session.run("insert_vectors", **places, embeddings=halfvecs(restored(vectors)))
