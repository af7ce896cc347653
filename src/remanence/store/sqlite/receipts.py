"""Idempotency: a request that was done before gets its earlier answer."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from remanence.errors import Conflict
from remanence.model.memory import MemoryRecord
from remanence.model.write import Batch, Receipt, Written
from remanence.store.rows import Row, both_ids, micros, required_id
from remanence.store.signing import erased_key, written_between
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.statements import fetch_all, run

_ID_BYTES = 16


def repeated(
    database: Database, connection: apsw.Connection, tenant: str, receipt: Receipt
) -> Written | None:
    """The answer to an earlier request with this receipt, if there was one."""
    left = erased_key(database.digest_key, receipt.key)
    row = run(connection, "receipt", (tenant, receipt.key, left)).fetchone()
    if row is None:
        return None
    digest, ids = row
    if digest and digest != receipt.digest:
        raise Conflict(f"The key {receipt.key!r} was used for another request; use a new key.")
    rows = [_row(database, connection, tenant, id) for id in _each(ids)]
    there = [row for row in rows if row is not None]
    if not digest or len(there) < len(rows):
        raise Conflict(f"What the key {receipt.key!r} wrote was erased; use a new key.")
    found = database.records(connection, there)
    return Written(records=tuple(found), repeated=True)


def _row(database: Database, connection: apsw.Connection, tenant: str, id: bytes) -> Row | None:
    return database.own_row(
        connection, tenant, run(connection, "memory_by_id", both_ids(id, tenant)), 1
    )


def keep(connection: apsw.Connection, batch: Batch, records: Sequence[MemoryRecord]) -> None:
    """Remember what the batch gave back, under its receipt."""
    if batch.receipt is None:
        return
    ids = b"".join(required_id(record.id) for record in records)
    values = (batch.tenant, batch.receipt.key, batch.receipt.digest, ids, micros(batch.at))
    run(connection, "insert_receipt", values)


def erase(
    database: Database, connection: apsw.Connection, tenant: str, removed: Sequence[MemoryRecord]
) -> None:
    """Leave only a digest of the keys that wrote what was removed: they still cannot be reused."""
    if not removed:
        return
    gone = {required_id(record.id) for record in removed}
    for key, ids in fetch_all(connection, "receipts_between", (tenant, *written_between(removed))):
        if not gone.isdisjoint(_each(ids)):
            left = erased_key(database.digest_key, key)
            run(connection, "erase_receipt", (left, tenant, key))


def _each(ids: bytes) -> list[bytes]:
    return [ids[at : at + _ID_BYTES] for at in range(0, len(ids), _ID_BYTES)]
