"""What merging does to a group: one stays for all, the others are archived; who came back stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from remanence.consolidation.merges.groups import Member
from remanence.consolidation.records import past_of
from remanence.consolidation.run_log import UNDONE, failed_by
from remanence.consolidation.steps import changed, linked
from remanence.model.memory import Revision, State
from remanence.model.ports.store import Store
from remanence.model.sleep import Deed, Night
from remanence.model.write import Moved, Revise

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
            links=tuple(linked(one.id, survivor.id, MERGED_INTO, night) for one in part),
            moved=tuple(_moved(survivor, part)),
        )


def _survives(
    store: Store, night: Night, survivor: Member, others: Sequence[Member], why: str
) -> Revise:
    everyone = [survivor, *others]
    trusted = [one.importance for one in everyone if one.trust >= survivor.trust]
    importance = round(min(1.0, max(trusted) * GAIN), 6)
    metadata = {**survivor.metadata, MERGED: len(_told_by(store, night.reach.tenant, everyone))}
    return changed(survivor, "gathered", why, night, importance=importance, metadata=metadata)


def _gives(night: Night, one: Member, survivor: Member, why: str) -> Revise:
    into = survivor.id
    return changed(one, _GAVE_WAY, why, night, state=State.ARCHIVED, superseded_by=into)


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
            originals = store.archive.get(tenant, sorted(_told_by(store, tenant, [one])))
            found[one.id] = min((it.happened_at for it in originals), default=one.happened_at)
    return found


def _told_by(store: Store, tenant: str, members: Sequence[Member]) -> set[str]:
    """Their ids and those of all that was ever merged into them."""
    known = {one.id for one in members}
    frontier = [one.id for one in members if MERGED in one.metadata]
    while frontier:
        found = store.links.pointing(tenant, frontier, MERGED_INTO)
        frontier = [id for id in found if id not in known]
        known.update(frontier)
    return known


_GAVE_WAY = "merged"  # the verb of what was merged into another
_BY_ITSELF = "unmerged"  # what it was merged into went, which says nothing against the merge


def brought_back(store: Store, tenant: str, members: Iterable[Member]) -> set[str]:
    """Those that were merged and came back by somebody's will, with the text they have now."""
    return {
        one.id
        for one in members
        if one.version > 2 and _was_wanted(store, tenant, past_of(store, tenant, one.id))
    }


def _was_wanted(store: Store, tenant: str, past: Sequence[Revision]) -> bool:
    for at, merged in enumerate(past):
        after = past[at + 1 :]
        if merged.verb != _GAVE_WAY or any("text" in one.before for one in after):
            continue
        back = next((one for one in after if "state" in one.before), None)
        if back is not None and not _happened_by_itself(store, tenant, back):
            return True
    return False


def _happened_by_itself(store: Store, tenant: str, back: Revision) -> bool:
    """Whether nobody asked for it: a run that fails takes back what it did."""
    if back.verb != UNDONE:
        return back.verb == _BY_ITSELF
    return failed_by(store.documents, tenant, back)
