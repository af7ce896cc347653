"""What the most promising memories are linked with: by having been used together, or by callers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from remanence.errors import NotFound
from remanence.model.embedding import FloatArray
from remanence.model.memory import Kind, MemoryRecord, Related
from remanence.model.ports.store import Store
from remanence.model.query import ALL
from remanence.recall.associations import DECAY, NOTHING
from remanence.recall.candidates import Pool
from remanence.recall.columns import Columns
from remanence.recall.postings import Rows

# Each costs a read of its own.
LEADERS = 2
MOST = 10
# As the layer fades them that draws memories closer which are used together.
TOGETHER = "used_together"
DAILY = 0.95


class LinkReader:
    """Reads what memories are linked with; cheap where there are none. Thread-safe.

    Once a tenant was seen to have links it is taken to have some.
    """

    def __init__(self, source: Store) -> None:
        self._source = source
        self._linking: set[str] = set()

    def linked(
        self,
        tenant: str,
        partition: int,
        columns: Columns,
        leaders: Rows,
        now: datetime,
        min_trust: float = 0.0,
    ) -> tuple[Rows, FloatArray]:
        """The rows that these are linked with, each once, and how strongly, `DECAY` at most.

        Of each the strongest links count, of those to what is trusted at least so far.
        """
        if not self._links_in(tenant):
            return NOTHING
        records = self._source.recall.records(partition, columns.key[leaders].tolist())
        found = dict(_strengths(self._source, partition, records, now, min_trust))
        rows = columns.rows_of(np.array(list(found), np.int64))
        strength = np.array(list(found.values()), np.float32)
        return rows[rows >= 0], strength[rows >= 0]

    def _links_in(self, tenant: str) -> bool:
        if tenant not in self._linking and any(True for _ in self._source.links.scan(tenant)):
            self._linking.add(tenant)
        return tenant in self._linking


def _strengths(
    source: Store, partition: int, records: dict[int, MemoryRecord], now: datetime, min_trust: float
) -> Iterator[tuple[int, float]]:
    """Key and strength of what is linked with these memories, the strongest link last."""
    links = [link for record in records.values() for link in _links(source, record, min_trust)]
    for link in sorted(links, key=lambda link: left_of(link, now)):
        place = source.recall.key_of(link.memory.tenant, link.memory.id)
        if place is not None and place[0] == partition:
            yield place[1], DECAY * left_of(link, now)


def _links(source: Store, record: MemoryRecord, min_trust: float) -> Sequence[Related]:
    most = 2 * MOST if min_trust <= 0 else ALL  # some may be to summaries, which lead nowhere
    with suppress(NotFound):  # erased just now
        found = source.links.related(
            record.tenant, record.id, type=None, direction="both", limit=most
        )
        told = (link for link in found if link.memory.kind != Kind.SUMMARY)
        return [link for link in told if link.memory.trust >= min_trust][:MOST]
    return ()


def left_of(link: Related, now: datetime) -> float:
    """How strong a link is now: what was used together fades when it is so no more."""
    if link.type != TOGETHER:
        return link.strength
    days = max((now - link.since).total_seconds(), 0.0) / 86_400
    return link.strength * float(DAILY**days)


def joined(pool: Pool, rows: Rows, allowed: NDArray[np.bool_]) -> Pool:
    """The pool with those of these rows that may be found."""
    if not len(rows):
        return pool
    fresh = np.setdiff1d(rows[allowed[rows]], pool.rows)
    return Pool(np.concatenate([pool.rows, fresh]), np.union1d(pool.considered, fresh))


def raised(by_row: FloatArray, rows: Rows, strength: FloatArray, size: int) -> FloatArray:
    """How strongly each row is reached, with what links add to it, 1 at most."""
    if not len(rows):
        return by_row
    total = by_row.copy() if len(by_row) else np.zeros(size, np.float32)
    np.add.at(total, rows, strength)
    return np.minimum(total, np.float32(1))
