"""Erasing what the layers keep of a scope: blocks, sessions, working memory, snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from remanence.layers.sessions import Sessions
from remanence.layers.snapshots.section import NAMED_BY_SESSION, is_copy, session_of, within
from remanence.model.document import Address, Discard, Document, Shelf
from remanence.model.ports.store import Documents
from remanence.model.scope import Reach

# Snapshots come last: one that is being taken looks again whether what it copied is still there.
SHELVES = (
    *(Shelf.BLOCK, Shelf.USER, Shelf.CONVERSATION, Shelf.SESSION),
    *(Shelf.WORKING, Shelf.SNAPSHOT),
)


CHUNK = 500


def erase_documents(
    store: Documents, sessions: Sessions | None, reach: Reach, until: datetime | None = None
) -> int:
    """Erase every document in reach, in small transactions; sessions leave their cache too.

    With `until`, those made later stay. How many went.
    """
    gone = 0
    for shelf in SHELVES:
        while erased := _erase(store, sessions, reach, shelf, until):
            gone += erased
    one_session = reach.session_id is not None and not reach.agent_id and not reach.all_users
    if sessions is not None and one_session and until is None:
        sessions.erase(str(reach.session_id), user_id=reach.user_id)
    return gone


def erase_copies(store: Documents, tenant: str, originals: Iterable[Address]) -> None:
    """Erase what snapshots keep of sessions, items and notes that were erased themselves.

    Blocks are not copied. Call it after the originals are gone, also when they were gone before.
    """
    for original in originals:
        reach = Reach(tenant=tenant, user_id=original.user_id, session_id=session_of(original))
        while found := _copies(store, reach, original):
            store.put(tenant, [Discard(address=address) for address in found])


def _copies(store: Documents, reach: Reach, original: Address) -> list[Address]:
    found = store.walk_shelf(reach, Shelf.SNAPSHOT)
    return [one.address for one in found if is_copy(one.address, original)]


def _erase(
    store: Documents,
    sessions: Sessions | None,
    reach: Reach,
    shelf: Shelf,
    until: datetime | None,
) -> int:
    """Erase what a shelf holds of the reach; how many documents."""
    erased, found = 0, _among(store, reach, shelf)
    old = (one for one in found if until is None or one.created_at <= until)
    mine = (one.address for one in old if within(one, reach))
    while some := list(islice(mine, CHUNK)):
        _discard(store, sessions, reach.tenant, some)
        erased += len(some)
    return erased


def _among(store: Documents, reach: Reach, shelf: Shelf) -> Iterable[Document]:
    """Documents among which are the reach's: agent and session are not all in addresses."""
    named = shelf in NAMED_BY_SESSION
    if named and reach.session_id is not None and not reach.all_users:
        address = Address(shelf=shelf, name=reach.session_id, user_id=reach.user_id)
        return store.get(reach.tenant, [address])
    wide = replace(
        reach,
        agent_id=reach.agent_id if shelf is Shelf.BLOCK else None,
        session_id=None if named else reach.session_id,
    )
    return store.walk_shelf(wide, shelf)


def _discard(
    store: Documents, sessions: Sessions | None, tenant: str, addresses: Sequence[Address]
) -> None:
    if addresses:
        store.put(tenant, [Discard(address=address) for address in addresses])
    for address in addresses:
        if sessions is not None and address.shelf is Shelf.SESSION:
            sessions.erase(address.name, user_id=address.user_id)
