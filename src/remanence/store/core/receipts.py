"""What a store signs with its own secret, and receipts: what was done before is not done again."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from datetime import timedelta

from remanence.errors import Conflict
from remanence.model.memory import MemoryRecord
from remanence.model.write import Batch, Receipt, Written
from remanence.store.core.database import Database
from remanence.store.core.session import Session
from remanence.store.rows import micros, required_id, spelled_id

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
