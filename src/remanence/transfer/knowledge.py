"""Knowledge on the move: the source's beside the target's, and what a copy does about each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from remanence.errors import NotFound
from remanence.model.knowledge import Claim, Entity, Mention
from remanence.model.scope import Reach
from remanence.ports.store import Knowledge
from remanence.store.claims import told_again
from remanence.transfer.deciding import Step
from remanence.transfer.entries import item_digest

Known: TypeAlias = Entity | Claim | Mention
Pair: TypeAlias = tuple[Known, Known | None]

BATCH = 500
MANY = 10**6  # an id may stand for something of each user
_SHORT = (1 << 64) - 1


def paired_knowledge(source: Knowledge, target: Knowledge, tenant: str) -> Iterator[list[Pair]]:
    """All that the source knows, in batches, each with what the target has in its place."""
    seen = _seen(target, tenant)
    scanned = source.scan_knowledge(tenant)
    while batch := list(islice(scanned, BATCH)):
        alike = _among(np.array([_short(one) for one in batch], np.uint64), seen)
        other = [one for one, same in zip(batch, alike, strict=True) if not same]
        theirs = _in_place_of(target, tenant, other)
        yield [
            (one, one if same else theirs.get(_place(one)))
            for one, same in zip(batch, alike, strict=True)
        ]


def decide_knowledge(mine: Known, theirs: Known | None, *, overwrite: bool = False) -> Step:
    """What makes the target's as the source's; an entity is told of again, a claim never changes.

    An entity that the target met by itself has its own name and creation there.
    """
    if theirs is None:
        return Step.ADD
    if mine == theirs:
        return Step.PASS
    if isinstance(mine, Entity) and isinstance(theirs, Entity):
        if told_again(theirs, mine) != theirs:
            return Step.REPLACE
        is_own = theirs.created_at != mine.created_at or theirs.name == mine.name
        return Step.PASS if is_own else Step.KEEP
    return Step.REPLACE if overwrite else Step.KEEP


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


def digest_of_known(one: Known) -> int:
    """128 bits of it."""
    return item_digest(what_of(one), id_of(one), one)


def what_of(one: Known) -> str:
    """What sort of knowledge it is, as people are told of it."""
    return type(one).__name__.lower()


def id_of(one: Known) -> str:
    """How it is named; a mention by its memory."""
    return one.memory if isinstance(one, Mention) else one.id


def found_in(one: Known) -> str | None:
    """The memory it was found in, if it was found."""
    return None if isinstance(one, Entity) else one.memory


def _knows(
    store: Knowledge, tenant: str, claims: Sequence[Claim], mentions: Sequence[Mention]
) -> bool:
    with suppress(NotFound):
        store.know(tenant, [], claims, mentions)
        return True
    return False


def _seen(store: Knowledge, tenant: str) -> NDArray[np.uint64]:
    """Short digests of all that a store knows, in order; mentions cannot be asked for by memory."""
    found = np.fromiter(map(_short, store.scan_knowledge(tenant)), np.uint64)
    found.sort()
    return found


def _among(digests: NDArray[np.uint64], seen: NDArray[np.uint64]) -> NDArray[np.bool_]:
    if not len(seen):
        return np.zeros(len(digests), np.bool_)
    at = np.searchsorted(seen, digests)
    alike: NDArray[np.bool_] = seen[np.minimum(at, len(seen) - 1)] == digests
    return alike


def _short(one: Known) -> int:
    return digest_of_known(one) & _SHORT


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
