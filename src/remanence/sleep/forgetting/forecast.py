"""The forecast: which memories would be forgotten, when and why, if nobody used them again."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime

from remanence.errors import InvalidInput
from remanence.model.filter import Both, Filter, Not
from remanence.model.query import check_limit
from remanence.model.sleep import ForgetPolicy, Night
from remanence.ports.store import Store
from remanence.sleep.forgetting.candidates import (
    ACTIVE,
    NEVER,
    allowance,
    candidates,
    kept_by,
    slight,
)
from remanence.sleep.forgetting.days import Days
from remanence.sleep.forgetting.strength import (
    Trace,
    forgettable,
    forgotten_on,
    reason_of,
    strength_at,
    trace_of,
)

FURTHEST = 36_525  # days: a hundred years
EXCERPT = 80
LASTING = "not fading"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fading:
    """A memory that would be forgotten `on` a day. `excerpt` is for its owner's eyes alone."""

    id: str
    on: date
    strength: float
    importance: float
    uses: int
    touched: datetime
    reason: str
    excerpt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What would be forgotten from `now` on: the first ones whole, all of them in numbers.

    `weeks` are counts for each week to come; what has faded already is in the first. `exempt`
    counts active memories that stay, by the first reason that holds. A run takes `most_a_run` at
    most, so the days are the earliest possible.
    """

    now: datetime
    policy: ForgetPolicy
    days: int
    total: int
    first: tuple[Fading, ...]
    weeks: tuple[int, ...]
    exempt: Mapping[str, int]
    most_a_run: int


def forecast(store: Store, night: Night, *, days: int = 90, limit: int = 100) -> Forecast:
    """What would be forgotten within so many days, the earliest `limit` of it in detail."""
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= FURTHEST:
        raise InvalidInput(f"days must be a whole number from 1 to {FURTHEST}; got {days!r:.40}.")
    check_limit(limit)
    weeks = Counter[int | None]()
    first = heapq.nsmallest(limit, _coming(store, night, days, weeks), key=_order)
    lasting = weeks.pop(None, 0)
    active = store.count(night.reach, ACTIVE)
    return Forecast(
        now=night.now,
        policy=night.policy.forget,
        days=days,
        total=weeks.total(),
        first=tuple(_with_excerpts(store, night, first)),
        weeks=tuple(weeks[n] for n in range(math.ceil(days / 7))),
        exempt=_exempt(store, night) | ({LASTING: lasting} if lasting else {}),
        most_a_run=allowance(night.policy.cap, active),
    )


def excerpt_of(text: str, most: int = EXCERPT) -> str:
    """The beginning of a text on one line, with nothing in it that cannot be printed."""
    line = " ".join(text[: 4 * most].split())
    seen = "".join(letter if letter.isprintable() else "�" for letter in line)
    return seen if len(seen) <= most and len(text) <= 4 * most else seen[: most - 1] + "…"


def _coming(store: Store, night: Night, days: int, weeks: Counter[int | None]) -> Iterator[Fading]:
    now, policy = night.now, night.policy.forget
    for record, counted in candidates(store, night, slight(policy)):
        trace = trace_of(record)
        on = forgotten_on(trace, now, policy, counted)
        if on is None:
            weeks[None] += 1
        elif (ahead := (on - now.date()).days) < days:
            weeks[ahead // 7] += 1
            yield Fading(
                id=record.id,
                on=on,
                strength=strength_at(trace, now, policy, counted),
                importance=trace.importance,
                uses=trace.uses,
                touched=trace.touched,
                reason=_reason(trace, night, counted, ahead),
            )


def _reason(trace: Trace, night: Night, counted: Days, ahead: int) -> str:
    now, policy = night.now, night.policy.forget
    if forgettable(trace, now, policy, counted):
        return reason_of(trace, now, policy, counted)
    unit = "active day" if policy.active_days else "day"
    return (
        f"if not used for {ahead} more {unit}{'' if ahead == 1 else 's'}: importance "
        f"{trace.importance:.2f}, uses {trace.uses}, then older than {policy.older_than_days:g} "
        f"days and below {policy.floor:g}"
    )


def _order(one: Fading) -> tuple[date, float, str]:
    return one.on, one.strength, one.id


def _with_excerpts(store: Store, night: Night, found: list[Fading]) -> Iterator[Fading]:
    """Those that are still there, with the beginning of what they say."""
    texts = {r.id: r.text for r in store.get(night.reach.tenant, [one.id for one in found])}
    for one in found:
        if one.id in texts:
            yield replace(one, excerpt=excerpt_of(texts[one.id]))


def _exempt(store: Store, night: Night) -> dict[str, int]:
    counts: dict[str, int] = {}
    before: tuple[Filter, ...] = (ACTIVE,)
    for why, where in (NEVER | kept_by(night.policy.forget)).items():
        counts[why] = store.count(night.reach, Both((*before, where)))
        before += (Not(where),)
    return counts
