"""Memories in SQLite: written in transactions, read by id or by condition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

import apsw
import numpy as np

from remanence.errors import NotFound
from remanence.model.document import Discard
from remanence.model.filter import Filter
from remanence.model.memory import Feedback, MemoryRecord, Revision
from remanence.model.scope import Reach
from remanence.model.write import Batch, Remove, Written
from remanence.ports.store import Keys, Span
from remanence.store.analysis import Analysis, NotAnalysed
from remanence.store.conditions import ACTIVE
from remanence.store.quotas import added_by
from remanence.store.rows import (
    Row,
    before_values,
    both_ids,
    holdings_of,
    micros,
    moment,
    packed_id,
    span_of,
    spelled_id,
)
from remanence.store.sqlite.counting import check_use, count_in
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.dictionaries import Dictionaries
from remanence.store.sqlite.erasing import Eraser
from remanence.store.sqlite.filters import reached, statement
from remanence.store.sqlite.numbers import bound, parsed
from remanence.store.sqlite.statements import fetch_all, run
from remanence.store.sqlite.writing import Writing

_CHUNK = 500
_KEYS = 5000


class SqliteArchive:
    """The Archive port."""

    _database: Database
    _eraser: Eraser
    _dictionaries: Dictionaries

    def write(self, batch: Batch) -> Written:
        """Do all of it in one durable transaction."""
        analysis = Analysis(self._database.words)
        analysis.prepare(batch, lambda ids: self._read(batch.tenant, ids))
        while True:
            try:
                with self._database.writing() as connection:
                    writing = Writing(self._database, connection, batch, analysis)
                    written = writing.run()
                    check_use(self._database, connection, batch.tenant, lambda: added_by(batch))
                break
            except NotAnalysed as missing:
                analysis.add(missing.text, missing.happened)
        asked = (*batch.actions, *batch.documents)
        removed = any(isinstance(one, Remove | Discard) for one in asked)
        if removed:
            self._dictionaries.renew()
        self._eraser.after_write(removed or writing.learning.erased)
        return written

    def _read(self, tenant: str, ids: Sequence[str]) -> list[MemoryRecord]:
        with self._database.reading() as connection:
            rows = (self._row(connection, tenant, id) for id in ids)
            return self._database.records(connection, (row for row in rows if row is not None))

    def get(self, tenant: str, ids: Sequence[str]) -> list[MemoryRecord]:
        """The tenant's memories with these ids, each checked against its digest."""
        with self._database.reading() as connection:
            rows = (self._row(connection, tenant, id) for id in ids)
            return [self._database.checked(connection, row) for row in rows if row is not None]

    def find(
        self,
        reach: Reach,
        where: Filter | None = None,
        *,
        limit: int = 100,
        offset: int = 0,
        newest_first: bool = True,
    ) -> list[MemoryRecord]:
        """Memories in any state that satisfy the filter, by time; ties by insertion."""
        with self._database.reading() as connection:
            condition = reached(self._database.partitions(connection, reach), reach, where)
            text = statement("find_newest" if newest_first else "find_oldest", condition)
            rows = connection.execute(text, (*condition.values, limit, offset))
            return self._database.records(connection, rows)

    def walk(self, reach: Reach, where: Filter | None = None) -> Iterator[MemoryRecord]:
        """Memories by key: which ones is read at once, they themselves in chunks."""
        keys = self._keys_in(reach, where)
        for at in range(0, len(keys), _CHUNK):
            with self._database.reading() as connection:
                rows = fetch_all(connection, "records_by_key", (bound(keys[at : at + _CHUNK]),))
                found = self._database.records(connection, rows)
            yield from found

    def count(self, reach: Reach, where: Filter | None = None) -> int:
        """How many `find` would give without a limit."""
        with self._database.reading() as connection:
            return count_in(self._database, connection, reach, where)

    def history(self, tenant: str, id: str) -> list[Revision]:
        """Every change of a memory, oldest first; its insertion is the verb `added`."""
        with self._database.reading() as connection:
            row = self._row(connection, tenant, id)
            if row is None:
                raise _not_found(id)
            record = self._database.record(connection, row)
            later = [_revision(change) for change in run(connection, "history", (row[0],))]
        actor = next((one.before["actor"] for one in later if "actor" in one.before), record.actor)
        return [Revision(version=1, verb="added", at=record.created_at, actor=actor), *later]

    def holdings(self, tenant: str, ids: Sequence[str]) -> dict[str, int]:
        """How much is stored with these memories, by part."""
        with self._database.reading() as connection:
            places = (self._database.locate(connection, tenant, packed_id(id)) for id in ids)
            keys = bound([place[1] for place in places if place is not None])
            return holdings_of(run(connection, "holdings", {"keys": keys}).fetchone())

    def note_uses(self, tenant: str, uses: Sequence[tuple[str, datetime]]) -> None:
        """Add to the use counts of memories; ids that are gone are passed over."""
        counts = Counter(id for id, _ in uses)
        last = {id: micros(at) for id, at in sorted(uses, key=lambda use: use[1])}
        with self._database.writing() as connection:
            for id, count in counts.items():
                place = self._database.locate(connection, tenant, packed_id(id))
                if place is not None:
                    run(connection, "note_use", (place[1], count, last[id]))

    def note_feedback(
        self, tenant: str, id: str, *, useful: bool, query: str | None, at: datetime
    ) -> None:
        """Record whether a memory helped."""
        with self._database.writing() as connection:
            place = self._database.locate(connection, tenant, packed_id(id))
            if place is None:
                raise _not_found(id)
            values = (place[1], int(useful), query, micros(at))
            run(connection, "insert_feedback", values)

    def trim_feedback(self, tenant: str, keep: int) -> int:
        """Remove what was said again later, then the oldest, past the bound of each user."""
        with self._database.writing() as connection:
            removed = len(fetch_all(connection, "trim_feedback", (tenant, keep)))
        self._eraser.after_write(removed > 0)
        return removed

    def feedback(self, tenant: str, partition: int | None = None) -> Iterator[Feedback]:
        """All that was recorded for the tenant, by memory; read in chunks."""
        after = (0, 0)
        while True:
            asked = (*after, tenant, partition, partition, _CHUNK)
            with self._database.reading() as connection:
                rows = fetch_all(connection, "feedback_after", asked)
            if not rows:
                return
            for _, _, id, useful, query, at in rows:
                yield Feedback(id=spelled_id(id), useful=bool(useful), query=query, at=moment(at))
            after = rows[-1][0], rows[-1][1]

    def scan(self, tenant: str, after: int = 0) -> Iterator[tuple[int, MemoryRecord]]:
        """The tenant's memories by key; read in chunks, so no read stays open between them."""
        while chunk := self._chunk(tenant, after):
            yield from chunk
            after = chunk[-1][0]

    def spans(self, reach: Reach, *, limit: int = 100, offset: int = 0) -> list[Span]:
        """Sessions that hold active messages, the one last spoken in first; ties by session."""
        with self._database.reading() as connection:
            condition = reached(self._database.partitions(connection, reach), reach, None)
            text = statement("spans", condition)
            values = (*condition.values, limit, offset)
            rows: Sequence[Row] = connection.execute(text, values).fetchall()
            owners = [self._database.owner(connection, row[0]) for row in rows]
        return [span_of(row[1:], owner[1]) for row, owner in zip(rows, owners, strict=True)]

    def versions(self, reach: Reach) -> Iterator[tuple[str, int]]:
        """Id and version of every active memory in reach, by key; read in chunks."""
        keys = self._keys_in(reach, ACTIVE)
        for at in range(0, len(keys), _KEYS):
            with self._database.reading() as connection:
                rows = fetch_all(connection, "versions", (bound(keys[at : at + _KEYS]),))
            yield from ((spelled_id(id), version) for id, version in rows)

    def _keys_in(self, reach: Reach, where: Filter | None) -> Keys:
        with self._database.reading() as connection:
            condition = reached(self._database.partitions(connection, reach), reach, where)
            joined = connection.execute(statement("keys", condition), condition.values).get
        return np.sort(parsed(joined))

    def _chunk(self, tenant: str, after: int) -> list[tuple[int, MemoryRecord]]:
        with self._database.reading() as connection:
            rows = fetch_all(connection, "scan_tenant", (after, tenant, _CHUNK))
            return [(row[0], self._database.record(connection, row)) for row in rows]

    def _row(self, connection: apsw.Connection, tenant: str, id: str) -> Row | None:
        found = run(connection, "memory_by_id", both_ids(packed_id(id), tenant))
        return self._database.own_row(connection, tenant, found, 1)


def _revision(row: Row) -> Revision:
    version, verb, at, actor, reason, before = row
    return Revision(
        version=version,
        verb=verb,
        at=moment(at),
        actor=actor,
        reason=reason,
        before=before_values(before),
    )


def _not_found(id: str) -> NotFound:
    return NotFound(f"There is no memory {id} here.")
