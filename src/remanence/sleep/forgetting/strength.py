"""How strong a memory still is, and when the rule would let it go. Pure functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from remanence.errors import InvalidInput
from remanence.model.memory import MemoryRecord, unit_interval
from remanence.model.sleep import ForgetPolicy
from remanence.sleep.forgetting.days import Days

MANY = 10**9  # uses beyond this change nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What forgetting knows of a memory: it is as old as `since`, and fades from `touched` on."""

    importance: float
    uses: int
    since: datetime
    touched: datetime


def trace_of(record: MemoryRecord) -> Trace:
    """A record's trace. Its age counts from when it was written, last changed, or will happen.

    So what an import brings of years ago is new here, what is planned is not old before its day,
    and what somebody brought back has its time again. A use starts the fading anew, not the age.
    """
    since = max(record.created_at, record.updated_at, record.happened_at)
    return Trace(
        importance=record.importance,
        uses=record.uses,
        since=since,
        touched=max(since, record.used_at or since),
    )


def strength(importance: float, days_since: float, uses: int, policy: ForgetPolicy) -> float:
    """Importance × daily^(days / stability), for days since the last use; never above importance.

    >>> strength(0.8, 14, 0, ForgetPolicy()) < strength(0.8, 14, 3, ForgetPolicy()) < 0.8
    True
    """
    if math.isnan(days_since):
        raise InvalidInput("days_since must be a number of days; got nan.")
    days = max(days_since, 0.0) / stability(uses)
    return unit_interval("importance", importance) * float(policy.daily**days)


def stability(uses: int) -> float:
    """How many times slower a memory fades after so many uses: 1 + uses.

    Each use lengthens the half-life by as much (13.5 days at 0.95). The laws of flashcards grow
    it by a factor; they grade answers given days apart, but ten searches of one minute are ten
    uses, so a factor would make such memories last for ever.
    """
    return 1.0 + min(max(uses, 0), MANY)


def forgettable(trace: Trace, now: datetime, policy: ForgetPolicy, days: Days) -> bool:
    """Whether the rule lets it go now: slight, hardly used, old and faded, all at once.

    What is younger than `now` by its own times is not old, whatever the clock says.
    """
    return (
        now > trace.since
        and trace.importance < policy.importance_below
        and trace.uses < policy.uses_below
        and days(trace.since, now) > policy.older_than_days
        and strength_at(trace, now, policy, days) < policy.floor
    )


def strength_at(trace: Trace, now: datetime, policy: ForgetPolicy, days: Days) -> float:
    """The strength of a memory at a moment."""
    return strength(trace.importance, days(trace.touched, now), trace.uses, policy)


def days_to_fade(importance: float, uses: int, policy: ForgetPolicy) -> float | None:
    """After how many days without use its strength falls below the floor; None if it never does."""
    if importance < policy.floor:
        return 0.0
    if policy.floor == 0 or policy.daily == 1:
        return None
    if policy.daily == 0:
        return 0.0
    return stability(uses) * math.log(policy.floor / importance) / math.log(policy.daily)


def forgotten_on(trace: Trace, now: datetime, policy: ForgetPolicy, days: Days) -> date | None:
    """The day on which the rule will let it go if it is not used again; None if it never will.

    Today for what it lets go already. With `active_days` it is the earliest such day: the owner
    may write on every day to come.
    """
    fading = days_to_fade(trace.importance, trace.uses, policy)
    if (
        fading is None
        or trace.importance >= policy.importance_below
        or trace.uses >= policy.uses_below
    ):
        return None
    if forgettable(trace, now, policy, days):
        return now.date()
    left = max(
        fading - days(trace.touched, now), policy.older_than_days - days(trace.since, now), 0.0
    )
    ahead = math.floor(left) + 1 if policy.active_days and math.isfinite(left) else left
    return _later(max(now, trace.since) if policy.active_days else now, ahead)


def reason_of(trace: Trace, now: datetime, policy: ForgetPolicy, days: Days) -> str:
    """Why the rule lets it go, for a person to read; quotes nothing."""
    left = strength_at(trace, now, policy, days)
    unused = max(0, math.floor(days(trace.touched, now)))
    kind = "active days" if policy.active_days else "days"
    return (
        f"strength {left:.3f} (importance {trace.importance:.2f}, {unused} {kind} untouched, "
        f"uses {trace.uses}) is below {policy.floor:g}"
    )


def _later(moment: datetime, days: float) -> date | None:
    try:
        return (moment + timedelta(days=days)).date()
    except OverflowError:
        return None
