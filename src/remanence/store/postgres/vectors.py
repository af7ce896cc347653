"""Stored pieces in PostgreSQL, who still lacks some, and the cold tier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from remanence.errors import StoreError
from remanence.model.embedding import Fingerprint, restored
from remanence.model.ports.pieces import StoredPiece, StoredPieces
from remanence.model.write import Piece, Pieces
from remanence.store.coarse import check_piece, opened, opened_pieces
from remanence.store.core.recall import StoredVectors
from remanence.store.core.tiers import Draft, NewText, StoredDictionaries, StoredTiers
from remanence.store.packing import Dictionary, body_digest
from remanence.store.postgres.arrays import Kinds, arrays, byteas, halfvecs, int8s, texts
from remanence.store.postgres.database import Database
from remanence.store.postgres.session import Session, announce
from remanence.store.postgres.texts import stored_dictionary
from remanence.store.rows import Row

_CHUNK = 2000
PLACES: Kinds = {"partitions": int8s, "embedders": int8s, "keys": int8s, "parts": int8s}
_PIECES: Kinds = {
    **PLACES, "passages": int8s, "starts": int8s, "stops": int8s, "vectors": byteas,
    "codes": byteas,
}  # fmt: skip


class Unemployed(Exception):
    """Raised inside a write: the tenant does not employ these embedders yet."""

    def __init__(self, fingerprints: Iterable[Fingerprint]) -> None:
        super().__init__()
        self.fingerprints = set(fingerprints)


def employ(database: Database, tenant: str, fingerprints: Iterable[Fingerprint]) -> None:
    """Let a tenant's memories, and those to come, have pieces of these embedders.

    Whoever else employed one a moment ago has queued its memories; some have pieces by now.
    """

    def work(session: Session) -> None:
        session.hold_writers()
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
    told = [
        (*place, one.part, one.passage, one.start, one.stop, one.vector, one.codes)
        for *place, one in rows
    ]
    columns = arrays(_PIECES, told)
    session.run("insert_pieces", **columns)
    places = {name: columns[name] for name in PLACES}
    vectors = restored([piece.vector for *_, piece in rows])
    session.run("insert_vectors", **places, embeddings=halfvecs(vectors))


class PostgresVectors(StoredVectors[Database]):
    """The Vectors port."""

    def pieces(self, fingerprint: Fingerprint, partition: int, keys: Sequence[int]) -> StoredPieces:
        """All pieces of these memories made by that embedder, by key and part."""
        wanted = int8s(np.unique(np.asarray(keys, np.int64)))

        def work(session: Session) -> list[tuple[Any, ...]]:
            embedder = self._database.embedder(session, fingerprint)
            asked = {"partition": partition, "embedder": embedder, "keys": wanted}
            return [] if embedder is None else session.rows("pieces", **asked)

        found = self._database.read_partition(partition, work)
        stored = StoredPieces.of(StoredPiece(*row) for row in found or [])
        return opened_pieces(stored, fingerprint.dimension)

    def scan(self, fingerprint: Fingerprint, partition: int) -> Iterator[tuple[int, int, bytes]]:
        """(key, part, vector) of a whole partition, by key and part; read in chunks."""
        after = (0, 0)
        while rows := self._vectors_after(fingerprint, partition, after):
            yield from rows
            after = rows[-1][:2]

    def _vectors_after(
        self, fingerprint: Fingerprint, partition: int, after: tuple[int, int]
    ) -> list[tuple[int, int, bytes]]:
        def work(session: Session) -> list[tuple[Any, ...]]:
            embedder = self._database.embedder(session, fingerprint)
            asked = {"partition": partition, "embedder": embedder, "most": _CHUNK}
            asked |= {"after": after[0], "part": after[1]}
            return [] if embedder is None else session.rows("vectors_after", **asked)

        found = self._database.read_partition(partition, work) or []
        vectors = opened([vector for _, _, vector in found], fingerprint.dimension)
        return [(key, part, vector) for (key, part, _), vector in zip(found, vectors, strict=True)]

    def put(self, tenant: str, made: Sequence[tuple[int, str, Pieces]]) -> int:
        """Store pieces for memories that still have the text they were made from."""
        while True:
            try:
                return self._database.write(tenant, lambda one: _put(self._database, one, made))
            except Unemployed as missing:
                employ(self._database, tenant, missing.fingerprints)

    def forget_embedders(self, tenant: str, keep: Fingerprint) -> int:
        """Remove the tenant's pieces of every other embedder, in small transactions; how many."""
        employed = self._database.read(tenant, lambda session: session.rows("employed"))
        others = [embedder for name, embedder in employed or [] if name != str(keep)]
        return sum(self._forget(tenant, embedder) for embedder in others)

    def _forget(self, tenant: str, embedder: int) -> int:
        """Unemployed first, so that nobody adds pieces behind the one who removes them."""

        def unemploy(session: Session) -> None:
            session.hold_writers()
            session.run("unemploy", embedder=embedder)
            session.run("delete_queue", embedder=embedder)

        self._database.write(tenant, unemploy)
        partitions = self._database.read(tenant, lambda one: one.rows("partitions_of_tenant"))
        return sum(self._clear(tenant, partition, embedder) for partition, _ in partitions or [])

    def _clear(self, tenant: str, partition: int, embedder: int) -> int:
        place = {"partition": partition, "embedder": embedder}

        def remove(session: Session) -> tuple[int, int]:
            keys = [key for (key,) in session.rows("embedded_keys", **place, most=_CHUNK)]
            old = {"partitions": int8s([partition] * len(keys)), "keys": int8s(keys)}
            old["embedders"] = int8s([embedder] * len(keys))
            session.run("delete_vectors", **old)
            return len(keys), len(session.rows("delete_pieces", **old))

        removed = 0
        while (chunk := self._database.write(tenant, remove))[0]:
            removed += chunk[1]
        return removed


def _put(database: Database, session: Session, made: Sequence[tuple[int, str, Pieces]]) -> int:
    session.share_writing()
    employed = session.run("employed")
    keys = int8s(np.unique([key for key, _, _ in made]).astype(np.int64))
    rows = session.rows("lock_keys", keys=keys)
    placing = Placing(dict(employed.fetchall()))
    missing = {
        one.fingerprint for _, _, one in made if str(one.fingerprint) not in placing.employed
    }
    if missing:
        raise Unemployed(missing)
    there = {key: (partition, database.text(session, text)) for key, partition, text in rows}
    kept = [(key, pieces) for key, text, pieces in made if there.get(key, (0, None))[1] == text]
    for key, pieces in kept:
        placing.replace(there[key][0], key, [pieces], text_changed=False)
    placing.run(session)
    session.run("warm", keys=int8s(key for key, _ in kept))
    announce(session, [(there[key][0], key) for key, _ in kept])
    return len(kept)


_TEXTS: Kinds = {"keys": int8s, "texts": texts, "packed": byteas, "dictionaries": int8s}
_PACKED: Kinds = {
    "partitions": int8s, "embedders": int8s, "keys": int8s, "parts": int8s,
    "vectors": byteas, "codes": byteas,
}  # fmt: skip


class Dictionaries(StoredDictionaries[Database]):
    """Which dictionary a tenant's texts are packed with, now and after erasures."""

    def _stored(self, session: Session, draft: Draft) -> Dictionary | None:
        there = session.rows("hold_sources", keys=int8s(draft.sources))
        if len(there) < len(draft.sources):
            return None
        told = {"among": draft.among, "digest": body_digest(draft.body), "body": draft.body}
        number = int(session.value("insert_dictionary", **told))
        session.run("insert_sources", keys=int8s(draft.sources), dictionary=number)
        return Dictionary(number, draft.body)

    def _whole(self, session: Session, number: int) -> Dictionary:
        return stored_dictionary(session, number)

    def _put_texts(self, session: Session, new: Sequence[NewText]) -> None:
        session.run("put_texts", **arrays(_TEXTS, new))

    def _sweep(self, session: Session) -> None:
        session.hold_writers()
        unused = [number for (number,) in session.rows("unused_dictionaries")]
        if unused:
            session.run("delete_dictionaries", ids=int8s(unused))


class PostgresTiers(StoredTiers[Database]):
    """The Tiers port. The halfvecs that pgvector searches stay as they are."""

    def _put_pieces(self, session: Session, rows: Sequence[Row]) -> None:
        session.run("put_pieces", **arrays(_PACKED, rows))
