"""Stored pieces in SQLite, by the embedder that made them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw

from remanence.model.embedding import Fingerprint
from remanence.model.memory import MemoryRecord
from remanence.model.write import Pieces
from remanence.ports.store import Keys, StoredPiece
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.numbers import bound, parsed
from remanence.store.sqlite.placing import Placing, embedder_id, first_places
from remanence.store.sqlite.statements import fetch_all, fetch_value, run

_CHUNK = 2000


class SqliteVectors:
    """The Vectors port."""

    _database: Database

    def pieces(self, fingerprint: Fingerprint, keys: Sequence[int]) -> list[StoredPiece]:
        """All pieces of these memories made by that embedder, by key and part."""
        with self._database.reading() as connection:
            embedder = embedder_id(connection, fingerprint)
            if embedder is None:
                return []
            rows = run(connection, "pieces", (_places(keys, embedder),))
            return [StoredPiece(*row) for row in rows]

    def scan_vectors(
        self, fingerprint: Fingerprint, partition: int
    ) -> Iterator[tuple[int, int, bytes]]:
        """(key, part, vector) of a whole partition, by key and part; read in chunks."""
        after = 0
        while True:
            with self._database.reading() as connection:
                keys = _keys_after(connection, partition, after)
                embedder = embedder_id(connection, fingerprint)
                if not len(keys) or embedder is None:
                    return
                found = fetch_all(connection, "vectors_of", (_places(keys, embedder),))
            yield from found
            after = int(keys[-1])

    def unembedded(self, fingerprint: Fingerprint, limit: int) -> list[tuple[int, MemoryRecord]]:
        """Memories that have no pieces from that embedder yet, oldest first."""
        with self._database.reading() as connection:
            embedder = embedder_id(connection, fingerprint)
            if embedder is None:
                rows = fetch_all(connection, "scan", (0, limit))
            else:
                rows = fetch_all(connection, "unembedded", (embedder, limit))
            return [(row[0], self._database.record(connection, row)) for row in rows]

    def count_unembedded(self, fingerprint: Fingerprint) -> int:
        """How many those are."""
        with self._database.reading() as connection:
            embedder = embedder_id(connection, fingerprint)
            if embedder is None:
                return int(fetch_value(connection, "count_memories"))
            return int(fetch_value(connection, "count_unembedded", (embedder,)))

    def put_pieces(self, made: Sequence[tuple[int, str, Pieces]]) -> int:
        """Store pieces for memories that still have the text they were made from."""
        kept = 0
        with self._database.writing() as connection:
            placing = Placing(connection)
            for key, text, pieces in made:
                partition = fetch_value(connection, "partition_if_text", (key, text))
                if partition is not None:
                    placing.replace(key, pieces, text_changed=False)
                    run(connection, "insert_change", (partition, key))
                    kept += 1
        return kept

    def forget_embedders(self, keep: Fingerprint) -> int:
        """Remove the pieces of every other embedder, in small transactions; how many."""
        with self._database.reading() as connection:
            rows = fetch_all(connection, "other_embedders", (str(keep),))
        return sum(self._forget(embedder) for (embedder,) in rows)

    def _forget(self, embedder: int) -> int:
        removed = after = 0
        while True:
            with self._database.writing() as connection:
                joined = fetch_value(connection, "places_of", (after, embedder, _CHUNK))
                places = parsed(joined)
                if not len(places):
                    run(connection, "delete_embedder", (embedder,))
                    return removed
                run(connection, "delete_places", (apsw.carray(places),))
            removed += len(places)
            after = int(places[-1])


def _places(keys: Sequence[int] | Keys, embedder: int) -> apsw.CArrayBinding | None:
    return bound(first_places(keys, embedder))


def _keys_after(connection: apsw.Connection, partition: int, after: int) -> Keys:
    return parsed(fetch_value(connection, "keys_after", (partition, after, _CHUNK)))
