"""Claims: one worker at a due moment at a time, and each moment marked served exactly once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from remanence.clock import Clock
from remanence.errors import Conflict
from remanence.model.document import Document, Put, Shelf
from remanence.model.scope import Reach
from remanence.ports.store import Documents, Progress
from remanence.sleep.leases import LEASE_S, NOBODY, Leases
from remanence.sleep.schedule.due import Due
from remanence.sleep.schedule.entries import Entry, Turn, address_of, entry_of, entry_to_value

_MOST = 1_000
_TICK = timedelta(microseconds=1)


class Interrupted(BaseException):
    """The worker is to stop, or lost its lease: the step ends as if the process had died there."""


class Claims:
    """The schedules' documents of one tenant, as one worker writes them."""

    def __init__(
        self, store: Documents, tenant: str, clock: Clock, owner: str, lease_s: float = LEASE_S
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._clock = clock
        self._leases = Leases(store, tenant, clock, owner, lease_s)

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
        if entry.turn is not None and entry.turn.due == due.moment:
            began = entry.turn.began
        turn = Turn(lease=self._leases.claim(), due=due.moment, began=began, cause=due.cause)
        return self.put(replace(entry, turn=turn, again_at=None))

    def renew(self, name: str) -> bool:
        """Keep others away for longer; False if the lease is no longer ours."""

        return self._leases.renew(address_of(name))

    def kept(self, name: str) -> AbstractContextManager[threading.Event]:
        """Renew the lease from another thread while the work goes on."""
        return self._leases.kept(address_of(name))

    def serve(self, name: str, error: str | None = None) -> Entry | None:
        """Mark the moment served, by a run or by giving up; None if it is not ours."""

        def served(entry: Entry, turn: Turn) -> Entry:
            now = self._clock.now()
            return replace(
                entry,
                turn=None,
                tries=0,
                again_at=None,
                error=error,
                served=max(turn.due, entry.done_until),
                ended_at=max(now, turn.began),
            )

        return self._change(name, served)

    def fail(self, name: str, error: str, again_at: datetime) -> Entry | None:
        """Note a failure; whoever comes first after `again_at` tries the moment once more."""

        def failed(entry: Entry, turn: Turn) -> Entry:
            freed = self._freed(turn)
            return replace(entry, turn=freed, tries=entry.tries + 1, again_at=again_at, error=error)

        return self._change(name, failed)

    def release(self, name: str, again_at: datetime | None = None) -> Entry | None:
        """Let go of a moment that was not finished; whoever comes next goes on with it."""

        def released(entry: Entry, turn: Turn) -> Entry:
            freed = self._freed(turn)
            return replace(entry, turn=freed, again_at=again_at)

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

    def _freed(self, turn: Turn) -> Turn:
        return replace(turn, lease=replace(turn.lease, owner=NOBODY, until=self._clock.now()))

    def _change(self, name: str, apply: Callable[[Entry, Turn], Entry]) -> Entry | None:
        """Change the entry as long as the lease is ours; a plan set meanwhile is kept."""

        def changed(value: Mapping[str, Any]) -> Mapping[str, Any]:
            entry = entry_of(name, value, 0)
            return entry_to_value(entry if entry.turn is None else apply(entry, entry.turn))

        document = self._leases.change(address_of(name), changed)
        return None if document is None else _entry(document)


def heeding(*ends: threading.Event) -> Progress:
    """A callback that raises `Interrupted` once one of these has come."""

    def progress(_done: int, _total: int) -> None:
        if any(end.is_set() for end in ends):
            raise Interrupted

    return progress


def _entry(document: Document) -> Entry:
    return entry_of(document.address.name, document.value, document.version)
