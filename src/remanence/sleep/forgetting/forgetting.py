"""Forgetting: archives what has faded, the weakest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from remanence.layers.cleanup import days_before
from remanence.model.filter import Both, Compare, Filter
from remanence.model.memory import HALF, State
from remanence.model.sleep import Deed, Night, Plan, Step
from remanence.model.write import Revise
from remanence.ports.store import Progress, Store
from remanence.sleep.forgetting.candidates import ACTIVE, allowance, candidates, slight
from remanence.sleep.forgetting.strength import forgettable, reason_of, strength_at, trace_of

ACTOR = "sleep"
VERB = "faded"


class Faded(NamedTuple):
    """A memory that the rule lets go; they sort the weakest first, then the longest untouched.

    Those trusted less than by half are `doubted`, and go after the others."""

    strength: float
    touched: float
    id: str
    version: int
    why: str
    doubted: bool


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
        active = self._store.count(reach, ACTIVE)
        trusted = self._store.count(replace(reach, min_trust=HALF), ACTIVE)
        faded = self._faded(night, looked, found, progress)
        room = allowance(cap, active) + 1
        weakest = heapq.nsmallest(room, faded, key=lambda one: (one.doubted, one))
        # Whoever is trusted less neither uses up the room of the others nor makes more of it.
        own = room if trusted == active else allowance(cap, trusted)
        weakest = [one for n, one in enumerate(weakest) if one.doubted or n < own]
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
                    record.trust < HALF,
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
