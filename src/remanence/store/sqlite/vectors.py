"""Stored pieces in SQLite, by the embedder that made them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw
import numpy as np

from remanence.errors import StoreCorrupt
from remanence.model.embedding import Fingerprint
from remanence.model.memory import MemoryRecord
from remanence.model.write import Pieces
from remanence.ports.pieces import StoredPieces
from remanence.ports.store import Keys
from remanence.store.coarse import opened, opened_pieces
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.numbers import bound, parsed
from remanence.store.sqlite.placing import (
    MEMORY_SHIFT,
    MOST_PARTS,
    Placing,
    embedder_id,
    first_places,
)
from remanence.store.sqlite.statements import fetch_all, fetch_value, run

_CHUNK = 2000
_FIGURES = 6  # of a piece, in the block `pieces`


class SqliteVectors:
    """The Vectors port."""

    _database: Database

    def embedders(self) -> list[Fingerprint]:
        """Every embedder that the store has met and not forgotten; oldest first."""
        with self._database.reading() as connection:
            return [Fingerprint(*row) for row in run(connection, "embedders")]

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

    def scan_vectors(
        self, fingerprint: Fingerprint, partition: int
    ) -> Iterator[tuple[int, int, bytes]]:
        """(key, part, vector) of a whole partition, by key and part; read in chunks."""
        with self._database.reading() as connection:
            embedder = embedder_id(connection, fingerprint)
            keys = np.sort(parsed(fetch_value(connection, "keys_of", (partition,))))
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

    def unembedded(
        self, tenant: str, fingerprint: Fingerprint, limit: int
    ) -> list[tuple[int, MemoryRecord]]:
        """The tenant's memories that have no pieces from that embedder yet, oldest first."""
        with self._database.reading() as connection:
            embedder = embedder_id(connection, fingerprint)
            if embedder is None:
                rows = fetch_all(connection, "scan_tenant", (0, tenant, limit))
            else:
                rows = fetch_all(connection, "unembedded", (embedder, tenant, limit))
            return [(row[0], self._database.record(connection, row)) for row in rows]

    def count_unembedded(self, tenant: str, fingerprint: Fingerprint) -> int:
        """How many those are."""
        with self._database.reading() as connection:
            embedder = embedder_id(connection, fingerprint)
            asked = {"tenant": tenant, "embedder": embedder}
            name = "count_of_tenant" if embedder is None else "count_pending"
            return int(fetch_value(connection, name, asked))

    def put_pieces(self, tenant: str, made: Sequence[tuple[int, str, Pieces]]) -> int:
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
