"""Documents on the move: read with their editions, compared, and what a copy does about each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import orjson

from remanence.errors import StoreBusy
from remanence.model.document import OF_A_SERVER, Address, Document, Edition
from remanence.model.memory import Metadata
from remanence.ports.store import Documents
from remanence.transfer.deciding import Step
from remanence.transfer.entries import DIGESTS, TRIES, item_digest

BATCH = 200
BATCH_BYTES = 4_000_000

Standing: TypeAlias = tuple[Document, tuple[Edition, ...]]


def batches(store: Documents, tenant: str) -> Iterator[dict[Address, Standing]]:
    """Every document of the tenant with its editions, in batches that are not too large.

    Keys and the audit log are left out: they hold for the store they were made in alone.
    """
    held: dict[Address, Standing] = {}
    size = 0
    for document, editions in store.scan_documents(tenant):
        if document.address.shelf in OF_A_SERVER:
            continue
        held[document.address] = (document, editions)
        size += _size(document.value) + sum(_size(one.value) for one in editions)
        if len(held) >= BATCH or size >= BATCH_BYTES:
            yield held
            held, size = {}, 0
    if held:
        yield held


def _size(value: Metadata) -> int:
    return len(orjson.dumps(dict(value)))


def standing_at(
    store: Documents, tenant: str, addresses: Sequence[Address]
) -> dict[Address, Standing]:
    """The documents that are there; one that changed while it was read is read again."""
    found: dict[Address, Standing] = {}
    for _ in range(TRIES):
        before = store.documents(tenant, addresses)
        read = {one.address: (one, tuple(store.editions(tenant, one.address))) for one in before}
        after = {one.address: one.version for one in store.documents(tenant, list(read))}
        found |= {at: one for at, one in read.items() if after.get(at) == one[0].version}
        addresses = [at for at in read if at not in found and at in after]
        if not addresses:
            return found
    raise StoreBusy(f"The {named(addresses[0])} changes faster than it can be read; try again.")


def document_digest(standing: Standing) -> int:
    """The sum of the digests of a document and its editions."""
    document, editions = standing
    name = document.address.name
    items = [item_digest("document", name, document)]
    items += [item_digest("edition", name, one) for one in editions]
    return sum(items) % DIGESTS


def decide_document(mine: Standing, theirs: Standing | None, *, overwrite: bool = False) -> Step:
    """What makes the target's document as the source's, unless the target's moved on by itself."""
    if theirs is None:
        return Step.ADD
    if document_digest(mine) == document_digest(theirs):
        return Step.PASS
    return Step.REPLACE if overwrite or _has_moved_on(mine, theirs) else Step.KEEP


def _has_moved_on(mine: Standing, theirs: Standing) -> bool:
    """Whether the source's is the target's with further changes.

    Without editions there is only the count of changes to go by, so the later one wins.
    """
    ours, other = mine[0], theirs[0]
    if ours.created_at != other.created_at or ours.updated_at < other.updated_at:
        return False
    return ours.version > other.version and mine[1][: len(theirs[1])] == theirs[1]


def named(address: Address) -> str:
    """A document as people are told of it."""
    owner = {"user": address.user_id, "agent": address.agent_id, "session": address.session_id}
    told = ", ".join(f"{what} {name}" for what, name in owner.items() if name is not None)
    return f"{address.shelf} {address.name}" + (f" ({told})" if told else "")
