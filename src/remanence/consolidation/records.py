"""Memories as sleep reads them: by id, or a partition's active ones with vectors, in blocks."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby, islice

import numpy as np

from remanence.errors import NotFound
from remanence.knowledge.claims import CALLER
from remanence.model.embedding import Fingerprint, FloatArray, restored
from remanence.model.memory import Kind, MemoryRecord, Revision, State
from remanence.model.ports.store import Store
from remanence.model.query import ALL
from remanence.model.scope import Reach

ACTIVE_KINDS = frozenset(Kind) - {Kind.SUMMARY}
_AT_ONCE, _BLOCK = 500, 4_096


def records_of(store: Store, tenant: str, ids: Iterable[str]) -> Iterator[MemoryRecord]:
    """The memories with these ids that are there, read some at a time."""
    wanted = iter(dict.fromkeys(ids))
    while some := list(islice(wanted, _AT_ONCE)):
        yield from store.archive.get(tenant, some)


def past_of(store: Store, tenant: str, id: str) -> list[Revision]:
    """All that became of a memory; nothing if it is gone."""
    try:
        return store.archive.history(tenant, id)
    except NotFound:
        return []


def in_reach(
    store: Store, partition: int, reach: Reach, kinds: Container[str] = ACTIVE_KINDS
) -> Iterator[int]:
    """Keys of the active memories of these kinds that the reach covers, in order."""
    for trait in store.recall.traits(partition):
        if (
            trait.state == State.ACTIVE
            and trait.kind in kinds
            and reach.agent_id in (None, trait.agent)
            and reach.session_id in (None, trait.session)
        ):
            yield trait.key


def read(
    store: Store, partition: int, keys: Iterable[int], together: int = 512
) -> Iterator[tuple[int, MemoryRecord]]:
    """The records of these keys that are still active, so many in hand at a time."""
    wanted = iter(keys)
    while block := list(islice(wanted, together)):
        found = store.recall.records(partition, block)
        for key in block:
            if key in found and found[key].state == State.ACTIVE:
                yield key, found[key]


def vouched_for(store: Store, tenant: str, ids: Sequence[str]) -> set[str]:
    """Those of the memories that a caller named as the source of a fact.

    Such a fact rests while its memory does, so the memory has to stay.
    """
    everybody = Reach(tenant=tenant, all_users=True)
    found: set[str] = set()
    for start in range(0, len(ids), _AT_ONCE):
        claims = store.knowledge.claims(
            everybody, memories=ids[start : start + _AT_ONCE], limit=ALL
        )
        found |= {one.memory for one in claims if one.origin == CALLER and one.memory}
    return found


def vectors_of(
    store: Store, fingerprint: Fingerprint | None, partition: int, keys: Sequence[int]
) -> dict[int, FloatArray]:
    """A unit vector for each memory that has pieces: their mean.

    The mean, because a text cut elsewhere has other pieces that add up to much the same, while its
    best pieces would be alike even where the rest of it differs.
    """
    if fingerprint is None or not keys:
        return {}
    pieces = store.vectors.pieces(fingerprint, partition, keys)
    return dict(means((piece.key, piece.vector) for piece in pieces))


def blocks(
    store: Store, fingerprint: Fingerprint, partition: int
) -> Iterator[tuple[list[int], FloatArray]]:
    """Keys and unit vectors of a whole partition, so many memories at a time."""
    scanned = store.vectors.scan(fingerprint, partition)
    found = means((key, vector) for key, _, vector in scanned)
    while block := list(islice(found, _BLOCK)):
        yield [key for key, _ in block], np.stack([vector for _, vector in block])


def means(pieces: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, FloatArray]]:
    """The mean of each key's vectors, of length 1; pieces come by key."""
    for key, found in groupby(pieces, key=lambda piece: piece[0]):
        total = restored([vector for _, vector in found]).sum(axis=0)
        length = float(np.linalg.norm(total))
        if length > 0:
            yield key, np.asarray(total / length, np.float32)
