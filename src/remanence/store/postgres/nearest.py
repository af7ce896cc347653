"""PgVectorIndex: nearest pieces by pgvector, from the very tables the store writes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from psycopg.types.numeric import Int4

from remanence.errors import Closed
from remanence.model.embedding import Fingerprint, FloatArray, restored, unit_of
from remanence.model.ports.store import Keys
from remanence.model.ports.vector_index import IndexStats, Nearest
from remanence.model.progress import Progress
from remanence.store.postgres.arrays import halfvec, int8s
from remanence.store.postgres.faults import translated
from remanence.store.postgres.indexes import MOST_DIMENSIONS, Building, graphs, rebuild, want
from remanence.store.postgres.session import Session, sql
from remanence.store.postgres.store import PostgresStore

WIDE = 0.5  # share of allowed memories from which on the others are left out here, not there
LEAST_EFFORT, MOST_EFFORT = 240, 1000  # hnsw.ef_search; 1000 is pgvector's limit
VISIT_US, LOOK_US = 35.0, 3.0  # measured with 384 dimensions: a candidate of the index, a vector
_SIZES_S = 10.0
_SIZES_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class NearestSearch:
    """Where to look and for what; `query` has length 1."""

    session: Session
    partition: int
    embedder: int
    query: FloatArray
    limit: int
    exact: bool

    def sizes(self) -> tuple[int, int]:
        """The memories of the partition, and about how many vectors the index holds in all."""
        asked = {"partition": self.partition, "embedder": self.embedder}
        memories, vectors = self.session.row("sizes", **asked) or (0, 0)
        return memories or 0, vectors or 0

    def suits_graph(self, candidates: int, everyones: int) -> bool:
        """Whether the index is quicker, which visits other candidates too, than looking at each."""
        visited = max(LEAST_EFFORT, 2 * self._margin() * everyones / candidates)
        return VISIT_US * visited < LOOK_US * candidates

    def through_graph(self, share: float, allowed: Keys | None) -> Nearest:
        """By the index, as far as it goes: fewer may come than there are."""
        wanted = self._margin()
        wide = allowed is not None and share > WIDE
        if wide:
            wanted *= 2
        self.session.run("steer", effort=str(min(max(LEAST_EFFORT, 2 * wanted), MOST_EFFORT)))
        name = "near_by_graph" if allowed is None or wide else "allowed_by_graph"
        found = self._found(name, wanted, allowed)
        if wide and allowed is not None:
            found = found.take(np.isin(found.keys, allowed))
        return found.best(self.limit)

    def one_by_one(self, allowed: Keys | None) -> Nearest:
        """By looking at each; all that there are."""
        name = "near_one_by_one" if allowed is None else "allowed_one_by_one"
        return self._found(name, self._margin(), allowed).best(self.limit)

    def _margin(self) -> int:
        """More than asked for: 16 bits may put near equals in another order than 8 do."""
        return self.limit + self.limit // 2 + 20

    def _found(self, name: str, wanted: int, allowed: Keys | None) -> Nearest:
        values: dict[str, Any] = {
            "tenant": Int4(self.session.tenant),
            "partition": self.partition,
            "query": halfvec(self.query),
            "most": wanted,
            "allowed": None if allowed is None else int8s(allowed),
        }
        # The planner must see which embedder and how many dimensions to find the index.
        text = sql("with_pieces").replace("{near}", sql(name)) if self.exact else sql(name)
        text = text.replace("{by}", str(int(self.embedder)))
        text = text.replace("{dimension}", str(len(self.query)))
        # With the index the plan depends on the values; without, it is always the same.
        by_graph = name.endswith("by_graph")
        execute = self.session.execute_once if by_graph else self.session.execute
        return self._scored(execute(text, values).fetchall())

    def _scored(self, rows: list[tuple[Any, ...]]) -> Nearest:
        if not rows:
            return Nearest.nothing()
        keys, parts, told = zip(*(row[:3] for row in rows), strict=True)
        if self.exact:
            scores = np.vecdot(restored(list(told)), self.query)
        else:
            scores = -np.array(told, np.float32)
        return Nearest(np.array(keys, np.int64), np.array(parts, np.int64), scores)


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
        query = unit_of(vector, self._fingerprint)
        self._check_open()
        self._asked.add(partition)
        if limit <= 0 or (allowed is not None and not len(allowed)):
            return Nearest.nothing()

        def work(session: Session) -> Nearest:
            embedder = self._database.embedder(session, self._fingerprint)
            if embedder is None:
                return Nearest.nothing()
            search = NearestSearch(session, partition, embedder, query, limit, exact)
            return self._chosen(search, allowed)

        return self._database.read_partition(partition, work) or Nearest.nothing()

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

    def _chosen(self, search: NearestSearch, allowed: Keys | None) -> Nearest:
        """By whichever way is quick; one that brings too few is followed by one that cannot."""
        memories, everyones = self._sizes_of(search)
        candidates = memories if allowed is None else len(allowed)
        indexed = memories > self._small and self._fingerprint.dimension <= MOST_DIMENSIONS
        if indexed and search.suits_graph(candidates, max(everyones, memories)):
            found = search.through_graph(candidates / memories, allowed)
            if len(found.keys) >= search.limit:
                return found
        return search.one_by_one(allowed)

    def _sizes_of(self, search: NearestSearch) -> tuple[int, int]:
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

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("The index is closed; open the memory again.")

    @property
    def _where(self) -> str:
        return self._database.settings.where
