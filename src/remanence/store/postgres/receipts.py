"""Idempotency: a request that was done before gets its earlier answer."""

from __future__ import annotations

from collections.abc import Sequence

from remanence.errors import Conflict
from remanence.model.memory import MemoryRecord
from remanence.model.write import Batch, Receipt, Written
from remanence.store.postgres.arrays import uuids
from remanence.store.postgres.database import Database
from remanence.store.postgres.session import Session
from remanence.store.rows import micros, required_id
from remanence.store.signing import erased_key, written_between


def repeated(database: Database, session: Session, receipt: Receipt) -> Written | None:
    """The answer to an earlier request with this receipt, if there was one."""
    left = erased_key(database.digest_key, receipt.key)
    row = session.row("receipt", key=receipt.key, left=left)
    if row is None:
        return None
    digest, ids = row
    if digest and digest != receipt.digest:
        raise Conflict(f"The key {receipt.key!r} was used for another request; use a new key.")
    rows = {row[2]: row for row in session.rows("memories_by_id", ids=uuids(ids))}
    if not digest or any(id not in rows for id in ids):
        raise Conflict(f"What the key {receipt.key!r} wrote was erased; use a new key.")
    found = database.records(session, [rows[id] for id in ids])
    return Written(records=tuple(found), repeated=True)


def keep(session: Session, batch: Batch, records: Sequence[MemoryRecord]) -> None:
    """Remember what the batch gave back, under its receipt."""
    if batch.receipt is not None:
        session.run(
            "insert_receipt",
            key=batch.receipt.key,
            digest=batch.receipt.digest,
            ids=uuids(required_id(record.id) for record in records),
            at=micros(batch.at),
        )


def erase(database: Database, session: Session, removed: Sequence[MemoryRecord]) -> None:
    """Leave only a digest of the keys that wrote what was removed: they still cannot be reused."""
    if not removed:
        return
    first, last = written_between(removed)
    ids = uuids(required_id(record.id) for record in removed)
    for (key,) in session.rows("receipts_of", first=first, last=last, ids=ids):
        session.run("erase_receipt", key=key, left=erased_key(database.digest_key, key))
