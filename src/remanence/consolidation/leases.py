"""Leases: who is at a piece of work, kept up by a thread while it goes on; and who is there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from msgspec import convert

from remanence.errors import Closed, Conflict, StoreError
from remanence.model.clock import Clock
from remanence.model.document import Address, Discard, Document, Put, Shelf
from remanence.model.ports.store import Documents
from remanence.model.scope import RESERVED, Reach
from remanence.model.system.processes import is_gone, this_process

LEASE_S = 60.0
BEATS = 3  # tries before a lease runs out
NOBODY = ""
# A lease that ends later than this was taken by a clock that was wrong. Versions before this one
# took leases of ten minutes, and the clocks of two machines may differ by as much again.
FARTHEST = timedelta(minutes=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who is at it, and until when others keep away at the latest."""

    owner: str
    until: datetime
    process: str = ""

    def held(self, now: datetime) -> bool:
        """Whether somebody is at it still, as far as can be seen from here."""
        there = bool(self.owner) and now < self.until and not self.ahead(now)
        return there and not is_gone(self.process)

    def ahead(self, now: datetime) -> bool:
        """Whether it ends when none could that was taken by a clock like this one."""
        return self.until > now + FARTHEST


@dataclass(eq=False)
class Leases:
    """Leases as one owner has them; each stands in the document of the work, as its `lease`.

    All of it is `put` with an expected version, so that of two owners one always loses the race.
    """

    store: Documents
    tenant: str
    clock: Clock
    owner: str
    lease_s: float = LEASE_S

    def __post_init__(self) -> None:
        self._span = timedelta(seconds=self.lease_s)

    def claim(self) -> Lease:
        """A lease from now on; whoever has put it into the document has it."""
        return Lease(owner=self.owner, until=self._until(), process=this_process())

    def renew(self, address: Address) -> bool:
        """Keep others away for longer; False if the lease is no longer ours."""
        return self.change(address, lambda value: _leased(value, until=self._until())) is not None

    def release(self, address: Address) -> None:
        """Let whoever comes next go on at once."""
        ended = {"owner": NOBODY, "until": self.clock.now()}
        self.change(address, lambda value: _leased(value, **ended))

    def change(
        self, address: Address, apply: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    ) -> Document | None:
        """Change the document as long as the lease is ours, with what others wrote meanwhile."""
        while found := self.store.get(self.tenant, [address]):
            lease = found[0].value.get("lease")
            if not isinstance(lease, Mapping) or lease.get("owner") != self.owner:
                return None
            put = Put(
                address=address,
                value=dict(apply(found[0].value)),
                at=self.clock.now(),
                expected=found[0].version,
            )
            with suppress(Conflict):
                return self.store.put(self.tenant, [put])[0]
        return None

    @contextmanager
    def kept(self, address: Address) -> Iterator[threading.Event]:
        """Renew the lease from a thread, however slow the work is; gives what is set once lost."""
        over, lost = threading.Event(), threading.Event()
        thread = threading.Thread(
            target=self._keep, args=(address, over, lost), name="remanence-lease", daemon=True
        )
        thread.start()
        try:
            yield lost
        finally:
            over.set()
            thread.join()

    def _keep(self, address: Address, over: threading.Event, lost: threading.Event) -> None:
        while not over.wait(self._span.total_seconds() / BEATS):
            try:
                if self.renew(address):
                    continue
            except Closed:
                pass
            except StoreError:  # there is time for another try before the lease runs out
                continue
            lost.set()
            return

    def _until(self) -> datetime:
        return self.clock.now() + self._span


def _leased(value: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    told = {n: v.isoformat() if isinstance(v, datetime) else v for n, v in changes.items()}
    return {**value, "lease": {**value["lease"], **told}}


_MOST_SIGNS = 1_000
WORKERS = f"{RESERVED}workers"
SIGNED_S = 600.0  # how long a worker counts as there; it signs anew when half of that is over


def sign_on(leases: Leases, tenants: Sequence[str] | None) -> None:
    """Say that this owner runs the schedules of these tenants, or of all."""
    at, lease = leases.clock.now(), leases.claim()
    value = {
        "lease": {"owner": lease.owner, "until": lease.until.isoformat(), "process": lease.process},
        "tenants": None if tenants is None else list(tenants),
    }
    leases.store.expire(WORKERS, Shelf.WORKER, at)
    leases.store.put(
        WORKERS, [Put(address=_sign_of(leases.owner), value=value, at=at, expires_at=lease.until)]
    )


def sign_off(leases: Leases) -> None:
    """Say that it does so no more."""
    leases.store.put(WORKERS, [Discard(address=_sign_of(leases.owner))])


def is_looked_after(store: Documents, tenant: str, now: datetime) -> bool:
    """Whether anybody runs a tenant's schedules, as far as can be seen from here."""
    for document in store.shelved(Reach(tenant=WORKERS), Shelf.WORKER, limit=_MOST_SIGNS):
        tenants = document.value["tenants"]
        if convert(document.value["lease"], Lease).held(now) and tenant in (tenants or [tenant]):
            return True
    return False


def _sign_of(owner: str) -> Address:
    return Address(shelf=Shelf.WORKER, name=owner)
