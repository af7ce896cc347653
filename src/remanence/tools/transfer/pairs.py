"""What a copy of a store goes through: all of the source's beside what the target has in its place.

Links, feedback and mentions cannot be asked for by memory, so the target's are read once per batch
of the source's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Generic, TypeAlias, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from remanence.errors import NotFound, StoreBusy
from remanence.model.clock import SystemClock
from remanence.model.document import OF_A_SERVER, Address, Document, Edition
from remanence.model.knowledge import Claim, Entity, Mention
from remanence.model.memory import Association, Feedback, Metadata
from remanence.model.ports.store import Documents, Knowledge, Store
from remanence.model.scope import Reach
from remanence.model.write import Batch
from remanence.store.claims import told_again
from remanence.tools.transfer.entries import (
    DIGESTS,
    TRIES,
    CopyStep,
    EntryReader,
    StoredEntry,
    decide,
    item_digest,
)

LINKS = 20_000
KNOWN = 500
DOCUMENTS = 200
DOCUMENT_BYTES = 4_000_000
MANY = 10**6  # an id may stand for something of each user
_SHORT = (1 << 64) - 1

Known: TypeAlias = Entity | Claim | Mention
Standing: TypeAlias = tuple[Document, tuple[Edition, ...]]
T = TypeVar("T", StoredEntry, Association, Feedback, Known, Standing)


@dataclass(frozen=True, slots=True)
class Pair(Generic[T]):
    """One thing of the source's, what the target has in its place, and what to do about it."""

    what: str  # as in `Difference`
    id: str
    mine: T
    theirs: T | None
    step: CopyStep


@dataclass(frozen=True, slots=True)
class Pairs:
    """All that a tenant has in the source, batch by batch; with `overwrite` nothing is kept."""

    source: Store
    target: Store
    tenant: str
    overwrite: bool = False

    def memories(self) -> Iterator[list[Pair[StoredEntry]]]:
        """Every memory with its history and pieces."""
        embedders = self.source.vectors.embedders()
        reader = EntryReader(self.target, self.tenant, embedders)
        for batch in EntryReader(self.source, self.tenant, embedders).batches():
            theirs = reader.read(batch)
            yield [self._memory(one, theirs.get(id)) for id, one in batch.items()]

    def _memory(self, mine: StoredEntry, theirs: StoredEntry | None) -> Pair[StoredEntry]:
        step = decide(mine, theirs, overwrite=self.overwrite)
        return Pair("memory", mine.record.id, mine, theirs, step)

    def links(self) -> Iterator[list[Pair[Association]]]:
        """Every link, and what the target has between the same two of that type."""
        links = self.source.links.scan(self.tenant)
        while batch := {_ends(link): link for link in islice(links, LINKS)}:
            scanned = self.target.links.scan(self.tenant)
            theirs = {_ends(link): link for link in scanned if _ends(link) in batch}
            yield [self._link(link, theirs.get(ends)) for ends, link in batch.items()]

    def _link(self, mine: Association, theirs: Association | None) -> Pair[Association]:
        step = CopyStep.REPLACE
        if theirs is None or mine == theirs:
            step = CopyStep.ADD if theirs is None else CopyStep.PASS
        elif theirs.created_at > mine.created_at and not self.overwrite:
            step = CopyStep.KEEP
        return Pair("link", mine.source, mine, theirs, step)

    def feedback(self) -> Iterator[list[Pair[Feedback]]]:
        """Every feedback; the target has it if it has it as often as the source."""
        for batch in _by_memory(self.source.archive.feedback(self.tenant)):
            wanted = set(batch)
            scanned = self.target.archive.feedback(self.tenant)
            there = Counter(one for one in scanned if one in wanted)
            pairs = []
            for one in batch:
                there[one] -= 1
                step = CopyStep.PASS if there[one] >= 0 else CopyStep.ADD
                pairs.append(Pair("feedback", one.id, one, None, step))
            yield pairs

    def knowledge(self) -> Iterator[list[Pair[Known]]]:
        """All that the source knows."""
        seen = _seen(self.target.knowledge, self.tenant)
        scanned = self.source.knowledge.scan(self.tenant)
        while batch := list(islice(scanned, KNOWN)):
            alike = _among(np.array([_short(one) for one in batch], np.uint64), seen).tolist()
            other = [one for one, same in zip(batch, alike, strict=True) if not same]
            theirs = _in_place_of(self.target.knowledge, self.tenant, other)
            yield [
                self._known(one, one if same else theirs.get(_place(one)))
                for one, same in zip(batch, alike, strict=True)
            ]

    def _known(self, mine: Known, theirs: Known | None) -> Pair[Known]:
        step = decide_knowledge(mine, theirs, overwrite=self.overwrite)
        return Pair(type(mine).__name__.lower(), id_of(mine), mine, theirs, step)

    def documents(self) -> Iterator[list[Pair[Standing]]]:
        """Every document with its editions."""
        for mine in batches(self.source.documents, self.tenant):
            yield self.standing(mine)

    def standing(self, mine: Mapping[Address, Standing]) -> list[Pair[Standing]]:
        """These documents beside the target's as they are now."""
        theirs = _standing_at(self.target.documents, self.tenant, list(mine))
        return [
            Pair(
                "document",
                named(address),
                one,
                theirs.get(address),
                decide_document(one, theirs.get(address), overwrite=self.overwrite),
            )
            for address, one in mine.items()
        ]


def digest_of(one: StoredEntry | Association | Feedback | Known | Standing) -> int:
    """128 bits of all of it."""
    match one:
        case StoredEntry():
            return one.digest
        case Association():
            return item_digest("link", one.source, one)
        case Feedback():
            return item_digest("feedback", one.id, one)
        case Entity() | Claim() | Mention():
            return item_digest(type(one).__name__.lower(), id_of(one), one)
        case (document, editions):
            name = document.address.name
            items = [item_digest("edition", name, edition) for edition in editions]
            return (item_digest("document", name, document) + sum(items)) % DIGESTS


def put_links(store: Store, tenant: str, links: Sequence[Association]) -> int:
    """Put links together, or one by one where an end is missing; how many were put."""
    if not links:
        return 0
    batch = Batch(tenant=tenant, at=SystemClock().now(), actions=(), links=tuple(links))
    try:
        store.archive.write(batch)
    except NotFound:
        return sum(put_links(store, tenant, [one]) for one in links) if len(links) > 1 else 0
    return len(links)


def _by_memory(feedback: Iterator[Feedback]) -> Iterator[list[Feedback]]:
    """Batches that part no memory's feedback, so that what is there twice is counted together."""
    batch: list[Feedback] = []
    for _, of_one in groupby(feedback, key=lambda one: one.id):
        batch += of_one
        if len(batch) >= LINKS:
            yield batch
            batch = []
    if batch:
        yield batch


def _ends(link: Association) -> tuple[str, str, str]:
    return link.source, link.type, link.target


def batches(store: Documents, tenant: str) -> Iterator[dict[Address, Standing]]:
    """Every document of the tenant with its editions, in batches that are not too large.

    Keys and the audit log are left out: they hold for the store they were made in alone.
    """
    held: dict[Address, Standing] = {}
    size = 0
    for document, editions in store.scan(tenant):
        if document.address.shelf in OF_A_SERVER:
            continue
        held[document.address] = (document, editions)
        size += _size(document.value) + sum(_size(one.value) for one in editions)
        if len(held) >= DOCUMENTS or size >= DOCUMENT_BYTES:
            yield held
            held, size = {}, 0
    if held:
        yield held


def _size(value: Metadata) -> int:
    return len(orjson.dumps(dict(value)))


def _standing_at(
    store: Documents, tenant: str, addresses: Sequence[Address]
) -> dict[Address, Standing]:
    """The documents that are there; one that changed while it was read is read again."""
    found: dict[Address, Standing] = {}
    for _ in range(TRIES):
        before = store.get(tenant, addresses)
        read = {one.address: (one, tuple(store.editions(tenant, one.address))) for one in before}
        after = {one.address: one.version for one in store.get(tenant, list(read))}
        found |= {at: one for at, one in read.items() if after.get(at) == one[0].version}
        addresses = [at for at in read if at not in found and at in after]
        if not addresses:
            return found
    raise StoreBusy(f"The {named(addresses[0])} changes faster than it can be read; try again.")


def decide_document(
    mine: Standing, theirs: Standing | None, *, overwrite: bool = False
) -> CopyStep:
    """What makes the target's document as the source's, unless the target's moved on by itself."""
    if theirs is None:
        return CopyStep.ADD
    if digest_of(mine) == digest_of(theirs):
        return CopyStep.PASS
    return CopyStep.REPLACE if overwrite or _has_gone_on(mine, theirs) else CopyStep.KEEP


def _has_gone_on(mine: Standing, theirs: Standing) -> bool:
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


def decide_knowledge(mine: Known, theirs: Known | None, *, overwrite: bool = False) -> CopyStep:
    """What makes the target's as the source's; an entity is told of again, a claim never changes.

    An entity that the target met by itself has its own name and creation there.
    """
    if theirs is None:
        return CopyStep.ADD
    if mine == theirs:
        return CopyStep.PASS
    if isinstance(mine, Entity) and isinstance(theirs, Entity):
        if told_again(theirs, mine) != theirs:
            return CopyStep.REPLACE
        is_own = theirs.created_at != mine.created_at or theirs.name == mine.name
        return CopyStep.PASS if is_own else CopyStep.KEEP
    return CopyStep.REPLACE if overwrite else CopyStep.KEEP


def know_all(
    store: Knowledge,
    tenant: str,
    entities: Sequence[Entity],
    claims: Sequence[Claim],
    mentions: Sequence[Mention],
) -> tuple[int, int]:
    """Add all of it together, or one by one where something named is missing.

    How many claims and mentions could not be added.
    """
    with suppress(NotFound):
        store.know(tenant, entities, claims, mentions)
        return 0, 0
    store.know(tenant, entities)
    lost = sum(not _knows(store, tenant, [claim], []) for claim in claims)
    return lost, sum(not _knows(store, tenant, [], [mention]) for mention in mentions)


def replaced(source: Knowledge, target: Knowledge, tenant: str, claims: Sequence[Claim]) -> None:
    """Make room for the source's claims in the place of the target's of the same ids."""
    target.unknow(tenant, [claim.id for claim in claims])
    named = [id for claim in claims for id in (claim.subject, claim.object) if id is not None]
    every = Reach(tenant=tenant, all_users=True)
    target.know(tenant, source.entities(every, named, limit=MANY))


def id_of(one: Known) -> str:
    """How it is named; a mention by its memory."""
    return one.memory if isinstance(one, Mention) else one.id


def found_in(one: object) -> str | None:
    """The memory that knowledge was found in, if it is that and was found."""
    return one.memory if isinstance(one, Claim | Mention) else None


def _knows(
    store: Knowledge, tenant: str, claims: Sequence[Claim], mentions: Sequence[Mention]
) -> bool:
    with suppress(NotFound):
        store.know(tenant, [], claims, mentions)
        return True
    return False


def _seen(store: Knowledge, tenant: str) -> NDArray[np.uint64]:
    """Short digests of all that a store knows, in order; mentions cannot be asked for by memory."""
    found = np.fromiter(map(_short, store.scan(tenant)), np.uint64)
    found.sort()
    return found


def _among(digests: NDArray[np.uint64], seen: NDArray[np.uint64]) -> NDArray[np.bool_]:
    if not len(seen):
        return np.zeros(len(digests), np.bool_)
    at = np.searchsorted(seen, digests)
    alike: NDArray[np.bool_] = seen[np.minimum(at, len(seen) - 1)] == digests
    return alike


def _short(one: Known) -> int:
    return digest_of(one) & _SHORT


def _in_place_of(
    store: Knowledge, tenant: str, some: Sequence[Known]
) -> dict[tuple[type, str | None, str], Known]:
    """The entities and claims of the same users and ids; a mention that differs is not there."""
    every = Reach(tenant=tenant, all_users=True)
    named = [one.id for one in some if isinstance(one, Entity)]
    said = [one.id for one in some if isinstance(one, Claim)]
    found: list[Known] = []
    if named:
        found += store.entities(every, named, limit=MANY)
    if said:
        found += store.claims(every, ids=said, limit=MANY)
    return {_place(one): one for one in found}


def _place(one: Known) -> tuple[type, str | None, str]:
    if isinstance(one, Mention):
        return Mention, one.memory, one.entity
    return type(one), one.user_id, one.id
