"""Entities, claims and mentions on their way into the tables, and what goes away behind them.

Whoever changes knowledge holds its partitions first, so no two are at the same entity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from remanence.errors import InvalidInput
from remanence.model.knowledge import Claim, Entity, Learnt
from remanence.store.claims import (
    claim_values,
    entity_as_read,
    entity_of,
    entity_values,
    knowledge_id,
    no_entity,
    no_memory,
    rests_from,
    told_again,
)
from remanence.store.core.database import Session
from remanence.store.rows import Owner, Row, packed_id, spelled_id

Place: TypeAlias = tuple[int, bytes]  # partition and id


class Memory(NamedTuple):
    """A memory as far as what it says depends on it."""

    key: int
    partition: int
    counts: int
    updated_at: int
    version: int = 0


class Telling(ABC):
    """What one transaction adds, each with its partition; memories are named by key.

    With `only_named`, new entities that were found and that nothing here speaks of are left out.
    """

    def __init__(
        self, session: Any, tenant: str, digest_key: bytes, *, only_named: bool = False
    ) -> None:
        self._session = session
        self._tenant = tenant
        self._key = digest_key
        self._only_named = only_named
        self.entities: list[tuple[int, Entity]] = []
        self.mentions: list[tuple[int, int, str]] = []
        self.claims: list[tuple[int, int | None, int | None, Claim]] = []

    @abstractmethod
    def _put_entities(self, new: Sequence[Row], changed: Sequence[Row]) -> None:
        """Insert rows of partition and `ENTITY_COLUMNS`; change number, type, given and digest."""

    @abstractmethod
    def _put_mentions(self, rows: Sequence[Row]) -> None:
        """Add partition, memory and the entity's id, unless it is there."""

    @abstractmethod
    def _put_claims(self, rows: Sequence[Row]) -> None:
        """Add partition, ids of subject and object, memory, id and `CLAIM_COLUMNS`, if new."""

    def tell(self, learnt: Learnt, memory: Memory, user: str | None) -> None:
        """Add what was found in a memory of that user."""
        _check(learnt, user)
        at, key = memory.partition, memory.key
        self.entities += [(at, entity) for entity in learnt.entities]
        self.mentions += [(at, key, entity) for entity in learnt.mentions]
        self.claims += [
            (at, key, rests_from(claim, memory.counts, memory.updated_at), claim)
            for claim in learnt.claims
        ]

    def state(
        self, claim: Claim, partitions: Mapping[str, int], memories: Mapping[bytes, Memory]
    ) -> None:
        """Add a claim of a user who has one of these partitions, on one of these memories."""
        partition = partitions.get(claim.user_id or "")
        if partition is None:
            raise no_entity(claim.subject)
        if claim.memory is None:
            self.claims.append((partition, None, rests_from(claim, None, 0), claim))
            return
        memory = known_memory(claim.memory, memories)
        if memory.partition != partition:
            raise no_memory(claim.memory)
        rested = rests_from(claim, memory.counts, memory.updated_at)
        self.claims.append((partition, memory.key, rested, claim))

    def partitions(self) -> list[int]:
        """The partitions of all of it, in order."""
        found = {at for at, _ in self.entities} | {at for at, _, _ in self.mentions}
        return sorted(found | {at for at, *_ in self.claims})

    def run(self) -> None:
        """Add all of it; `NotFound` if something names an entity that is not there."""
        if not (self.entities or self.mentions or self.claims):
            return
        rows = self._rows()
        told = self._told(rows)
        self._check_named({*rows, *told})
        self._put_entities(*self._new_and_changed(rows, told))
        self._put_mentions([(at, key, knowledge_id("entity", id)) for at, key, id in self.mentions])
        self._put_claims([self._claim_row(*one) for one in self.claims])

    def _rows(self) -> dict[Place, Row]:
        """The rows of all entities that are named, as far as they are there."""
        named = {*self._named(), *(_place(at, one.id) for at, one in self.entities)}
        ids = self._session.packed_ids({id for _, id in named})
        partitions = self._session.array_of(sorted({partition for partition, _ in named}))
        found = self._session.rows("entities_by_id", ids=ids, partitions=partitions)
        return {(row[1], row[2]): row for row in found}

    def _named(self) -> Iterable[Place]:
        for partition, _, id in self.mentions:
            yield _place(partition, id)
        for partition, _, _, claim in self.claims:
            yield partition, knowledge_id("subject", claim.subject)
            if claim.object is not None:
                yield partition, knowledge_id("object", claim.object)

    def _told(self, rows: dict[Place, Row]) -> dict[Place, Entity]:
        """The entities told of, as they stand afterwards."""
        told: dict[Place, Entity] = {}
        for partition, entity in self.entities:
            place = _place(partition, entity.id)
            known = told.get(place)
            if known is None and place in rows:
                known = entity_as_read(rows[place], self._owner(entity))
            told[place] = entity if known is None else told_again(known, entity)
        return told

    def _owner(self, entity: Entity) -> Owner:
        return self._tenant, entity.user_id

    def _check_named(self, there: set[Place]) -> None:
        for partition, id in self._named():
            if (partition, id) not in there:
                raise no_entity(spelled_id(id))

    def _new_and_changed(
        self, rows: dict[Place, Row], told: dict[Place, Entity]
    ) -> tuple[list[Row], list[Row]]:
        named = set(self._named())
        new: list[Row] = []
        changed: list[Row] = []
        for place, entity in told.items():
            row = rows.get(place)
            if row is None:
                if entity.given or place in named or not self._only_named:
                    new.append((place[0], *entity_values(entity, self._tenant, self._key)))
            elif entity != entity_as_read(row, self._owner(entity)):
                entity_of(row, self._owner(entity), self._key)  # damage is not signed anew
                values = entity_values(entity, self._tenant, self._key)
                changed.append((row[0], values[3], values[4], values[6]))
        return new, changed

    def _claim_row(
        self, partition: int, memory: int | None, rested: int | None, claim: Claim
    ) -> Row:
        subject = knowledge_id("subject", claim.subject)
        object = None if claim.object is None else knowledge_id("object", claim.object)
        values = claim_values(claim, self._tenant, self._key, rested)
        return (partition, subject, object, memory, *values)


def memories_of(session: Session, ids: Sequence[str]) -> dict[bytes, Memory]:
    """The memories that are named; they cannot change until the end."""
    if not ids:
        return {}
    rows = session.rows("told_memories", ids=session.memory_ids(ids))
    return {id[:16]: Memory(*values) for id, *values in rows}


def known_memory(id: str, memories: Mapping[bytes, Memory]) -> Memory:
    """The one of these memories that has the id, or `NotFound`."""
    memory = memories.get(packed_id(id) or b"")
    if memory is None:
        raise no_memory(id)
    return memory


def erase_silent(session: Session, numbers: Iterable[int]) -> int:
    """Erase those of these entities that nothing is said of any more; how many rows.

    A denial of what nobody says, and a merge with somebody of whom nothing else is known, are
    nothing that is said: they would keep the words of what was erased.
    """
    listed, gone = set(numbers), 0
    if not listed:
        return 0
    for idle in ("erase_idle_denials", "erase_idle_merges"):
        said = session.rows(idle, numbers=session.array_of(sorted(listed)))
        listed |= spoken_of(said)
        gone += len(said)
    gone += len(session.rows("erase_silent_entities", numbers=session.array_of(sorted(listed))))
    session.removed |= gone > 0
    return gone


def spoken_of(claims: Iterable[Row]) -> set[int]:
    """The numbers of entities in rows of partition, subject and object."""
    return {number for _, *ends in claims for number in ends if number is not None}


def _place(partition: int, id: str) -> Place:
    return partition, knowledge_id("entity", id)


def _check(learnt: Learnt, user: str | None) -> None:
    users = {one.user_id for one in learnt.entities} | {one.user_id for one in learnt.claims}
    source = packed_id(learnt.memory)
    if users - {user} or any(packed_id(one.memory or "") != source for one in learnt.claims):
        raise InvalidInput(
            f"What is found in the memory {learnt.memory} belongs to it and to its user; "
            "use `know` for anything else."
        )
