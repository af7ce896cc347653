"""One search for near vectors: through the HNSW index, or one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from psycopg.types.numeric import Int4

from remanence.model.embedding import FloatArray, restored
from remanence.ports.store import Keys
from remanence.ports.vector_index import Nearest
from remanence.store.postgres.arrays import halfvec, int8s
from remanence.store.postgres.session import Session, sql

WIDE = 0.5  # share of allowed memories from which on the others are left out here, not there
LEAST_EFFORT, MOST_EFFORT = 240, 1000  # hnsw.ef_search; 1000 is pgvector's limit
VISIT_US, LOOK_US = 35.0, 3.0  # measured with 384 dimensions: a candidate of the index, a vector


@dataclass(frozen=True, slots=True)
class Search:
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
        return self._best(_among(found, allowed) if wide and allowed is not None else found)

    def one_by_one(self, allowed: Keys | None) -> Nearest:
        """By looking at each; all that there are."""
        name = "near_one_by_one" if allowed is None else "allowed_one_by_one"
        return self._best(self._found(name, self._margin(), allowed))

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
            return nothing()
        keys, parts, told = zip(*(row[:3] for row in rows), strict=True)
        if self.exact:
            scores = np.vecdot(restored(list(told)), self.query)
        else:
            scores = -np.array(told, np.float32)
        return Nearest(np.array(keys, np.int64), np.array(parts, np.int64), scores)

    def _best(self, found: Nearest) -> Nearest:
        order = np.lexsort((found.parts, found.keys, -found.scores))[: self.limit]
        return Nearest(found.keys[order], found.parts[order], found.scores[order])


def nothing() -> Nearest:
    """No pieces."""
    return Nearest(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))


def _among(found: Nearest, allowed: Keys) -> Nearest:
    kept = np.isin(found.keys, allowed)
    return Nearest(found.keys[kept], found.parts[kept], found.scores[kept])
