"""Erasing what the layers keep of a scope: blocks, sessions, working memory, snapshots."""

from __future__ import annotations

from collections.abc import Iterator

from remanence.layers.sessions import Sessions
from remanence.model.document import Address, Discard, Shelf
from remanence.model.scope import Reach
from remanence.ports.store import Documents

CHUNK = 500
NAMED_BY_SESSION = (Shelf.SESSION, Shelf.CONVERSATION)


def erase_documents(store: Documents, sessions: Sessions, reach: Reach) -> None:
    """Erase every document in reach, in small transactions; sessions leave their cache too."""
    for shelf in Shelf:
        while found := store.shelved(reach, shelf, limit=CHUNK):
            _discard(store, sessions, reach.tenant, [one.address for one in found])
    _discard(store, sessions, reach.tenant, list(_of_session(reach)))


def _discard(store: Documents, sessions: Sessions, tenant: str, addresses: list[Address]) -> None:
    store.put(tenant, [Discard(address=address) for address in addresses])
    for address in addresses:
        if address.shelf is Shelf.SESSION:
            sessions.erase(address.name, user_id=address.user_id)


def _of_session(reach: Reach) -> Iterator[Address]:
    """What a session names rather than holds; only its own user's, so not with `all_users`."""
    if reach.session_id is not None and not reach.all_users:
        for shelf in NAMED_BY_SESSION:
            yield Address(shelf=shelf, name=reach.session_id, user_id=reach.user_id)
