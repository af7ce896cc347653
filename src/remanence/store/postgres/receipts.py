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


def repeated(database: Database, session: Session, receipt: Receipt) -> Written | None:
    """The answer to an earlier request with this receipt, if there was one."""
    row = session.row("receipt", key=receipt.key)
    if row is None:
        return None
    digest, ids = row
    if digest != receipt.digest:
        raise Conflict(f"The key {receipt.key!r} was used for another request; use a new key.")
    rows = {row[2]: row for row in session.rows("memories_by_id", ids=uuids(ids))}
    if any(id not in rows for id in ids):
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
