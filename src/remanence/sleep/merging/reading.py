"""Reading a partition for sleep: the active memories in reach, their texts a few at a time."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import islice

from remanence.knowledge.facts.drafting import CALLER
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.query import ALL
from remanence.model.scope import Reach
from remanence.ports.store import Store

ACTIVE_KINDS = frozenset(Kind) - {Kind.SUMMARY}
_AT_ONCE, _PAGE = 500, 5_000


def in_reach(
    store: Store, partition: int, reach: Reach, kinds: Container[str] = ACTIVE_KINDS
) -> Iterator[int]:
    """Keys of the active memories of these kinds that the reach covers, in order."""
    for trait in store.traits(partition):
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
        found = store.records(partition, block)
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
        claims = store.claims(everybody, memories=ids[start : start + _AT_ONCE], limit=ALL)
        found |= {one.memory for one in claims if one.origin == CALLER and one.memory}
    return found
