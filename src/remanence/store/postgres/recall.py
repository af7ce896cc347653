"""What recall reads from PostgreSQL: partitions, the change feed, traits, postings, records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from remanence.model.filter import Filter
from remanence.model.memory import MemoryRecord
from remanence.model.scope import Reach
from remanence.ports.store import Change, Keys, Trait
from remanence.store.postgres.arrays import int8s, uuids
from remanence.store.postgres.database import Database
from remanence.store.postgres.filters import check, statement, within
from remanence.store.postgres.session import Session
from remanence.store.postgres.watching import Watcher
from remanence.store.postgres.words import occurrences, term_numbers
from remanence.store.rows import KINDS, STATES, Row, packed_id

_CHUNK = 5000


class PostgresRecall:
    """The RecallSource port."""

    _database: Database
    _watcher: Watcher

    def partitions(self, reach: Reach) -> list[int]:
        """The partitions a read may see."""
        return (
            self._database.read(
                reach.tenant, lambda session: self._database.partitions(session, reach)
            )
            or []
        )

    def position(self, partition: int) -> int:
        """The newest `seq` of the partition's feed."""
        return (
            self._database.read_partition(
                partition, lambda session: session.value("position", partition=partition)
            )
            or 0
        )

    def changes(self, partition: int, after: int, limit: int) -> list[Change]:
        """The partition's feed entries after `after`, in order."""
        asked = {"partition": partition, "after": after, "most": limit}
        rows = self._database.read_partition(
            partition, lambda session: session.rows("changes", **asked)
        )
        return [Change._make(row) for row in rows or []]

    def watch(self, timeout_s: float) -> list[int]:
        """Partitions written to since the last call; the server rings."""
        return self._watcher.watch(timeout_s)

    def traits(self, partition: int, keys: Sequence[int] | None = None) -> Iterator[Trait]:
        """Traits by key; read in chunks, so no read stays open between them."""
        wanted = self._keys_of(partition) if keys is None else np.unique(np.asarray(keys, np.int64))
        for at in range(0, len(wanted), _CHUNK):
            yield from map(_trait, self._rows_of("traits", partition, wanted[at : at + _CHUNK]))

    def keys(self, partition: int, where: Filter) -> Keys:
        """Keys in the partition that satisfy the filter, ascending."""

        def work(session: Session) -> Keys | None:
            condition = within(session, partition, where)
            row = session.execute(statement("keys", condition), condition.values).fetchone()
            return None if row is None else row[0]

        found = self._database.read_partition(partition, work)
        if found is None:
            check(where)
        return _sorted(found)

    def postings(self, partition: int, terms: Sequence[str], most: int) -> list[Keys | None]:
        """For each term the keys of the memories that hold it, ascending, once per occurrence."""
        asked = {"terms": int8s(term_numbers(partition, terms)), "most": most + 1}
        rows = self._database.read_partition(
            partition, lambda session: session.rows("postings", **asked)
        )
        if rows is None:
            return [np.empty(0, np.int64) for _ in terms]
        found = [occurrences(places) for (places,) in rows]
        return [keys if len(keys) <= most else None for keys in found]

    def records(self, partition: int, keys: Sequence[int]) -> dict[int, MemoryRecord]:
        """Whole records by key; keys that are gone, or of another partition, are left out."""
        asked = {"partition": partition, "keys": int8s(np.unique(np.asarray(keys, np.int64)))}

        def work(session: Session) -> dict[int, MemoryRecord]:
            rows = session.rows("records", **asked)
            return {row[0]: self._database.record(session, row) for row in rows}

        return self._database.read_partition(partition, work) or {}

    def key_of(self, tenant: str, id: str) -> tuple[int, int] | None:
        """(partition, key) of a tenant's memory."""

        def work(session: Session) -> tuple[int, int] | None:
            row = session.row("places_by_id", ids=uuids([packed_id(id)]))
            if row is None:
                return None
            self._database.heard_of(session.tenant, row[1])
            return row[1], row[2]

        return self._database.read(tenant, work)

    def _rows_of(self, name: str, partition: int, keys: Keys) -> list[tuple[Any, ...]]:
        asked = {"partition": partition, "keys": int8s(keys)}
        return self._database.read_partition(partition, lambda one: one.rows(name, **asked)) or []

    def _keys_of(self, partition: int) -> Keys:
        return _sorted(
            self._database.read_partition(
                partition, lambda session: session.value("keys_of", partition=partition)
            )
        )


def _sorted(keys: Keys | None) -> Keys:
    return np.empty(0, np.int64) if keys is None else np.sort(keys)


def _trait(row: Row) -> Trait:
    return Trait._make((*row[:6], KINDS[row[6]], STATES[row[7]], *row[8:]))
