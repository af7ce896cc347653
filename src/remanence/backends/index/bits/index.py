"""BitsIndex: nearest pieces by sign bits in memory and exact scores from the store."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from remanence.backends.index.bits.cache_file import VectorOwner
from remanence.backends.index.bits.partition import Partition, unpacked
from remanence.backends.index.bits.shelf import PartitionShelf
from remanence.errors import Closed, StoreError
from remanence.model.embedding import Fingerprint, FloatArray, unit_of
from remanence.model.fork_safety import computing
from remanence.model.ports.store import Keys, Store
from remanence.model.ports.vector_index import IndexStats, Nearest
from remanence.model.progress import Progress

_ATTEMPTS = 3
_RESCORE_OF = 100_000


class BitsIndex:
    """The embedded `VectorIndex`.

    Partitions of at most `small` vectors are scored exactly from memory. Larger ones keep one
    bit a dimension; the best by these are read from the store and scored exactly: `rescore` up to
    100,000 vectors, then growing with the root of their number, and always half more than
    `limit`. Past `budget_bytes`, partitions not used lately are dropped, and one that is too large
    by itself keeps its sign bits in a file and 4 bytes a vector in memory; what is found stays the
    same. Reading or writing `file`, which holds the sign bits between runs, takes one partition's
    for a moment. `identity` is the store's. Without `spill`, a partition
    that is too large for the budget stays in memory all the same.
    """

    def __init__(
        self,
        source: Store,
        fingerprint: Fingerprint,
        *,
        identity: str,
        file: Path | None = None,
        small: int = 4096,
        rescore: int = 160,
        budget_bytes: int = 64 << 20,
        spill: bool = True,
    ) -> None:
        self._source, self._fingerprint, self._rescore = source, fingerprint, rescore
        self._shelf = PartitionShelf(
            source, VectorOwner(identity, fingerprint), file, small, budget_bytes, spill=spill
        )
        self._lock = threading.Lock()
        self._closed = False

    def nearest(
        self,
        partition: int,
        vector: FloatArray,
        limit: int,
        allowed: Keys | None = None,
        *,
        exact: bool = True,
    ) -> Nearest:
        """As in `VectorIndex`; scores are exact cosines of the stored 8-bit vectors.

        Estimates come from the sign bits alone, without a look into the store.
        """
        query = unit_of(vector, self._fingerprint)
        if not exact:
            held = self._current(partition, afresh=False)
            return self._estimated(held, query, limit, allowed).best(limit)
        for attempt in range(_ATTEMPTS):
            held = self._current(partition, afresh=attempt == _ATTEMPTS - 1)
            found, whole = self._search(partition, held, query, limit, allowed)
            if whole or len(found.keys) >= limit:
                break
        return found.best(limit)

    def stats(self) -> IndexStats:
        """As in `VectorIndex`."""
        with self._lock:
            shelf = self._shelf
            return IndexStats(vectors=shelf.vectors, bytes_in_memory=shelf.nbytes)

    def flush(self, partitions: Iterable[int] = ()) -> bool:
        """As in `VectorIndex`; what was erased before is not in the new file."""
        with self._lock:
            self._refuse_if_closed()
            self._shelf.save()
        return True

    def rebuild(self, progress: Progress | None = None) -> None:
        """As in `VectorIndex`."""
        with self._lock:
            self._refuse_if_closed()
            self._shelf.forget()
            self._shelf.drop_file()

    def close(self) -> None:
        """As in `VectorIndex`; a store that cannot be read any more is no error here."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                self._shelf.save()
            except (StoreError, Closed):
                pass
            finally:
                self._shelf.forget()

    def _current(self, partition: int, *, afresh: bool) -> Partition:
        with self._lock:
            self._refuse_if_closed()
            return self._shelf.partition(partition, afresh=afresh)

    def _search(
        self, number: int, held: Partition, query: FloatArray, limit: int, allowed: Keys | None
    ) -> tuple[Nearest, bool]:
        """Scored pieces, and whether every memory chosen was still in the store."""
        if allowed is not None:
            held = held.among(allowed)
        keys = held.candidates(query, self._wanted(len(held.bits), limit))
        if not len(keys):
            return held.rows.scored(query), True
        pieces = self._source.vectors.pieces(self._fingerprint, number, keys.tolist())
        packed = ((piece.key, piece.part, piece.vector) for piece in pieces)
        read = unpacked(packed, self._fingerprint.dimension)
        whole = len(np.unique(read.keys)) == len(keys)
        return read.scored(query).together(held.rows.scored(query)), whole

    def _estimated(
        self, held: Partition, query: FloatArray, limit: int, allowed: Keys | None
    ) -> Nearest:
        if allowed is not None:
            held = held.among(allowed)
        with computing():
            return held.estimates(query, limit).together(held.rows.scored(query))

    def _wanted(self, rows: int, limit: int) -> int:
        grown = round(self._rescore * math.sqrt(rows / _RESCORE_OF))
        return max(grown, self._rescore, limit + limit // 2)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise Closed("The index is closed; open the memory again.")
