"""How schedules stand, and what is due: their documents, one worker at a moment at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any

from msgspec import convert, to_builtins

from remanence.consolidation.leases import LEASE_S, NOBODY, Lease, Leases
from remanence.consolidation.schedules.plans import Schedule
from remanence.errors import Conflict
from remanence.model.clock import Clock
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.filter import Both, Compare, Filter
from remanence.model.memory import Kind
from remanence.model.ports.store import Documents, Store
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


Counts = Callable[[datetime, bool], int]  # memories made after a moment, or only messages

MOST_PARTITIONS = 256  # with more, looking whether they moved costs as much as counting

_MESSAGE = Compare("kind", "eq", Kind.MESSAGE, field=True)


def jitter_of(plan: Schedule, store: str, tenant: str) -> timedelta:
    """How long after its moments this schedule runs in this store: always the same, never random.

    At most half of what lies between two moments, so that the next one is not reached.
    """
    key = "\0".join((store, tenant, plan.name)).encode()
    share = int.from_bytes(blake2b(key, digest_size=8).digest()) / 2**64
    return timedelta(seconds=share * plan.jitter_s)


def due(
    plan: Schedule,
    entry: ScheduleEntry,
    now: datetime,
    *,
    jitter: timedelta = timedelta(),
    idle: bool = True,
    counts: Counts | None = None,
) -> Due | None:
    """What is to be done now; None if nothing is, or if it waits for a quiet moment."""
    if not plan.enabled or entry.removed or entry.held(now):
        return None
    if entry.turn is not None:
        return _again(entry, now)
    return _by_time(plan, entry, now, jitter, idle) or (
        _by_count(plan, entry, now, counts) if idle and counts is not None else None
    )


def next_due(
    plan: Schedule, entry: ScheduleEntry, now: datetime, jitter: timedelta
) -> datetime | None:
    """When it will be due by the clock, now if it is already; None if it is off."""
    if not plan.enabled or entry.removed:
        return None
    if entry.turn is not None:
        return max(entry.again_at or now, now)
    first = plan.moments.after(entry.done_until)
    return None if first is None else max(first + _within(plan, first, jitter), now)


def _again(entry: ScheduleEntry, now: datetime) -> Due | None:
    """A moment that was begun: its worker died, or failed and is to try again."""
    if entry.turn is None or (entry.again_at is not None and now < entry.again_at):
        return None
    return Due(moment=entry.turn.due, cause=entry.turn.cause)


def _by_time(
    plan: Schedule, entry: ScheduleEntry, now: datetime, jitter: timedelta, idle: bool
) -> Due | None:
    first = plan.moments.after(entry.done_until)
    if first is None or now < first:
        return None
    wait = _within(plan, first, jitter)
    if now < first + wait:
        return None
    second = plan.moments.after(first)
    if not idle and (second is None or now < second + wait):
        return None
    newest = plan.moments.latest(now - wait)
    return Due(moment=first if newest is None else max(first, newest))


def _by_count(
    plan: Schedule, entry: ScheduleEntry, now: datetime, counts: Counts | None
) -> Due | None:
    since = entry.ended_at or entry.since
    if counts is None or now <= max(since, entry.done_until):
        return None
    if plan.after_new is not None and counts(since, False) >= plan.after_new:
        return Due(moment=now, cause="memories")
    if plan.after_messages is not None and counts(since, True) >= plan.after_messages:
        return Due(moment=now, cause="messages")
    return None


def _within(plan: Schedule, moment: datetime, jitter: timedelta) -> timedelta:
    following = plan.moments.after(moment)
    return jitter if following is None else min(jitter, (following - moment) / 2)


class Counting:
    """Counts for one store; a count reads every memory of a tenant, a position next to nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, bool], tuple[datetime, int, int]] = {}

    def count(self, tenant: str, since: datetime, messages: bool) -> int:
        """How many memories, or messages among them, a tenant got after a moment."""
        reach = Reach(tenant=tenant, all_users=True)
        at, known = self._position(reach), self._known.get((tenant, messages))
        if known is not None and at is not None and known[:2] == (since, at):
            return known[2]
        new: Filter = Compare("created_at", "gt", since, field=True)
        found = self._store.archive.count(reach, Both((new, _MESSAGE)) if messages else new)
        if at is not None:
            self._known[tenant, messages] = since, at, found
        return found

    def _position(self, reach: Reach) -> int | None:
        partitions = self._store.recall.partitions(reach)
        if len(partitions) > MOST_PARTITIONS:
            return None
        return sum(self._store.recall.position(partition) for partition in partitions)
