"""What recall reads from SQLite: partitions, the change feed, traits, postings, records."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw
import numpy as np

from remanence.model.filter import Filter
from remanence.model.memory import MemoryRecord
from remanence.model.scope import Reach
from remanence.ports.store import Change, Keys, Trait
from remanence.store.rows import KINDS, STATES, packed_id
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.filters import statement, within
from remanence.store.sqlite.numbers import bound, parsed
from remanence.store.sqlite.statements import fetch_all, fetch_value, run
from remanence.store.words import prefixed

_CHUNK = 5000
_LOOK_S = 0.05
_COMMON = "-"  # what the block `postings` gives for a term with too many


class SqliteRecall:
    """The RecallSource port."""

    _database: Database
    _watched: int | None = None

    def partitions(self, reach: Reach) -> list[int]:
        """The partitions a read may see."""
        with self._database.reading() as connection:
            return self._database.partitions(connection, reach)

    def position(self, partition: int) -> int:
        """The newest `seq` of the partition's feed."""
        with self._database.reading() as connection:
            return int(fetch_value(connection, "position", (partition,)))

    def changes(self, partition: int, after: int, limit: int) -> list[Change]:
        """The partition's feed entries after `after`, in order."""
        with self._database.reading() as connection:
            rows = run(connection, "changes", (partition, after, limit))
            return [Change._make(row) for row in rows]

    def watch(self, timeout_s: float) -> list[int]:
        """Partitions written to since the last call; SQLite has no bell, so this looks often."""
        deadline = time.monotonic() + timeout_s
        while not (found := self._written_to()) and time.monotonic() < deadline:
            time.sleep(min(_LOOK_S, max(deadline - time.monotonic(), 0)))
        return found

    def _written_to(self) -> list[int]:
        with self._database.reading() as connection:
            newest = fetch_value(connection, "newest_change")
            seen = newest if self._watched is None else self._watched
            self._watched = newest
            if newest == seen:
                return []
            return [row[0] for row in run(connection, "changed_partitions", (seen, newest))]

    def traits(self, partition: int, keys: Sequence[int] | None = None) -> Iterator[Trait]:
        """Traits by key; read in chunks, so no read stays open between them."""
        wanted = self._keys_of(partition) if keys is None else np.unique(np.asarray(keys, np.int64))
        for at in range(0, len(wanted), _CHUNK):
            with self._database.reading() as connection:
                chunk = (bound(wanted[at : at + _CHUNK]), partition)
                rows = fetch_all(connection, "traits", chunk)
            yield from _traits(rows)

    def keys(self, partition: int, where: Filter) -> Keys:
        """Keys in the partition that satisfy the filter, ascending."""
        condition = within(partition, where)
        with self._database.reading() as connection:
            joined = connection.execute(statement("keys", condition), condition.values).get
        return np.sort(parsed(joined))

    def postings(self, partition: int, terms: Sequence[str], most: int) -> list[Keys | None]:
        """For each term the keys of the memories that hold it, ascending, once per occurrence."""
        if not terms:
            return []
        asked = {"terms": apsw.carray(tuple(prefixed(partition, terms))), "most": most}
        with self._database.reading() as connection:
            joined: str = fetch_value(connection, "postings", asked)
        return [None if keys == _COMMON else parsed(keys) for keys in joined.split("/")]

    def records(self, partition: int, keys: Sequence[int]) -> dict[int, MemoryRecord]:
        """Whole records by key; keys that are gone, or of another partition, are left out."""
        with self._database.reading() as connection:
            rows = fetch_all(connection, "records", (bound(keys), partition))
            return {row[0]: self._database.record(connection, row) for row in rows}

    def _keys_of(self, partition: int) -> Keys:
        with self._database.reading() as connection:
            return np.sort(parsed(fetch_value(connection, "keys_of", (partition,))))

    def key_of(self, tenant: str, id: str) -> tuple[int, int] | None:
        """(partition, key) of a tenant's memory."""
        with self._database.reading() as connection:
            row = self._database.locate(connection, tenant, packed_id(id))
            return None if row is None else (row[0], row[1])


def _traits(rows: Iterable[Any]) -> Iterator[Trait]:
    for (key, partition, session, agent, speaker, role, kind, state, happened, created,
         terms, characters, flags, importance, trust, first, after) in rows:  # fmt: skip
        yield Trait(key, partition, session, agent, speaker, role, KINDS[kind], STATES[state],
                    happened, created, terms, characters, flags, importance, trust,
                    first, after)  # fmt: skip
