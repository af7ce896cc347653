"""What merging does to a group: one memory stays and stands for all, the others are archived."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from remanence.model.memory import Association, State
from remanence.model.sleep import Deed, Night
from remanence.model.write import Moved, Revise
from remanence.ports.store import Store
from remanence.sleep.merging.members import Member

MERGED_INTO = "merged_into"
MERGED = "remanence.merged"  # in a survivor's metadata: how many memories it stands for
GAIN = 1.1
AT_ONCE = 100  # merged by one deed, which is one transaction
_WHY = "says the same"


def deeds_for(
    store: Store, night: Night, survivor: Member, others: Sequence[Member], why: str = _WHY
) -> Iterator[Deed]:
    """Merge the others into the survivor; more deeds than one only where they are many."""
    first = _survives(store, night, survivor, others, why)
    for start in range(0, len(others), AT_ONCE):
        part = others[start : start + AT_ONCE]
        yield Deed(
            what="merge",
            why=why,
            about=(survivor.id, *(one.id for one in part)),
            actions=(
                *([first] if start == 0 else []),
                *(_gives(night, one, survivor, why) for one in part),
            ),
            links=tuple(_link(night, one, survivor) for one in part),
            moved=tuple(_moved(survivor, part)),
        )


def _survives(
    store: Store, night: Night, survivor: Member, others: Sequence[Member], why: str
) -> Revise:
    everyone = [survivor, *others]
    trusted = [one.importance for one in everyone if one.trust >= survivor.trust]
    importance = min(1.0, max(trusted) * GAIN)
    changes: dict[str, Any] = {
        "importance": round(importance, 6),
        "metadata": {**survivor.metadata, MERGED: _stands_for(store, night, everyone)},
    }
    return Revise(
        id=survivor.id,
        changes=changes,
        verb="gathered",
        at=night.now,
        reason=why,
        expected=survivor.version,
    )


def _gives(night: Night, one: Member, survivor: Member, why: str) -> Revise:
    return Revise(
        id=one.id,
        changes={"state": State.ARCHIVED, "superseded_by": survivor.id},
        verb="merged",
        at=night.now,
        reason=why,
        expected=one.version,
    )


def _link(night: Night, one: Member, survivor: Member) -> Association:
    return Association(
        source=one.id, target=survivor.id, type=MERGED_INTO, strength=1.0, created_at=night.now
    )


def _moved(survivor: Member, others: Sequence[Member]) -> Iterator[Moved]:
    uses = sum(one.uses for one in others)
    if uses:
        last = max((one.used_at for one in others if one.used_at is not None), default=None)
        yield Moved(id=survivor.id, uses=uses, used_at=last)


def told_since(store: Store, tenant: str, members: Sequence[Member]) -> dict[str, datetime]:
    """For those that stand for others, when the first of them happened."""
    found: dict[str, datetime] = {}
    for one in members:
        if MERGED in one.metadata:
            originals = store.get(tenant, sorted(_told_by(store, tenant, [one])))
            found[one.id] = min((it.happened_at for it in originals), default=one.happened_at)
    return found


def _stands_for(store: Store, night: Night, everyone: Sequence[Member]) -> int:
    """How many memories there are in all; counted by links where some were merged before."""
    return len(_told_by(store, night.reach.tenant, everyone))


def _told_by(store: Store, tenant: str, members: Sequence[Member]) -> set[str]:
    """Their ids and those of all that was ever merged into them."""
    known = {one.id for one in members}
    frontier = [one.id for one in members if MERGED in one.metadata]
    while frontier:
        found = store.pointing(tenant, frontier, MERGED_INTO)
        frontier = [id for id in found if id not in known]
        known.update(frontier)
    return known
