"""What a store signs with its own secret, beyond the digests of its rows."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from datetime import timedelta

from remanence.model.memory import MemoryRecord
from remanence.store.rows import micros

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
