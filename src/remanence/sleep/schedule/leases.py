"""Leases: one worker at a due moment at a time, and each moment marked served exactly once.

All of it is `put` with an expected version, so that of two workers one always loses the race.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from remanence.clock import Clock
from remanence.errors import Conflict
from remanence.model.document import Document, Put, Shelf
from remanence.model.scope import Reach
from remanence.ports.store import Documents
from remanence.sleep.schedule.due import Due
from remanence.sleep.schedule.entries import (
    SPAN,
    Entry,
    Lease,
    address_of,
    entry_of,
    entry_to_value,
)

LEASE_S = SPAN.total_seconds()
NOBODY = ""

_MOST = 1_000
_TICK = timedelta(microseconds=1)


class Leases:
    """The schedules' documents of one tenant, as one worker writes them."""

    def __init__(
        self, store: Documents, tenant: str, clock: Clock, owner: str, lease_s: float = LEASE_S
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._clock = clock
        self._owner = owner
        self._span = timedelta(seconds=lease_s)

    def entries(self) -> dict[str, Entry]:
        """Every schedule that has a document, by name."""
        reach = Reach(tenant=self._tenant)
        found = self._store.shelved(reach, Shelf.SCHEDULE, limit=_MOST)
        return {document.address.name: _entry(document) for document in found}

    def entry(self, name: str) -> Entry | None:
        """How a schedule stands; None if it has no document."""
        found = self._store.documents(self._tenant, [address_of(name)])
        return _entry(found[0]) if found else None

    def enter(self, name: str) -> Entry:
        """Begin to keep account of a schedule: what was due before now is nobody's concern."""
        new = Entry(name=name, since=self._clock.now())
        return self.put(new) or self.entry(name) or new

    def right(self, entry: Entry) -> Entry:
        """Write down an entry without times that a wrong clock gave it, if it has any."""
        right = entry.righted(self._clock.now())
        return entry if right == entry else self.put(right) or self.entry(entry.name) or right

    def claim(self, entry: Entry, due: Due) -> Entry | None:
        """Take the moment for this worker; None if another was faster."""
        now = self._clock.now()
        # Later than all that ran for an earlier moment, whatever that worker's clock said.
        began = now if entry.ended_at is None else max(now, entry.ended_at + _TICK)
        if entry.lease is not None and entry.lease.due == due.moment:
            began = entry.lease.began
        lease = Lease(
            owner=self._owner,
            until=now + self._span,
            due=due.moment,
            began=began,
            cause=due.cause,
        )
        return self.put(replace(entry, lease=lease, again_at=None))

    def renew(self, name: str) -> bool:
        """Keep others away for longer; False if the lease is no longer ours."""

        def later(entry: Entry, lease: Lease) -> Entry:
            return replace(entry, lease=replace(lease, until=self._clock.now() + self._span))

        return self._change(name, later) is not None

    def serve(self, name: str, error: str | None = None) -> Entry | None:
        """Mark the moment served, by a run or by giving up; None if it is not ours."""

        def served(entry: Entry, lease: Lease) -> Entry:
            now = self._clock.now()
            return replace(
                entry,
                lease=None,
                tries=0,
                again_at=None,
                error=error,
                served=max(lease.due, entry.done_until),
                ended_at=max(now, lease.began),
            )

        return self._change(name, served)

    def fail(self, name: str, error: str, again_at: datetime) -> Entry | None:
        """Note a failure; whoever comes first after `again_at` tries the moment once more."""

        def failed(entry: Entry, lease: Lease) -> Entry:
            freed = replace(lease, owner=NOBODY, until=self._clock.now())
            return replace(
                entry, lease=freed, tries=entry.tries + 1, again_at=again_at, error=error
            )

        return self._change(name, failed)

    def release(self, name: str, again_at: datetime | None = None) -> Entry | None:
        """Let go of a moment that was not finished; whoever comes next goes on with it."""

        def released(entry: Entry, lease: Lease) -> Entry:
            freed = replace(lease, owner=NOBODY, until=self._clock.now())
            return replace(entry, lease=freed, again_at=again_at)

        return self._change(name, released)

    def put(self, entry: Entry) -> Entry | None:
        """Write an entry if its version is still the newest; None if it is not."""
        put = Put(
            address=address_of(entry.name),
            value=entry_to_value(entry),
            at=self._clock.now(),
            expected=entry.version,
        )
        try:
            (document,) = self._store.put(self._tenant, [put])
        except Conflict:
            return None
        return _entry(document)

    def _change(self, name: str, apply: Callable[[Entry, Lease], Entry]) -> Entry | None:
        """Change the entry as long as the lease is ours; a plan set meanwhile is kept."""
        while (entry := self.entry(name)) is not None:
            if entry.lease is None or entry.lease.owner != self._owner:
                return None
            changed = self.put(apply(entry, entry.lease))
            if changed is not None:
                return changed
        return None


def _entry(document: Document) -> Entry:
    return entry_of(document.address.name, document.value, document.version)
