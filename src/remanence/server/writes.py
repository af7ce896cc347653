"""Whether the server can write, as /ready tells it: from what writes did, or by trying one."""

from __future__ import annotations

import time

from remanence.errors import RemanenceError, StoreError, StoreUnavailable
from remanence.model.scope import Reach
from remanence.operations.table import OPERATIONS
from remanence.ports.store import Store

WRITES = frozenset(one.name for one in OPERATIONS if one.writes)
FEW = 3  # failures in a row that are more than bad luck
RECENT_S = 15.0  # then calls are let in again, to see


class Writes:
    """Sees how writes end. What a caller did wrong says nothing of the store."""

    def __init__(self) -> None:
        self._known_good = False
        self._failures = 0
        self._failed_at = 0.0

    def saw(self, operation: str, error: BaseException | None) -> None:
        """One operation is over."""
        if operation not in WRITES:
            return
        if error is None:
            self._known_good, self._failures = True, 0
        elif isinstance(error, StoreError) or not isinstance(error, RemanenceError):
            self._known_good, self._failures = False, self._failures + 1
            self._failed_at = time.monotonic()

    def check(self, store: Store, tenant: str) -> None:
        """A `StoreError` if the store cannot be read, or not be written as far as is known."""
        store.find(Reach(tenant=tenant), None, limit=1)
        if not self._known_good:
            store.note_uses(tenant, ())
        if self._failures >= FEW and time.monotonic() - self._failed_at < RECENT_S:
            raise StoreUnavailable(f"The last {self._failures} writes failed; see the log.")
