"""Forgetting: how strong a memory still is, when the rule lets it go, and the steps that do so."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import count, islice
from operator import itemgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from remanence.consolidation.steps import Chore, ChoreResult, changed, past_of
from remanence.errors import InvalidInput
from remanence.layers.cleanup import believed, days_before
from remanence.memories.lineage import derived, sheltering, standing
from remanence.model.filter import ACTIVE, Both, Compare, Filter, Not
from remanence.model.memory import HALF, MemoryRecord, State, unit_interval
from remanence.model.ports.store import RecallSource, Store
from remanence.model.progress import Progress
from remanence.model.scope import Reach
from remanence.model.sleep import Deed, ForgetPolicy, Night, Plan, Step
from remanence.model.validation import ORIGIN as SUMMARY
from remanence.model.validation import STATED as USER

Days: TypeAlias = Callable[[datetime, datetime], float]

DERIVED = Compare("origin", "in", (SUMMARY, "sleep"), field=True)
_DAY = 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MANY = 10**9  # uses beyond this change nothing


def calendar_days(start: datetime, end: datetime) -> float:
    """Days from one moment to another, with fractions; below 0 if the end comes first."""
    return (end - start).total_seconds() / _DAY


class ActiveDays:
    """Counts only given days (since 1970, UTC): those after the day of `start`, up to `end`'s."""

    def __init__(self, days: Iterable[int]) -> None:
        self._days: NDArray[np.int64] = np.unique(np.fromiter(days, np.int64))

    def __call__(self, start: datetime, end: datetime) -> float:
        """How many of them lie between; 0 if the end comes first."""
        bounds = [_day_of(start), _day_of(end)]
        first, last = np.searchsorted(self._days, bounds, side="right")
        return float(max(0, last - first))


def days_for(store: RecallSource, partition: int, policy: ForgetPolicy) -> Days:
    """How days count for the memories of a partition; what was derived here is nobody's writing."""
    if not policy.active_days:
        return calendar_days
    written = store.keys(partition, Not(DERIVED))
    traits = store.traits(partition, [int(key) for key in written])
    return ActiveDays(trait.created // (_DAY * 1_000_000) for trait in traits)


def _day_of(moment: datetime) -> int:
    return (moment - _EPOCH).days


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


CHUNK = 500

ARCHIVED = Compare("state", "eq", State.ARCHIVED, field=True)
PINNED = Compare("pinned", "eq", True, field=True)
STATED = Compare("source", "eq", USER, field=True)

# No rule forgets or erases these. What was derived here is what is left of the others.
NEVER: dict[str, Filter] = {"pinned": PINNED, "stated by the user": STATED, "derived": DERIVED}
EXPOSED = Both(tuple(map(Not, NEVER.values())))


def kept_by(policy: ForgetPolicy) -> dict[str, Filter]:
    """Why memories that are not exempt stay for as long as the policy stands, by reason."""
    important = Compare("importance", "gte", policy.importance_below, field=True)
    return {"important": important, "used": Compare("uses", "gte", policy.uses_below, field=True)}


def slight(policy: ForgetPolicy) -> Filter:
    """Active memories that may fade away under the policy, sooner or later."""
    return Both((ACTIVE, EXPOSED, *map(Not, kept_by(policy).values())))


def allowance(cap: float, memories: int) -> int:
    """How many of so many memories a run may take: the cap's share, rounded up."""
    return math.ceil(round(cap * memories, 6))


def candidates(
    store: Store, night: Night, where: Filter, progress: Progress | None = None
) -> Iterator[tuple[MemoryRecord, Days]]:
    """Memories in the night's reach that satisfy the filter, and how days count for each.

    Partition by partition, a few hundred records at a time. Those that stand for a pinned or
    user-stated memory are left out.
    """
    where = Both((where, *_within(night.reach)))
    partitions = store.recall.partitions(night.reach)
    for number, partition in enumerate(partitions, 1):
        keys = [int(key) for key in store.recall.keys(partition, where)]
        days = days_for(store.recall, partition, night.policy.forget) if keys else None
        for at in range(0, len(keys), CHUNK):
            records = store.recall.records(partition, keys[at : at + CHUNK]).values()
            kept = sheltering(store, night.reach.tenant, [record.id for record in records])
            for record in records:
                if days is not None and record.id not in kept:
                    yield record, days
        if progress:
            progress(number, len(partitions))


def _within(reach: Reach) -> Iterator[Filter]:
    for name in ("agent_id", "session_id"):
        wanted = getattr(reach, name)
        if wanted is not None:
            yield Compare(name, "eq", wanted, field=True)


ACTOR = "sleep"
VERB = "faded"


# Those trusted less than by half after the others; the weakest first, then the longest untouched.
_Rank: TypeAlias = tuple[bool, float, float, str]


class Forgetting:
    """Plans which memories leave recall.

    Pinned, user-stated and derived ones never do, nor does what one of those was merged into.
    """

    step = Step.FORGET

    def __init__(self, store: Store) -> None:
        self._store = store

    def plan(self, night: Night, progress: Progress | None = None) -> Plan:
        """The weakest memories that the policy lets go, one deed each, the trusted ones first.

        Holds one deed more than the cap allows, so that the cut shows; a note tells how many
        there are in all.
        """
        looked, found = count(), count()
        cap, reach = night.policy.cap, night.reach
        active = self._store.archive.count(reach, ACTIVE)
        trusted = self._store.archive.count(replace(reach, min_trust=HALF), ACTIVE)
        faded = self._faded(night, looked, found, progress)
        room = allowance(cap, active) + 1
        weakest = heapq.nsmallest(room, faded, key=itemgetter(0))
        # Whoever is trusted less neither uses up the room of the others nor makes more of it.
        own = room if trusted == active else allowance(cap, trusted)
        deeds = [deed for n, (rank, deed) in enumerate(weakest) if rank[0] or n < own]
        total = next(found)
        notes = (f"{total} have faded; the weakest {len(deeds)} are planned",)
        return Plan(
            step=self.step,
            deeds=tuple(deeds),
            looked_at=next(looked),
            notes=notes if total > len(deeds) else (),
        )

    def _faded(
        self, night: Night, looked: count[int], found: count[int], progress: Progress | None
    ) -> Iterator[tuple[_Rank, Deed]]:
        now, policy = night.now, night.policy.forget
        for record, days in candidates(self._store, night, _old(night), progress):
            next(looked)
            trace = trace_of(record)
            if forgettable(trace, now, policy, days):
                next(found)
                left = strength_at(trace, now, policy, days)
                rank = record.trust < HALF, left, trace.touched.timestamp(), record.id
                yield rank, _deed(record, reason_of(trace, now, policy, days), night)


def _old(night: Night) -> Filter:
    """What may be old enough; an active day may be counted that is not a whole one."""
    policy = night.policy.forget
    before = days_before(night.now, max(policy.older_than_days - 1, 0))
    return Both((slight(policy), Compare("created_at", "lte", before, field=True)))


def _deed(record: MemoryRecord, why: str, night: Night) -> Deed:
    change = replace(changed(record, VERB, why, night, state=State.ARCHIVED), actor=ACTOR)
    return Deed(what="archive", why=why, about=(record.id,), actions=(change,), takes=1)


AT_ONCE = 100

Erase = Callable[[Sequence[str]], object]


class Erasing(Chore):
    """Erases memories that sleep archived and that nobody has touched since.

    Pinned, user-stated and derived ones stay, and so does what one of those was merged into, and
    whatever a standing summary was made of: erasing it would take them along. A clock that may
    have jumped erases nothing, even where the caller believes it: this cannot be undone.
    """

    step = Step.ERASE

    def __init__(self, store: Store, erase: Erase) -> None:
        """`erase` is given ids, and removes those memories with all that came of them."""
        self._store = store
        self._erase = erase

    def foresee(self, night: Night) -> Plan:
        """How many it would erase."""
        if night.policy.forget.erase_after_days is None:
            return Plan(step=self.step, notes=("the policy erases nothing by itself",))
        if doubt := self._doubt(night):
            return Plan(step=self.step, notes=(doubt,))
        due, more = self._lot(night)
        return Plan(
            step=self.step,
            looked_at=len(due) + more,
            notes=(f"{len(due)} memories would be erased for good",),
            alarm="more are due than a run may erase" if more else None,
        )

    def run(self, night: Night, progress: Progress | None = None) -> ChoreResult:
        """Erase them, some at a time."""
        if night.policy.forget.erase_after_days is None:
            return ChoreResult(counts={"erased": 0})
        if self._doubt(night):
            return ChoreResult(counts={"erased": 0, "clock_doubted": 1})
        due, more = self._lot(night)
        for at in range(0, len(due), AT_ONCE):
            self._erase(due[at : at + AT_ONCE])
            if progress:
                progress(min(at + AT_ONCE, len(due)), len(due))
        return ChoreResult(counts={"erased": len(due), "capped": int(more)})

    def _lot(self, night: Night) -> tuple[list[str], bool]:
        """What a run may erase, and whether more is due.

        It may take the cap's share of all memories there are, archived ones too.
        """
        most = allowance(night.policy.cap, self._store.archive.count(night.reach))
        ids = list(islice(self._due(night), most + 1))
        return ids[:most], len(ids) > most

    def _due(self, night: Night) -> Iterator[str]:
        days = night.policy.forget.erase_after_days
        before = days_before(night.now, 0 if days is None else days)
        rested = Compare("updated_at", "lt", before, field=True)
        for record, _ in candidates(self._store, night, Both((ARCHIVED, EXPOSED, rested))):
            if record.superseded_by is None and self._faded(record) and not self._told(record):
                yield record.id

    def _faded(self, record: MemoryRecord) -> bool:
        past = past_of(self._store, record.tenant, record.id)
        return bool(past) and (past[-1].verb, past[-1].actor) == (VERB, ACTOR)

    def _told(self, record: MemoryRecord) -> bool:
        return bool(standing(derived(self._store, record.tenant, [record.id])))

    def _doubt(self, night: Night) -> str | None:
        everywhere = Reach(tenant=night.reach.tenant, all_users=True)
        try:
            believed(night.now, lambda where: self._store.archive.count(everywhere, where))
        except InvalidInput as error:
            return str(error)
        return None
