"""Memories: written in transactions, each once; read by id or by condition."""

from __future__ import annotations

import hmac
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

import numpy as np

from remanence.errors import Conflict, StoreVersion
from remanence.model.filter import ACTIVE, Filter
from remanence.model.memory import Feedback, MemoryRecord, Revision
from remanence.model.ports.store import Keys, Span
from remanence.model.scope import Reach
from remanence.model.write import Batch, Receipt, Remove, Revise, Written
from remanence.store.conditions import Condition
from remanence.store.core.database import D, Database, Session, StorePart, count_in
from remanence.store.core.links import not_found
from remanence.store.core.tiers import StoredDictionaries
from remanence.store.rows import (
    Row,
    before_values,
    holdings_of,
    micros,
    moment,
    required_id,
    span_of,
    spelled_id,
)
from remanence.store.words import Analysis, NotAnalysed

_KEYS = 5000

T = TypeVar("T")


class StoredArchive(StorePart[D]):
    """The Archive port; a dialect says what a batch does to its tables."""

    def __init__(self, database: D, dictionaries: StoredDictionaries[D]) -> None:
        super().__init__(database)
        self._dictionaries = dictionaries

    @abstractmethod
    def _written(self, batch: Batch, analysis: Analysis) -> Written:
        """Do all of it in one transaction; `NotAnalysed` if it needs what was not prepared."""

    @abstractmethod
    def _add_uses(self, session: Any, used: Sequence[tuple[int, int, int]]) -> None:
        """Add to the uses of memories: key, how many, when the last was."""

    def write(self, batch: Batch) -> Written:
        """Do all of it in one durable transaction."""
        analysis = Analysis(self._database.words)
        analysis.prepare(batch, lambda ids: self._records(batch.tenant, ids))
        while True:
            try:
                written = self._written(batch, analysis)
                break
            except NotAnalysed as missing:
                analysis.add(missing.text, missing.happened)
        if any(isinstance(action, Remove) for action in batch.actions):
            self._dictionaries.renew(batch.tenant)
        return written

    def get(self, tenant: str, ids: Sequence[str]) -> list[MemoryRecord]:
        """The tenant's memories with these ids, each checked against its digest."""

        def work(session: Session) -> list[MemoryRecord]:
            rows = self._database.memories(session, ids)
            return [self._database.checked(session, rows[id]) for id in ids if id in rows]

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

        def work(session: Session, condition: Condition) -> list[MemoryRecord]:
            rows = session.matching(name, condition, limit, offset)
            return self._database.records(session, rows)

        return self._reached(reach, where, work) or []

    def walk(self, reach: Reach, where: Filter | None = None) -> Iterator[MemoryRecord]:
        """Memories by key: which ones is read at once, they themselves in chunks."""
        keys = self._keys_in(reach, where)
        yield from self._by_key(reach.tenant, "records_by_key", self._database.record, keys)

    def count(self, reach: Reach, where: Filter | None = None) -> int:
        """How many `find` would give without a limit."""
        found = self._database.read(
            reach.tenant, lambda session: count_in(self._database, session, reach, where)
        )
        if found is None:
            self._database.check(where)
        return found or 0

    def history(self, tenant: str, id: str) -> list[Revision]:
        """Every change of a memory, oldest first; its insertion is the verb `added`."""

        def work(session: Session) -> tuple[MemoryRecord, list[Revision]]:
            row = self._database.memories(session, [id]).get(id)
            if row is None:
                raise not_found(id)
            later = session.rows("history", key=row[0])
            return self._database.record(session, row), [_revision(one) for one in later]

        found = self._database.read(tenant, work)
        if found is None:
            raise not_found(id)
        record, later = found
        actor = next((one.before["actor"] for one in later if "actor" in one.before), record.actor)
        return [Revision(version=1, verb="added", at=record.created_at, actor=actor), *later]

    def holdings(self, tenant: str, ids: Sequence[str]) -> dict[str, int]:
        """How much is stored with these memories, by part."""

        def work(session: Session) -> dict[str, int]:
            places = self._database.places(session, ids).values()
            partitions = session.array_of([*{partition for partition, _ in places}])
            keys = session.array_of([key for _, key in places])
            return holdings_of(session.row("holdings", keys=keys, partitions=partitions))

        return self._database.read(tenant, work) or holdings_of(None)

    def note_uses(self, tenant: str, uses: Sequence[tuple[str, datetime]]) -> None:
        """Add to the use counts of memories; ids that are gone are passed over."""

        def work(session: Session) -> None:
            places = self._database.places(session, {id for id, _ in uses}, lock=True)
            there = [(places[id][1], micros(at)) for id, at in uses if id in places]
            counts, last = Counter(key for key, _ in there), dict(sorted(there))
            self._add_uses(session, [(key, counts[key], last[key]) for key in sorted(last)])

        if self._database.is_tenant(tenant):
            self._database.write(tenant, work)

    def note_feedback(
        self, tenant: str, id: str, *, useful: bool, query: str | None, at: datetime
    ) -> None:
        """Record whether a memory helped."""

        def work(session: Session) -> None:
            place = self._database.places(session, [id], lock=True).get(id)
            if place is None:
                raise not_found(id)
            told = {"useful": int(useful), "query": query, "at": micros(at)}
            session.run("insert_feedback", key=place[1], **told)

        if not self._database.is_tenant(tenant):
            raise not_found(id)
        self._database.write(tenant, work)

    def trim_feedback(self, tenant: str, keep: int) -> int:
        """Remove what was said again later, then the oldest, past the bound of each user."""

        def work(session: Session) -> int:
            gone = len(session.rows("trim_feedback", keep=keep))
            session.removed |= gone > 0
            return gone

        return self._database.write(tenant, work) if self._database.is_tenant(tenant) else 0

    def feedback(self, tenant: str, partition: int | None = None) -> Iterator[Feedback]:
        """All that was recorded for the tenant, by memory; read in chunks."""
        start = {"memory": 0, "after": 0}
        return self._paged(tenant, "feedback_after", _feedback, start, partition=partition)

    def scan(self, tenant: str, after: int = 0) -> Iterator[tuple[int, MemoryRecord]]:
        """The tenant's memories by key; read in chunks, so no read stays open between them."""

        def numbered(session: Session, row: Row) -> tuple[int, MemoryRecord]:
            return row[0], self._database.record(session, row)

        return self._paged(tenant, "scan", numbered, {"after": after})

    def spans(self, reach: Reach, *, limit: int = 100, offset: int = 0) -> list[Span]:
        """Sessions that hold active messages, the one last spoken in first; ties by session."""

        def work(session: Session, condition: Condition) -> list[Span]:
            rows = session.matching("spans", condition, limit, offset)
            return [span_of(row[1:], self._database.owner(session, row[0])[1]) for row in rows]

        return self._reached(reach, None, work) or []

    def versions(self, reach: Reach) -> Iterator[tuple[str, int]]:
        """Id and version of every active memory in reach, by key; read in chunks."""
        keys = self._keys_in(reach, ACTIVE)
        yield from self._by_key(
            reach.tenant, "versions", lambda _, row: (spelled_id(row[0]), row[1]), keys, _KEYS
        )

    def _reached(
        self, reach: Reach, where: Filter | None, work: Callable[[Session, Condition], T]
    ) -> T | None:
        """Do it with what may be seen and is wanted; None if the tenant has never written."""
        found = self._database.read(
            reach.tenant,
            lambda session: work(session, self._database.reached(session, reach, where)),
        )
        if found is None:
            self._database.check(where)
        return found

    def _keys_in(self, reach: Reach, where: Filter | None) -> Keys:
        found = self._reached(
            reach, where, lambda session, wanted: session.numbers_matching("keys", wanted)
        )
        return np.empty(0, np.int64) if found is None else np.sort(found)

    def _records(self, tenant: str, ids: Sequence[str]) -> list[MemoryRecord]:
        def work(session: Session) -> list[MemoryRecord]:
            return self._database.records(session, self._database.memories(session, ids).values())

        return self._database.read(tenant, work) or []


def check_terms(database: Database, found: object) -> None:
    """Refuse to write to a text index whose terms are not made as here."""
    if found != database.words.version:
        raise StoreVersion(
            "Another version of Remanence rebuilt the text index of this store; "
            "restart this process with that version."
        )


def check_expected(action: Revise, old: MemoryRecord) -> None:
    """Refuse a change of another version than the one that stands."""
    if action.expected not in (None, old.version):
        raise Conflict(
            f"The memory {action.id} has version {old.version} now, not {action.expected}; "
            "read it again."
        )


def _feedback(_: Session, row: Row) -> Feedback:
    _, _, id, useful, query, at = row
    return Feedback(id=spelled_id(id), useful=bool(useful), query=query, at=moment(at))


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


_FOR_OTHERS = b"remanence: signed for others"
_ERASED = "erased:"
# A memory is written soon after it was made, however slow its embedder is.
_SLACK = timedelta(days=2) // timedelta(microseconds=1)


def signature(secret: bytes, data: bytes) -> bytes:
    """HMAC-SHA256 of data, with a key that only this store can derive."""
    return hmac.digest(hmac.digest(secret, _FOR_OTHERS, "sha256"), data, "sha256")


def erased_key(secret: bytes, key: str) -> str:
    """What is left of an idempotency key once something that it wrote was erased."""
    return _ERASED + signature(secret, key.encode()).hex()


def written_between(removed: Sequence[MemoryRecord]) -> tuple[int, int]:
    """When the requests were made that wrote these memories, in microseconds."""
    made = [micros(record.created_at) for record in removed]
    return min(made) - _SLACK, max(made) + _SLACK


def repeated(database: Database, session: Session, receipt: Receipt) -> Written | None:
    """The answer to an earlier request with this receipt, if there was one."""
    left = erased_key(database.digest_key, receipt.key)
    row = session.row("receipt", key=receipt.key, left=left)
    if row is None:
        return None
    digest, stored = row
    if digest and digest != receipt.digest:
        raise Conflict(f"The key {receipt.key!r} was used for another request; use a new key.")
    ids = [spelled_id(id) for id in session.ids_in(stored)]
    rows = database.memories(session, ids)
    if not digest or any(id not in rows for id in ids):
        raise Conflict(f"What the key {receipt.key!r} wrote was erased; use a new key.")
    found = database.records(session, [rows[id] for id in ids])
    return Written(records=tuple(found), repeated=True)


def keep(session: Session, batch: Batch, records: Sequence[MemoryRecord]) -> None:
    """Remember what the batch gave back, under its receipt."""
    if batch.receipt is not None:
        ids = session.ids_kept(required_id(record.id) for record in records)
        told = {"key": batch.receipt.key, "digest": batch.receipt.digest, "at": micros(batch.at)}
        session.run("insert_receipt", ids=ids, **told)


def erase(database: Database, session: Session, removed: Sequence[MemoryRecord]) -> None:
    """Leave only a digest of the keys that wrote what was removed: they still cannot be reused."""
    if not removed:
        return
    first, last = written_between(removed)
    gone = {required_id(record.id) for record in removed}
    asked = {"first": first, "last": last, "ids": session.ids_kept(gone)}
    for key, stored in session.rows("receipts_between", **asked):
        if not gone.isdisjoint(session.ids_in(stored)):
            session.run("erase_receipt", key=key, left=erased_key(database.digest_key, key))
