"""What is due: decided from how a schedule stands and what time it is, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b

from remanence.sleep.schedule.entries import Entry
from remanence.sleep.schedule.plans import Schedule

Counted = Callable[[datetime], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A moment to serve, and why: "time", "memories", "messages", or "again" after a failure.

    Every moment of the schedule up to this one is served with it, however many were missed.
    """

    moment: datetime
    cause: str = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many memories, and messages among them, were made after a moment; asked if need be."""

    memories: Counted
    messages: Counted


def jitter_of(plan: Schedule, store: str, tenant: str) -> timedelta:
    """How long after its moments this schedule runs in this store: always the same, never random.

    At most half of what lies between two moments, so that the next one is not reached.
    """
    key = "\0".join((store, tenant, plan.name)).encode()
    share = int.from_bytes(blake2b(key, digest_size=8).digest()) / 2**64
    return timedelta(seconds=share * plan.jitter_s)


def due(
    plan: Schedule,
    entry: Entry,
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


def next_due(plan: Schedule, entry: Entry, now: datetime, jitter: timedelta) -> datetime | None:
    """When it will be due by the clock, now if it is already; None if it is off."""
    if not plan.enabled or entry.removed:
        return None
    if entry.turn is not None:
        return max(entry.again_at or now, now)
    first = plan.moments.after(entry.done_until)
    return None if first is None else max(first + _within(plan, first, jitter), now)


def _again(entry: Entry, now: datetime) -> Due | None:
    """A moment that was begun: its worker died, or failed and is to try again."""
    if entry.turn is None or (entry.again_at is not None and now < entry.again_at):
        return None
    return Due(moment=entry.turn.due, cause=entry.turn.cause)


def _by_time(
    plan: Schedule, entry: Entry, now: datetime, jitter: timedelta, idle: bool
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


def _by_count(plan: Schedule, entry: Entry, now: datetime, counts: Counts | None) -> Due | None:
    since = entry.ended_at or entry.since
    if counts is None or now <= max(since, entry.done_until):
        return None
    if plan.after_new is not None and counts.memories(since) >= plan.after_new:
        return Due(moment=now, cause="memories")
    if plan.after_messages is not None and counts.messages(since) >= plan.after_messages:
        return Due(moment=now, cause="messages")
    return None


def _within(plan: Schedule, moment: datetime, jitter: timedelta) -> timedelta:
    following = plan.moments.after(moment)
    return jitter if following is None else min(jitter, (following - moment) / 2)
