"""Forgetting: archives what has faded, the weakest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from remanence.layers.cleanup import days_before
from remanence.model.filter import Both, Compare, Filter
from remanence.model.memory import State
from remanence.model.sleep import Deed, Night, Plan, Step
from remanence.model.write import Revise
from remanence.ports.store import Progress, Store
from remanence.sleep.forgetting.candidates import ACTIVE, allowance, candidates, slight
from remanence.sleep.forgetting.strength import forgettable, reason_of, strength_at, trace_of

ACTOR = "sleep"
VERB = "faded"


class Faded(NamedTuple):
    """A memory that the rule lets go; they sort the weakest first, then the longest untouched."""

    strength: float
    touched: float
    id: str
    version: int
    why: str


class Forgetting:
    """Plans which memories leave recall.

    Pinned, user-stated and derived ones never do, nor does what one of those was merged into.
    """

    step = Step.FORGET

    def __init__(self, store: Store) -> None:
        self._store = store

    def plan(self, night: Night, progress: Progress | None = None) -> Plan:
        """The weakest memories that the policy lets go, one deed each.

        Holds one deed more than the cap allows, so that the cut shows; a note tells how many
        there are in all.
        """
        looked, found = count(), count()
        room = allowance(night.policy.cap, self._store.count(night.reach, ACTIVE)) + 1
        weakest = heapq.nsmallest(room, self._faded(night, looked, found, progress))
        total = next(found)
        notes = (f"{total} have faded; the weakest {len(weakest)} are planned",)
        return Plan(
            step=self.step,
            deeds=tuple(_deed(one, night) for one in weakest),
            looked_at=next(looked),
            notes=notes if total > len(weakest) else (),
        )

    def _faded(
        self, night: Night, looked: count[int], found: count[int], progress: Progress | None
    ) -> Iterator[Faded]:
        now, policy = night.now, night.policy.forget
        for record, days in candidates(self._store, night, _old(night), progress):
            next(looked)
            trace = trace_of(record)
            if forgettable(trace, now, policy, days):
                next(found)
                yield Faded(
                    strength_at(trace, now, policy, days),
                    trace.touched.timestamp(),
                    record.id,
                    record.version,
                    reason_of(trace, now, policy, days),
                )


def _old(night: Night) -> Filter:
    """What may be old enough; an active day may be counted that is not a whole one."""
    policy = night.policy.forget
    before = days_before(night.now, max(policy.older_than_days - 1, 0))
    return Both((slight(policy), Compare("created_at", "lte", before, field=True)))


def _deed(one: Faded, night: Night) -> Deed:
    change = Revise(
        id=one.id,
        changes={"state": State.ARCHIVED},
        verb=VERB,
        at=night.now,
        actor=ACTOR,
        reason=one.why,
        expected=one.version,
    )
    return Deed(what="archive", why=one.why, about=(one.id,), actions=(change,), takes=1)
