"""What is due: decided from how a schedule stands, what time it is, and what is new."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import blake2b

from remanence.consolidation.schedules.claims import Due, ScheduleEntry
from remanence.consolidation.schedules.plans import Schedule
from remanence.model.filter import Both, Compare, Filter
from remanence.model.memory import Kind
from remanence.model.ports.store import Store
from remanence.model.scope import Reach

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
