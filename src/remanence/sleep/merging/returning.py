"""Memories that somebody brought back after they were merged: an undo lasts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from remanence.errors import NotFound
from remanence.model.document import Address, Shelf
from remanence.model.memory import Revision
from remanence.model.sleep import Status
from remanence.ports.store import Store
from remanence.sleep.merging.members import Member

MERGED = "merged"  # the verb of the memory that gave way
_UNDONE = "undone"
_BY_ITSELF = "unmerged"  # what it was merged into went, which says nothing against the merge


def brought_back(store: Store, tenant: str, members: Iterable[Member]) -> set[str]:
    """Those that were merged and came back by somebody's will, with the text they have now."""
    return {
        one.id
        for one in members
        if one.version > 2 and _was_wanted(store, tenant, _past(store, tenant, one.id))
    }


def _was_wanted(store: Store, tenant: str, past: Sequence[Revision]) -> bool:
    for at, merged in enumerate(past):
        after = past[at + 1 :]
        if merged.verb != MERGED or any("text" in one.before for one in after):
            continue
        back = next((one for one in after if "state" in one.before), None)
        if back is not None and not _happened_by_itself(store, tenant, back):
            return True
    return False


def _happened_by_itself(store: Store, tenant: str, back: Revision) -> bool:
    """Whether nobody asked for it: a run that fails takes back what it did."""
    if back.verb != _UNDONE:
        return back.verb == _BY_ITSELF
    run = (back.reason or "").removeprefix("run ")
    found = store.documents(tenant, [Address(shelf=Shelf.RUN, name=run)])
    return bool(found) and found[0].value.get("status") == Status.FAILED


def _past(store: Store, tenant: str, id: str) -> list[Revision]:
    try:
        return store.history(tenant, id)
    except NotFound:
        return []
