"""Where pieces lie: a number made of memory, embedder and part; and who still lacks pieces."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import numpy as np

from remanence.errors import StoreError
from remanence.model.embedding import Fingerprint
from remanence.model.write import Pieces
from remanence.ports.store import Keys
from remanence.store.pieces import check_piece
from remanence.store.sqlite.statements import fetch_value, run

MEMORY_SHIFT = 24
EMBEDDER_SHIFT = 14
MOST_PARTS = (1 << EMBEDDER_SHIFT) - 1
MAX_EMBEDDERS = 1 << (MEMORY_SHIFT - EMBEDDER_SHIFT)


def first_place(key: int, embedder: int = 0) -> int:
    """Where the first piece of a memory by that embedder lies."""
    return key << MEMORY_SHIFT | embedder << EMBEDDER_SHIFT


def first_places(keys: Sequence[int] | Keys, embedder: int) -> Keys:
    """The same of many memories."""
    return np.asarray(keys, np.int64) << MEMORY_SHIFT | embedder << EMBEDDER_SHIFT


def embedder_id(connection: apsw.Connection, fingerprint: Fingerprint) -> int | None:
    """The number of an embedder that the store has met."""
    found: int | None = fetch_value(connection, "embedder", (str(fingerprint),))
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
