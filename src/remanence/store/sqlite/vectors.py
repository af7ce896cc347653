"""Stored pieces in SQLite, numbered by memory, embedder and part; and the cold tier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw
import numpy as np

from remanence.errors import StoreCorrupt, StoreError
from remanence.model.embedding import Fingerprint
from remanence.model.ports.pieces import StoredPieces
from remanence.model.ports.store import Keys
from remanence.model.write import Pieces
from remanence.store.coarse import check_piece, opened, opened_pieces
from remanence.store.core.recall import StoredVectors
from remanence.store.core.tiers import Draft, NewText, StoredDictionaries, StoredTiers
from remanence.store.packing import Dictionary, body_digest
from remanence.store.rows import Row
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.session import (
    Session,
    bound,
    fetch_all,
    fetch_value,
    parsed,
    run,
    run_many,
)
from remanence.store.sqlite.words import stored_dictionary

MEMORY_SHIFT = 24
EMBEDDER_SHIFT = 14
MOST_PARTS = (1 << EMBEDDER_SHIFT) - 1
MAX_EMBEDDERS = 1 << (MEMORY_SHIFT - EMBEDDER_SHIFT)
_CHUNK = 2000
_FIGURES = 6  # of a piece, in the block `pieces`


def first_place(key: int, embedder: int = 0) -> int:
    """Where the first piece of a memory by that embedder lies."""
    return key << MEMORY_SHIFT | embedder << EMBEDDER_SHIFT


def first_places(keys: Sequence[int] | Keys, embedder: int) -> Keys:
    """The same of many memories."""
    return np.asarray(keys, np.int64) << MEMORY_SHIFT | embedder << EMBEDDER_SHIFT


def embedder_id(connection: apsw.Connection, fingerprint: Fingerprint) -> int | None:
    """The number of an embedder that the store has met."""
    asked = {"fingerprint": str(fingerprint)}
    found: int | None = fetch_value(connection, "employed_embedder", asked)
    return found


class Placing:
    """Pieces written inside one transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._embedders: dict[Fingerprint, int] = {}
        self._several: bool | None = None

    def place(self, key: int, pieces: Pieces | None) -> None:
        """Store a new memory's pieces; embedders without any have it pending."""
        embedder = None if pieces is None else self._embedder(pieces.fingerprint)
        if embedder is None or self._has_others():
            run(self._connection, "await_embedders", (key,))
        if pieces is not None and embedder is not None:
            self._put(key, embedder, pieces)

    def replace(self, key: int, pieces: Pieces | None, *, text_changed: bool) -> None:
        """Store pieces in place of older ones; of all older ones if the text changed."""
        if text_changed:
            self._delete(first_place(key), first_place(key + 1))
            run(self._connection, "await_embedders", (key,))
        if pieces is not None:
            embedder = self._embedder(pieces.fingerprint)
            self._delete(first_place(key, embedder), first_place(key, embedder + 1))
            self._put(key, embedder, pieces)

    def clear(self, key: int) -> None:
        """Remove all pieces of a memory that goes away."""
        self._delete(first_place(key), first_place(key + 1))
        run(self._connection, "stop_awaiting", (key,))

    def _put(self, key: int, embedder: int, pieces: Pieces) -> None:
        first = first_place(key, embedder)
        for piece in pieces.pieces:
            check_piece(piece, pieces.fingerprint)
            place = (first + piece.part, piece.passage, piece.start, piece.stop)
            run(self._connection, "insert_piece", (*place, piece.vector, piece.codes))
        run(self._connection, "embedded", (embedder, key))

    def _delete(self, first: int, end: int) -> None:
        run(self._connection, "delete_pieces", (first, end - 1))

    def _embedder(self, fingerprint: Fingerprint) -> int:
        known = self._embedders.get(fingerprint)
        if known is None:
            known = embedder_id(self._connection, fingerprint) or self._register(fingerprint)
            self._embedders[fingerprint] = known
        return known

    def _register(self, made_by: Fingerprint) -> int:
        values = (made_by.name, made_by.digest, made_by.dimension, made_by.pooling, made_by.codes)
        new = fetch_value(self._connection, "insert_embedder", (str(made_by), *values))
        if new >= MAX_EMBEDDERS:
            raise StoreError(f"The store has met {MAX_EMBEDDERS} embedders; copy it to a new one.")
        run(self._connection, "await_everything", (new,))
        self._several = None
        return int(new)

    def _has_others(self) -> bool:
        if self._several is None:
            self._several = fetch_value(self._connection, "count_embedders") > 1
        return self._several


class SqliteVectors(StoredVectors[Database]):
    """The Vectors port."""

    def pieces(self, fingerprint: Fingerprint, partition: int, keys: Sequence[int]) -> StoredPieces:
        """All pieces of these memories made by that embedder, by key and part."""
        wanted = np.unique(np.asarray(keys, np.int64))
        found = []
        for at in range(0, len(wanted), _CHUNK):
            asked = {"keys": bound(wanted[at : at + _CHUNK]), "embedder": str(fingerprint)}
            with self._database.reading() as connection:
                [joined] = fetch_all(connection, "pieces", asked)
            found.append(_separated(*joined))
        return opened_pieces(StoredPieces.joined(found), fingerprint.dimension)

    def scan(self, fingerprint: Fingerprint, partition: int) -> Iterator[tuple[int, int, bytes]]:
        """(key, part, vector) of a whole partition, by key and part; read in chunks."""
        with self._database.reading() as connection:
            embedder = embedder_id(connection, fingerprint)
            keys = np.sort(parsed(fetch_value(connection, "keys_of", {"partition": partition})))
        if embedder is None:
            return
        for at in range(0, len(keys), _CHUNK):
            with self._database.reading() as connection:
                places = _places(keys[at : at + _CHUNK], embedder)
                found = fetch_all(connection, "vectors_of", (places,))
            if not all(isinstance(vector, bytes) for _, _, vector in found):
                raise StoreCorrupt(f"{self._database.path} lost vectors; run `rem doctor`.")
            vectors = opened([vector for _, _, vector in found], fingerprint.dimension)
            for (key, part, _), vector in zip(found, vectors, strict=True):
                yield key, part, vector

    def put(self, tenant: str, made: Sequence[tuple[int, str, Pieces]]) -> int:
        """Store pieces for memories that still have the text they were made from."""
        kept = 0
        with self._database.writing() as connection:
            placing = Placing(connection)
            for key, text, pieces in made:
                partition = fetch_value(connection, "partition_if_text", (key, text, tenant))
                if partition is not None:
                    placing.replace(key, pieces, text_changed=False)
                    run(connection, "insert_change", (partition, key))
                    kept += 1
        return kept

    def forget_embedders(self, tenant: str, keep: Fingerprint) -> int:
        """Remove the tenant's pieces of every other embedder, in small transactions; how many."""
        with self._database.reading() as connection:
            rows = fetch_all(connection, "other_embedders", (str(keep),))
        return sum(self._forget(tenant, embedder) for (embedder,) in rows)

    def _forget(self, tenant: str, embedder: int) -> int:
        removed = after = 0
        while True:
            with self._database.writing() as connection:
                asked = {"after": after, "tenant": tenant, "embedder": embedder, "most": _CHUNK}
                keys = parsed(fetch_value(connection, "keys_embedded", asked))
                if not len(keys):
                    run(connection, "delete_unused_embedder", {"embedder": embedder})
                    return removed
                places = _places(keys, embedder)
                removed += fetch_value(connection, "count_places", (places,))
                run(connection, "delete_places", (places,))
                run(connection, "await_again", (embedder, bound(keys)))
            after = int(keys[-1])


def _separated(figures: str | None, vectors: bytes | None, codes: bytes | None) -> StoredPieces:
    """The pieces that the block `pieces` joined."""
    place, *spans, of_vector, of_codes = parsed(figures).reshape(-1, _FIGURES).T
    numbers = np.stack([place >> MEMORY_SHIFT, place & MOST_PARTS, *spans])
    ends = of_vector.cumsum(), of_codes.cumsum()
    return StoredPieces(numbers, vectors or b"", ends[0], codes or b"", ends[1])


def _places(keys: Sequence[int] | Keys, embedder: int) -> apsw.CArrayBinding | None:
    return bound(first_places(keys, embedder))


class Dictionaries(StoredDictionaries[Database]):
    """Which dictionary a tenant's texts are packed with, now and after erasures."""

    def _stored(self, session: Session, draft: Draft) -> Dictionary | None:
        told = {"among": draft.among, "digest": body_digest(draft.body), "body": draft.body}
        number = int(session.value("insert_dictionary", **told))
        sources = session.array_of(draft.sources)
        kept = session.rows("insert_sources", dictionary=number, keys=sources)
        if len(kept) == len(draft.sources):
            return Dictionary(number, draft.body)
        session.run("delete_dictionary", dictionary=number)
        return None

    def _whole(self, session: Session, number: int) -> Dictionary:
        return stored_dictionary(session.connection, number)

    def _put_texts(self, session: Session, new: Sequence[NewText]) -> None:
        for key, text, packed, number in new:
            tier = session.put("tier_of", (key,)).get  # a plain text makes a memory hot
            session.put("put_text", (text if packed is None else packed, key))
            session.put("put_packed", (key, tier or 0, number or None))

    def _sweep(self, session: Session) -> None:
        session.removed |= bool(session.rows("delete_unused_dictionaries"))


class SqliteTiers(StoredTiers[Database]):
    """The Tiers port."""

    def _put_pieces(self, session: Session, rows: Sequence[Row]) -> None:
        new = [(vector, codes, place) for place, vector, codes in rows]
        run_many(session.connection, "put_piece", new)
