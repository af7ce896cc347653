"""Memories in PostgreSQL: written in transactions, read by id or by condition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import psycopg

from remanence.errors import Conflict, NotFound
from remanence.model.filter import Filter
from remanence.model.memory import Feedback, MemoryRecord, Revision
from remanence.model.scope import Reach
from remanence.model.write import Batch, Insert, Remove, Written
from remanence.ports.store import Keys, Span
from remanence.store.analysis import Analysis, NotAnalysed
from remanence.store.conditions import ACTIVE
from remanence.store.postgres.arrays import int8s, uuids
from remanence.store.postgres.columns import NEVER
from remanence.store.postgres.counting import checking_use, count_in
from remanence.store.postgres.database import Database
from remanence.store.postgres.dictionaries import Dictionaries
from remanence.store.postgres.filters import check, reached, statement
from remanence.store.postgres.placing import Unemployed, employ
from remanence.store.postgres.session import Session
from remanence.store.postgres.writing import Writing
from remanence.store.quotas import added_by
from remanence.store.rows import (
    Row,
    before_values,
    holdings_of,
    micros,
    moment,
    packed_id,
    span_of,
    spelled_id,
)

_CHUNK = 500
_KEYS = 5000


class PostgresArchive:
    """The Archive port."""

    _database: Database
    _dictionaries: Dictionaries

    def write(self, batch: Batch) -> Written:
        """Do all of it in one durable transaction."""
        analysis = Analysis(self._database.words)
        analysis.prepare(batch, lambda ids: self._records(batch.tenant, ids))

        def work(session: Session) -> Written:
            with checking_use(self._database, session, batch.tenant, lambda: added_by(batch)):
                return Writing(self._database, session, batch, analysis).run()

        while True:
            try:
                written = self._database.write(batch.tenant, work)
                if any(isinstance(action, Remove) for action in batch.actions):
                    self._dictionaries.renew(batch.tenant)
                return written
            except Unemployed as missing:
                employ(self._database, batch.tenant, missing.fingerprints)
            except NotAnalysed as unknown:
                analysis.add(unknown.text, unknown.happened)
            except Conflict as conflict:
                if isinstance(conflict.__cause__, psycopg.Error):
                    raise self._taken(batch) or conflict from conflict
                raise

    def _records(self, tenant: str, ids: Sequence[str]) -> list[MemoryRecord]:
        wanted = uuids({id for id in map(packed_id, ids) if id is not None})

        def work(session: Session) -> list[MemoryRecord]:
            return self._database.records(session, session.rows("memories_by_id", ids=wanted))

        return self._database.read(tenant, work) or []

    def get(self, tenant: str, ids: Sequence[str]) -> list[MemoryRecord]:
        """The tenant's memories with these ids, each checked against its digest."""
        asked = [packed_id(id) for id in ids]

        def work(session: Session) -> list[MemoryRecord]:
            wanted = uuids({id for id in asked if id is not None})
            rows = {row[2]: row for row in session.rows("memories_by_id", ids=wanted)}
            return [self._database.checked(session, rows[id]) for id in asked if id in rows]

        return self._database.read(tenant, work) or []

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
        name = "find_newest" if newest_first else "find_oldest"

        def work(session: Session) -> list[MemoryRecord]:
            partitions = self._database.partitions(session, reach)
            condition = reached(session, partitions, reach, where)
            values = (*condition.values, limit, offset)
            rows = session.execute(statement(name, condition), values)
            return self._database.records(session, rows.fetchall())

        found = self._database.read(reach.tenant, work)
        if found is None:
            check(where)
        return found or []

    def walk(self, reach: Reach, where: Filter | None = None) -> Iterator[MemoryRecord]:
        """Memories by key: which ones is read at once, they themselves in chunks."""
        keys = self._keys_in(reach, where)
        for at in range(0, len(keys), _CHUNK):
            yield from self._records_by_key(reach.tenant, keys[at : at + _CHUNK])

    def count(self, reach: Reach, where: Filter | None = None) -> int:
        """How many `find` would give without a limit."""
        database = self._database
        found = database.read(reach.tenant, lambda s: count_in(database, s, reach, where))
        if found is None:
            check(where)
        return found or 0

    def history(self, tenant: str, id: str) -> list[Revision]:
        """Every change of a memory, oldest first; its insertion is the verb `added`."""

        def work(session: Session) -> tuple[MemoryRecord, list[Revision]]:
            row = session.row("memories_by_id", ids=uuids([packed_id(id)]))
            if row is None:
                raise _not_found(id)
            later = session.rows("history", key=row[0])
            return self._database.record(session, row), [_revision(one) for one in later]

        found = self._database.read(tenant, work)
        if found is None:
            raise _not_found(id)
        record, later = found
        actor = next((one.before["actor"] for one in later if "actor" in one.before), record.actor)
        return [Revision(version=1, verb="added", at=record.created_at, actor=actor), *later]

    def holdings(self, tenant: str, ids: Sequence[str]) -> dict[str, int]:
        """How much is stored with these memories, by part."""

        def work(session: Session) -> dict[str, int]:
            packed = [packed_id(id) for id in ids]
            found = session.rows("places_by_id", ids=uuids(id for id in packed if id is not None))
            partitions = int8s({partition for _, partition, _ in found})
            keys = int8s(key for _, _, key in found)
            return holdings_of(session.row("holdings", keys=keys, partitions=partitions))

        return self._database.read(tenant, work) or holdings_of(None)

    def note_uses(self, tenant: str, uses: Sequence[tuple[str, datetime]]) -> None:
        """Add to the use counts of memories; ids that are gone are passed over."""
        counts = Counter(packed_id(id) for id, _ in uses)
        last = {packed_id(id): micros(at) for id, at in sorted(uses, key=lambda use: use[1])}

        def work(session: Session) -> None:
            there = session.rows("lock_by_id", ids=uuids(id for id in counts if id is not None))
            if there:
                session.run(
                    "note_uses",
                    keys=int8s(key for _, _, key in there),
                    counts=int8s(counts[id] for id, _, _ in there),
                    lasts=int8s(last[id] for id, _, _ in there),
                    never=NEVER,
                )

        if self._database.is_tenant(tenant):
            self._database.write(tenant, work)

    def note_feedback(
        self, tenant: str, id: str, *, useful: bool, query: str | None, at: datetime
    ) -> None:
        """Record whether a memory helped."""

        def work(session: Session) -> None:
            place = session.row("lock_by_id", ids=uuids([packed_id(id)]))
            if place is None:
                raise _not_found(id)
            told = {"useful": int(useful), "query": query, "at": micros(at)}
            session.run("insert_feedback", key=place[2], **told)

        if not self._database.is_tenant(tenant):
            raise _not_found(id)
        self._database.write(tenant, work)

    def trim_feedback(self, tenant: str, keep: int) -> int:
        """Remove what was said again later, then the oldest, past the bound of each user."""
        if not self._database.is_tenant(tenant):
            return 0
        return self._database.write(tenant, lambda s: len(s.rows("trim_feedback", keep=keep)))

    def feedback(self, tenant: str, partition: int | None = None) -> Iterator[Feedback]:
        """All that `note_feedback` recorded, by memory, oldest first; read in chunks."""
        after = (0, 0)
        while rows := self._feedback_after(tenant, after, partition):
            yield from map(_feedback, rows)
            after = (rows[-1][0], rows[-1][1])

    def _feedback_after(
        self, tenant: str, after: tuple[int, int], partition: int | None
    ) -> list[tuple[Any, ...]]:
        asked = {"memory": after[0], "after": after[1], "most": _CHUNK, "partition": partition}
        return self._database.read(tenant, lambda s: s.rows("feedback_after", **asked)) or []

    def scan(self, tenant: str, after: int = 0) -> Iterator[tuple[int, MemoryRecord]]:
        """Every memory in order of key; read in chunks, so no read stays open between them."""
        while chunk := self._chunk(tenant, after):
            yield from chunk
            after = chunk[-1][0]

    def spans(self, reach: Reach, *, limit: int = 100, offset: int = 0) -> list[Span]:
        """Sessions that hold active messages, the one last spoken in first; ties by session."""

        def work(session: Session) -> list[Span]:
            partitions = self._database.partitions(session, reach)
            condition = reached(session, partitions, reach, None)
            values = (*condition.values, limit, offset)
            rows = session.execute(statement("spans", condition), values).fetchall()
            return [span_of(row[1:], self._database.owner(session, row[0])[1]) for row in rows]

        return self._database.read(reach.tenant, work) or []

    def versions(self, reach: Reach) -> Iterator[tuple[str, int]]:
        """Id and version of every active memory in reach, by key; read in chunks."""
        after = 0
        while rows := self._versions_after(reach, after):
            yield from ((spelled_id(id), version) for _, id, version in rows)
            after = rows[-1][0]

    def _versions_after(self, reach: Reach, after: int) -> list[tuple[Any, ...]]:
        def work(session: Session) -> list[tuple[Any, ...]]:
            partitions = self._database.partitions(session, reach)
            condition = reached(session, partitions, reach, ACTIVE)
            values = (*condition.values, after, _KEYS)
            return session.execute(statement("versions", condition), values).fetchall()

        return self._database.read(reach.tenant, work) or []

    def _keys_in(self, reach: Reach, where: Filter | None) -> Keys:
        def work(session: Session) -> Keys | None:
            partitions = self._database.partitions(session, reach)
            condition = reached(session, partitions, reach, where)
            row = session.execute(statement("keys", condition), condition.values).fetchone()
            return None if row is None else row[0]

        found = self._database.read(reach.tenant, work)
        if found is None:
            check(where)
            return np.empty(0, np.int64)
        return np.sort(found)

    def _records_by_key(self, tenant: str, keys: Keys) -> list[MemoryRecord]:
        def work(session: Session) -> list[MemoryRecord]:
            return self._database.records(session, session.rows("records_by_key", keys=int8s(keys)))

        return self._database.read(tenant, work) or []

    def _chunk(self, tenant: str, after: int) -> list[tuple[int, MemoryRecord]]:
        def work(session: Session) -> list[tuple[int, MemoryRecord]]:
            rows = session.rows("scan", after=after, most=_CHUNK)
            return [(row[0], self._database.record(session, row)) for row in rows]

        return self._database.read(tenant, work) or []

    def _taken(self, batch: Batch) -> Conflict | None:
        """The refusal that names the id, if the memory that has it is still there."""
        ids = [packed_id(one.record.id) for one in batch.actions if isinstance(one, Insert)]
        found = self._database.read(batch.tenant, lambda s: s.row("places_by_id", ids=uuids(ids)))
        if found is None:
            return None
        id = spelled_id(found[0])
        return Conflict(f"There is a memory with the id {id} already; use a new id.")


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


def _feedback(row: Row) -> Feedback:
    _, _, id, useful, query, at = row
    return Feedback(id=spelled_id(id), useful=bool(useful), query=query, at=moment(at))
