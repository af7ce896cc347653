"""Which memories forgetting may look at, and which are exempt from it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from remanence.model.filter import Both, Compare, Filter, Not
from remanence.model.memory import MemoryRecord, State
from remanence.model.origins import STATED as USER
from remanence.model.scope import Reach
from remanence.model.sleep import ForgetPolicy, Night
from remanence.ports.store import Progress, Store
from remanence.remember.lineage import sheltering
from remanence.sleep.forgetting.days import DERIVED, Days, days_for

CHUNK = 500

ACTIVE = Compare("state", "eq", State.ACTIVE, field=True)
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
    partitions = store.partitions(night.reach)
    for number, partition in enumerate(partitions, 1):
        keys = [int(key) for key in store.keys(partition, where)]
        days = days_for(store, partition, night.policy.forget) if keys else None
        for at in range(0, len(keys), CHUNK):
            records = store.records(partition, keys[at : at + CHUNK]).values()
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
