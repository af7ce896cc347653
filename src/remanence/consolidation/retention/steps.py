"""The steps that forget: what has faded is archived, and erased later if the policy says so."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from operator import itemgetter
from typing import TypeAlias

from remanence.consolidation.retention.strength import (
    ARCHIVED,
    EXPOSED,
    allowance,
    candidates,
    forgettable,
    reason_of,
    slight,
    strength_at,
    trace_of,
)
from remanence.consolidation.steps import Chore, ChoreResult, changed, past_of
from remanence.errors import InvalidInput
from remanence.layers.cleanup import believed, days_before
from remanence.memories.lineage import derived, standing
from remanence.model.filter import ACTIVE, Both, Compare, Filter
from remanence.model.memory import HALF, MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.scope import Reach
from remanence.model.sleep import Deed, Night, Plan, Step

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
