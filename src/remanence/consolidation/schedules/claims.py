"""How schedules stand: their documents, and one worker at a due moment at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from msgspec import convert, to_builtins

from remanence.consolidation.leases import LEASE_S, NOBODY, Lease, Leases
from remanence.consolidation.schedules.plans import Schedule
from remanence.errors import Conflict
from remanence.model.clock import Clock
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.ports.store import Documents
from remanence.model.progress import Progress
from remanence.model.scope import Reach

FAR = timedelta(days=1)

_MOST = 1_000
_TICK = timedelta(microseconds=1)
_TIMES = ("since", "served", "ended_at", "again_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A moment to serve, and why: "time", "memories", "messages", or "again" after a failure.

    Every moment of the schedule up to this one is served with it, however many were missed.
    """

    moment: datetime
    cause: str = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleTurn(Lease):
    """Who serves which due moment.

    `began` is when that moment was first claimed, by whomever: what completed since then for this
    schedule need not be done again.
    """

    due: datetime
    began: datetime
    cause: str = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleEntry:
    """How a schedule stands. All moments up to `served` are done with; before `since` none count.

    `plan` is None where the default holds. `tries` counts failures of the moment in the turn, and
    `again_at` is when to try once more. `error` is of the last run, None if that was well.
    """

    name: str
    since: datetime
    plan: Schedule | None = None
    removed: bool = False
    served: datetime | None = None
    ended_at: datetime | None = None
    turn: ScheduleTurn | None = None
    tries: int = 0
    again_at: datetime | None = None
    error: str | None = None
    version: int = 0

    @property
    def done_until(self) -> datetime:
        """Moments after this one are still to be served."""
        return self.since if self.served is None else max(self.since, self.served)

    def held(self, now: datetime) -> bool:
        """Whether somebody is at it."""
        return self.turn is not None and self.turn.held(now)

    def righted(self, now: datetime) -> ScheduleEntry:
        """The same without times that lie ahead, which only a clock that was wrong can have given.

        They would keep the schedule waiting until then.
        """
        ahead: dict[str, Any] = {
            n: now for n in _TIMES if (at := getattr(self, n)) and at > now + FAR
        }
        return replace(self, **ahead)


def address_of(name: str) -> Address:
    """Where a schedule's document stands."""
    return Address(shelf=Shelf.SCHEDULE, name=name)


def entry_to_value(entry: ScheduleEntry) -> dict[str, Any]:
    """An entry as JSON; the lease is where every document of leased work has it."""
    told = to_builtins(entry)
    return {name: told[name] for name in (*_TIMES, "plan", "removed", "tries", "error")} | {
        "lease": told["turn"]
    }


def entry_of(name: str, value: Mapping[str, Any], version: int) -> ScheduleEntry:
    """The entry that `entry_to_value` wrote; what a newer version added is passed over."""
    plan = value.get("plan")
    own = {"name": name, "version": version, "turn": value.get("lease")}
    named = {"plan": None if plan is None else {**plan, "name": name}}
    return convert({**value, **own, **named}, ScheduleEntry)


class Interrupted(BaseException):
    """The worker is to stop, or lost its lease: the step ends as if the process had died there."""


@dataclass(eq=False)
class Claims:
    """The schedules' documents of one tenant, as one worker writes them."""

    store: Documents
    tenant: str
    clock: Clock
    owner: str
    lease_s: float = LEASE_S

    def __post_init__(self) -> None:
        self._leases = Leases(self.store, self.tenant, self.clock, self.owner, self.lease_s)

    def entries(self) -> dict[str, ScheduleEntry]:
        """Every schedule that has a document, by name."""
        reach = Reach(tenant=self.tenant)
        found = self.store.shelved(reach, Shelf.SCHEDULE, limit=_MOST)
        return {document.address.name: _entry(document) for document in found}

    def entry(self, name: str) -> ScheduleEntry | None:
        """How a schedule stands; None if it has no document."""
        found = self.store.get(self.tenant, [address_of(name)])
        return _entry(found[0]) if found else None

    def enter(self, name: str) -> ScheduleEntry:
        """Begin to keep account of a schedule: what was due before now is nobody's concern."""
        new = ScheduleEntry(name=name, since=self.clock.now())
        return self.put(new) or self.entry(name) or new

    def right(self, entry: ScheduleEntry) -> ScheduleEntry:
        """Write down an entry without times that a wrong clock gave it, if it has any."""
        right = entry.righted(self.clock.now())
        return entry if right == entry else self.put(right) or self.entry(entry.name) or right

    def claim(self, entry: ScheduleEntry, due: Due) -> ScheduleEntry | None:
        """Take the moment for this worker; None if another was faster."""
        now = self.clock.now()
        # Later than all that ran for an earlier moment, whatever that worker's clock said.
        began = now if entry.ended_at is None else max(now, entry.ended_at + _TICK)
        if entry.turn is not None and entry.turn.due == due.moment:
            began = entry.turn.began
        told: dict[str, Any] = {"due": due.moment, "began": began, "cause": due.cause}
        turn = ScheduleTurn(**asdict(self._leases.claim()), **told)
        return self.put(replace(entry, turn=turn, again_at=None))

    def kept(self, name: str) -> AbstractContextManager[threading.Event]:
        """Renew the lease from another thread while the work goes on."""
        return self._leases.kept(address_of(name))

    def serve(self, name: str, error: str | None = None) -> ScheduleEntry | None:
        """Mark the moment served, by a run or by giving up; None if it is not ours."""
        now = self.clock.now()
        return self._change(
            name,
            lambda entry, turn: replace(
                entry,
                turn=None,
                tries=0,
                again_at=None,
                error=error,
                served=max(turn.due, entry.done_until),
                ended_at=max(now, turn.began),
            ),
        )

    def fail(self, name: str, error: str, again_at: datetime) -> ScheduleEntry | None:
        """Note a failure; whoever comes first after `again_at` tries the moment once more."""
        return self._change(
            name,
            lambda entry, turn: replace(
                entry, turn=self._freed(turn), tries=entry.tries + 1, again_at=again_at, error=error
            ),
        )

    def release(self, name: str, again_at: datetime | None = None) -> ScheduleEntry | None:
        """Let go of a moment that was not finished; whoever comes next goes on with it."""
        return self._change(
            name, lambda entry, turn: replace(entry, turn=self._freed(turn), again_at=again_at)
        )

    def put(self, entry: ScheduleEntry) -> ScheduleEntry | None:
        """Write an entry if its version is still the newest; None if it is not."""
        put = Put(
            address=address_of(entry.name),
            value=entry_to_value(entry),
            at=self.clock.now(),
            expected=entry.version,
        )
        try:
            (document,) = self.store.put(self.tenant, [put])
        except Conflict:
            return None
        return _entry(document)

    def _freed(self, turn: ScheduleTurn) -> ScheduleTurn:
        return replace(turn, owner=NOBODY, until=self.clock.now())

    def _change(
        self, name: str, apply: Callable[[ScheduleEntry, ScheduleTurn], ScheduleEntry]
    ) -> ScheduleEntry | None:
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


def _entry(document: Document) -> ScheduleEntry:
    return entry_of(document.address.name, document.value, document.version)
