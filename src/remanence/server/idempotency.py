"""A write that is repeated with the same key is done once, and answered alike."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256

from remanence.errors import Conflict, RemanenceError
from remanence.model.clock import Clock
from remanence.model.deadline import unlimited
from remanence.model.document import Address, Discard, Document, Put, Shelf
from remanence.model.ports.store import Documents
from remanence.model.scope import Reach
from remanence.model.validation import text_of

KEPT = timedelta(hours=1)
LARGEST = 64 * 1024  # of an answer that is kept
MAX_KEY = 256
SWEEP = 20  # puts between two sweeps
HELD = 4_096  # tenants that wait for theirs
FIRST = 1  # the version of a document that was just put
_NO_ANSWER = (
    "The first call with this Idempotency-Key has no answer yet: it is still at work, "
    "or was cut off. Look whether it was done before you repeat it with a new key."
)


class KeyTaken(Conflict):
    """The key stands for another request, or for one whose answer is not known."""


class Once:
    """Keeps the answers of a tenant's writes for an hour, by the caller's own keys.

    An answer may hold what a memory says, so whoever erases calls `forget` before and after: what
    is at work meanwhile finds its place gone, and keeps no answer.
    """

    def __init__(self, store: Documents, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._count = 0
        self._lock = threading.Lock()
        self._line: OrderedDict[str, None] = OrderedDict()

    def run(self, tenant: str, key: str, asked: bytes, work: Callable[[], bytes]) -> bytes:
        """What `work` answers, or answered the first time.

        `KeyTaken` if it was used for something else, if the first call is still at work, or
        if it was cut off so that nobody knows whether it was done.
        """
        name = sha256(text_of("Idempotency-Key", key, MAX_KEY).encode()).hexdigest()
        address, digest = Address(shelf=Shelf.ANSWER, name=name), sha256(asked).hexdigest()
        found = self._found(tenant, address)
        if found is None:
            self._begin(tenant, address, digest)
            return self._worked(tenant, address, digest, work)
        if found.value["asked"] != digest:
            raise KeyTaken("This Idempotency-Key was used for another request; take a new one.")
        answer = found.value["answer"]
        if not isinstance(answer, str):
            raise KeyTaken(_NO_ANSWER)
        return answer.encode()

    def forget(self, tenant: str) -> None:
        """Let go of every answer of a tenant."""
        reach = Reach(tenant=tenant)
        while found := self._store.shelved(reach, Shelf.ANSWER, limit=1_000):
            self._store.put(tenant, [Discard(address=one.address) for one in found])

    def _begin(self, tenant: str, address: Address, digest: str) -> None:
        try:
            with unlimited():
                self._put(tenant, address, {"asked": digest, "answer": None}, expected=0)
        except Conflict as error:  # another call with this key came first, a moment ago
            raise KeyTaken(_NO_ANSWER) from error

    def _worked(
        self, tenant: str, address: Address, digest: str, work: Callable[[], bytes]
    ) -> bytes:
        try:
            answer = work()
        except RemanenceError as error:
            if not getattr(error, "committed", False):  # nothing was done: it may be tried again
                with unlimited():
                    self._store.put(tenant, [Discard(address=address)])
            raise
        if len(answer) <= LARGEST:
            told = {"asked": digest, "answer": answer.decode()}
            with suppress(Conflict), unlimited():  # somebody erased meanwhile
                self._put(tenant, address, told, expected=FIRST)
        return answer

    def _found(self, tenant: str, address: Address) -> Document | None:
        found = self._store.get(tenant, [address])
        return found[0] if found and found[0].alive(self._clock.now()) else None

    def _put(
        self, tenant: str, address: Address, value: Mapping[str, str | None], expected: int
    ) -> None:
        now = self._clock.now()
        for due in self._due(tenant):
            self._store.expire(due, Shelf.ANSWER, now)
        stale = self._store.get(tenant, [address]) if expected == 0 else []
        if stale:
            self._store.put(tenant, [Discard(address=address, expected=stale[0].version)])
        put = Put(address=address, value=value, at=now, expected=expected, expires_at=now + KEPT)
        self._store.put(tenant, [put])

    def _due(self, tenant: str) -> list[str]:
        """Whose answers to look through now: who is new here, and by and by all in turn."""
        with self._lock:
            self._count += 1
            due = [] if tenant in self._line else [tenant]
            self._line.setdefault(tenant)
            if self._count % SWEEP == 0:
                due.append(next(iter(self._line)))
                self._line.move_to_end(due[-1])
            while len(self._line) > HELD:
                due.append(self._line.popitem(last=False)[0])
            return due
