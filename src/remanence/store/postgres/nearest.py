"""PgVectorIndex: nearest pieces by pgvector, from the very tables the store writes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable

import numpy as np

from remanence.errors import Closed, InvalidInput
from remanence.model.embedding import Fingerprint, FloatArray
from remanence.ports.store import Keys, Progress
from remanence.ports.vector_index import IndexStats, Nearest
from remanence.store.postgres.building import Building
from remanence.store.postgres.faults import translated
from remanence.store.postgres.indexes import (
    MOST_DIMENSIONS,
    graphs,
    rebuild,
    want,
)
from remanence.store.postgres.searching import Search, nothing
from remanence.store.postgres.session import Session
from remanence.store.postgres.store import PostgresStore

_SIZES_S = 10.0
_SIZES_KEPT = 100_000


class PgVectorIndex:
    """A `VectorIndex` that has nothing to follow: a piece is found as soon as it is committed.

    Partitions of at most `small` memories are scored one by one, larger ones through HNSW. Scores
    are exact cosines of the stored 8-bit vectors, or with `exact=False` of their 16-bit copies.
    Indexes that are missing when it opens are made in the background, which waits for every
    transaction that is open elsewhere; until they are there answers are only slower.
    """

    def __init__(
        self, store: PostgresStore, fingerprint: Fingerprint, *, small: int = 5000
    ) -> None:
        self._database = store._database
        self._fingerprint, self._small = fingerprint, small
        self._asked: set[int] = set()
        self._sizes: dict[int, tuple[float, tuple[int, int]]] = {}
        self._closed = False
        self._building = self._prepare()

    def nearest(
        self,
        partition: int,
        vector: FloatArray,
        limit: int,
        allowed: Keys | None = None,
        *,
        exact: bool = True,
    ) -> Nearest:
        """As in `VectorIndex`."""
        query = self._unit(vector)
        self._check_open()
        self._asked.add(partition)
        if limit <= 0 or (allowed is not None and not len(allowed)):
            return nothing()

        def work(session: Session) -> Nearest:
            embedder = self._database.embedder(session, self._fingerprint)
            if embedder is None:
                return nothing()
            search = Search(session, partition, embedder, query, limit, exact)
            return self._chosen(search, allowed)

        return self._database.read_partition(partition, work) or nothing()

    def stats(self) -> IndexStats:
        """As in `VectorIndex`: vectors of the partitions asked for; none are held here."""
        self._check_open()
        counts = [self._count(partition) for partition in tuple(self._asked)]
        with translated(self._where), self._database.connections.fresh() as connection:
            missing = sum(not whole for _, whole in graphs(connection))
        return IndexStats(
            vectors=sum(counts),
            bytes_in_memory=sys.getsizeof(self._asked),
            detail=f"{missing} vector indexes are not made yet" if missing else "",
        )

    def flush(self, partitions: Iterable[int] = ()) -> bool:
        """As in `VectorIndex`: there is nothing to write."""
        return True

    def rebuild(self, progress: Progress | None = None) -> None:
        """As in `VectorIndex`: the embedder's indexes are made anew, for every process."""
        self._check_open()
        with translated(self._where), self._database.connections.fresh() as connection:
            rebuild(connection, self._fingerprint, progress)

    def built(self, timeout_s: float | None = None) -> bool:
        """Wait until the indexes that were missing are made; whether that came to its end."""
        return self._building is None or self._building.ended(timeout_s)

    def close(self) -> None:
        """As in `VectorIndex`; the indexes stay, the next to open makes those still missing."""
        self._closed = True
        if self._building is not None:
            self._building.stop()

    def _chosen(self, search: Search, allowed: Keys | None) -> Nearest:
        """By whichever way is quick; one that brings too few is followed by one that cannot."""
        memories, everyones = self._sizes_of(search)
        candidates = memories if allowed is None else len(allowed)
        indexed = memories > self._small and self._fingerprint.dimension <= MOST_DIMENSIONS
        if indexed and search.suits_graph(candidates, max(everyones, memories)):
            found = search.through_graph(candidates / memories, allowed)
            if len(found.keys) >= search.limit:
                return found
        return search.one_by_one(allowed)

    def _sizes_of(self, search: Search) -> tuple[int, int]:
        """They only say which way is quicker, so those of a moment ago will do."""
        at, sizes = self._sizes.get(search.partition, (0.0, (0, 0)))
        if time.monotonic() - at > _SIZES_S:
            if len(self._sizes) > _SIZES_KEPT:
                self._sizes.clear()
            sizes = search.sizes()
            self._sizes[search.partition] = (time.monotonic(), sizes)
        return sizes

    def _prepare(self) -> Building | None:
        with translated(self._where), self._database.connections.fresh() as connection:
            want(connection, self._fingerprint)
            if all(whole for _, whole in graphs(connection)):
                return None
        return Building(self._database.connections)

    def _count(self, partition: int) -> int:
        def work(session: Session) -> int:
            embedder = self._database.embedder(session, self._fingerprint)
            return int(session.value("count_vectors", partition=partition, embedder=embedder or 0))

        return self._database.read_partition(partition, work) or 0

    def _unit(self, vector: FloatArray) -> FloatArray:
        query = np.asarray(vector, np.float32)
        fits = query.shape == (self._fingerprint.dimension,)
        length = float(np.sqrt(np.vecdot(query, query))) if fits else np.nan
        if not np.isfinite(length):
            raise InvalidInput(
                f"The vector must hold {self._fingerprint.dimension} finite numbers."
            )
        return query / np.float32(length or 1)

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("The index is closed; open the memory again.")

    @property
    def _where(self) -> str:
        return self._database.settings.where
