"""Knowledge written inside one transaction: found in memories, stated, resting, swept away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import apsw

from remanence.errors import InvalidInput, NotFound
from remanence.model.knowledge import Claim, Entity, Learnt, Mention
from remanence.store.claims import (
    NO_MEMORY,
    claim_values,
    entity_as_read,
    entity_of,
    entity_values,
    knowledge_id,
    rests_from,
    told_again,
)
from remanence.store.rows import Row, both_ids, packed_id, spelled_id
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.numbers import bound, bound_ids
from remanence.store.sqlite.statements import fetch_all, run, run_many


class _Memory(NamedTuple):
    """A memory as far as what it says depends on it."""

    key: int
    partition: int
    counts: int
    updated_at: int
    version: int


class _Said(NamedTuple):
    """A claim and where it goes."""

    claim: Claim
    partition: int
    memory: _Memory | None


class _Spoken(NamedTuple):
    """A memory speaks of an entity."""

    entity: bytes
    memory: _Memory


class Learning:
    """What one transaction does to entities, claims and mentions of a tenant.

    `erased` tells whether words went. `inserted` are keys of memories that are new, `announced`
    of all that the feed has already.
    """

    def __init__(self, database: Database, connection: apsw.Connection, tenant: str) -> None:
        self._database = database
        self._connection = connection
        self._tenant = tenant
        self._touched: set[int] = set()
        self.inserted: set[int] = set()
        self.announced: set[int] = set()
        self.erased = False

    def learn(self, learnt: Sequence[Learnt]) -> None:
        """Put what memories say in the place of what was found in them before."""
        if not learnt:
            return
        found = self._memories(one.memory for one in learnt)
        given = {packed_id(one.memory): one for one in learnt}
        there = [(one, found[id]) for id, one in given.items() if id is not None and id in found]
        kept = [(one, at) for one, at in there if one.version in (None, at.version)]
        self._replace([pair for pair in kept if pair[1].key not in self.inserted])
        told = [(memory.partition, entity) for one, memory in kept for entity in one.entities]
        for one, memory in kept:
            self._check_owner(one, memory)
        said = [_Said(claim, at.partition, at) for one, at in kept for claim in one.claims]
        spoken = [
            _Spoken(knowledge_id("entity", id), memory)
            for one, memory in kept
            for id in one.mentions
        ]
        numbers = self._put(told, said, spoken)
        named = set(_named(said, spoken))
        self._touched.update(number for place, number in numbers.items() if place not in named)
        self.announce({at.partition for _, at in kept if at.key not in self.announced})

    def know(
        self, entities: Sequence[Entity], claims: Sequence[Claim], mentions: Sequence[Mention]
    ) -> None:
        """Add what is not there yet, or `NotFound`."""
        sources = [claim.memory for claim in claims if claim.memory is not None]
        memories = self._memories([*sources, *(mention.memory for mention in mentions)])
        told = [(self._partition(one.user_id), one) for one in entities]
        said = [self._placed(claim, memories) for claim in claims]
        spoken = [
            _Spoken(knowledge_id("entity", one.entity), _memory_of(one.memory, memories))
            for one in mentions
        ]
        self._put(told, said, spoken)
        partitions = {at for at, _ in told} | {one.partition for one in said}
        self.announce(partitions | {one.memory.partition for one in spoken})

    def leave(self, key: int) -> None:
        """A memory is about to go: what it speaks of may be spoken of no more."""
        self._touch([key])

    def rest(self, key: int, at: int) -> None:
        """What a memory says counts no longer."""
        run(self._connection, "rest_claims", (at, key))

    def wake(self, key: int) -> None:
        """What a memory says counts again."""
        run(self._connection, "wake_claims", (key,))

    def erase_claims(self, rows: Sequence[Row]) -> int:
        """Remove claims, given as key, partition, subject and object; how many."""
        for row in rows:
            self._touched.update(entity for entity in row[2:] if entity is not None)
        return self._erase("delete_claims", [row[0] for row in rows])

    def erase_mentions(self, rows: Sequence[Row]) -> None:
        """Remove mentions, given as memory, entity and partition."""
        self._touched.update(row[1] for row in rows)
        run_many(self._connection, "delete_mention", [row[:2] for row in rows])

    def erase_entities(self, numbers: Sequence[int]) -> int:
        """Remove entities and every claim and mention of them; how many rows."""
        about = fetch_all(self._connection, "claims_about", {"numbers": bound(numbers)})
        gone = self.erase_claims(about)
        gone += self._erase("delete_mentions_of_entities", numbers)
        return gone + self._erase("delete_entities", numbers)

    def sweep(self) -> int:
        """Remove the entities touched that nothing is said of any more; how many rows.

        A denial of what nobody says, and a merge with somebody of whom nothing else is known, are
        nothing that is said: they would keep the words of what was erased.
        """
        gone = 0
        for idle in ("idle_denials", "idle_merges"):
            if self._touched:
                asked = (bound(list(self._touched)),)
                gone += self.erase_claims(fetch_all(self._connection, idle, asked))
        touched, self._touched = self._touched, set()
        return gone + self._erase("delete_unsaid", list(touched))

    def announce(self, partitions: Iterable[int]) -> None:
        """Move the feeds of partitions whose knowledge changed."""
        rows = [(partition, NO_MEMORY) for partition in sorted(partitions)]
        run_many(self._connection, "insert_change", rows)

    def _erase(self, name: str, numbers: Sequence[int]) -> int:
        if not numbers:
            return 0
        run(self._connection, name, (bound(numbers),))
        gone = self._connection.changes()
        self.erased = self.erased or gone > 0
        return gone

    def _touch(self, keys: Sequence[int]) -> None:
        asked = {"numbers": bound(keys)}
        rows = fetch_all(self._connection, "entities_of_memories", asked)
        self._touched.update(number for (number,) in rows)

    def _replace(self, kept: Sequence[tuple[Learnt, _Memory]]) -> None:
        """Clear what was found in these memories before; former texts' claims only retire.

        What callers state of a memory is not found in it, and stays.
        """
        keys = [memory.key for _, memory in kept]
        if not keys:
            return
        self._touch(keys)
        afresh = [memory.key for one, memory in kept if one.afresh]
        self._erase("delete_claims_of_memories", afresh)
        again = [
            (knowledge_id("claim", claim.id), at.key) for one, at in kept for claim in one.claims
        ]
        run_many(self._connection, "delete_claim_of_memory", again)
        retired = [(memory.updated_at, memory.key) for one, memory in kept if not one.afresh]
        run_many(self._connection, "retire_claims", retired)
        run(self._connection, "delete_mentions_of_memories", (bound(keys),))

    def _check_owner(self, one: Learnt, memory: _Memory) -> None:
        _, user = self._database.owner(self._connection, memory.partition)
        users = {entity.user_id for entity in one.entities}
        users |= {claim.user_id for claim in one.claims}
        if users - {user} or any(claim.memory != one.memory for claim in one.claims):
            raise InvalidInput(
                f"What is found in the memory {one.memory} belongs to it and to its user; "
                "use `know` for anything else."
            )

    def _placed(self, claim: Claim, memories: dict[bytes, _Memory]) -> _Said:
        partition = self._database.partition(self._connection, self._tenant, claim.user_id)
        if partition is None:
            raise _no_entity(claim.subject)
        if claim.memory is None:
            return _Said(claim, partition, None)
        memory = _memory_of(claim.memory, memories)
        if memory.partition != partition:
            raise _no_memory(claim.memory)
        return _Said(claim, partition, memory)

    def _put(
        self,
        told: Sequence[tuple[int, Entity]],
        said: Sequence[_Said],
        spoken: Sequence[_Spoken],
    ) -> dict[tuple[int, bytes], int]:
        """Add entities, then claims and mentions; the numbers of all entities named."""
        numbers: dict[tuple[int, bytes], int] = {}
        for partition, named in _wanted(told, said, spoken).items():
            for id, number in self._entities(partition, named).items():
                numbers[partition, id] = number
        self._put_claims(said, numbers)
        mentions = [
            (memory.key, _number(numbers, memory.partition, id), memory.partition)
            for id, memory in spoken
        ]
        run_many(self._connection, "insert_mention", mentions)
        return numbers

    def _put_claims(self, said: Sequence[_Said], numbers: dict[tuple[int, bytes], int]) -> None:
        rows = []
        for claim, partition, memory in said:
            subject = _number(numbers, partition, knowledge_id("subject", claim.subject))
            object = None
            if claim.object is not None:
                object = _number(numbers, partition, knowledge_id("object", claim.object))
            rested = rests_from(claim, memory and memory.counts, memory.updated_at if memory else 0)
            values = claim_values(claim, self._tenant, self._database.digest_key, rested)
            rows.append((partition, subject, object, memory and memory.key, *values))
        run_many(self._connection, "insert_claim", rows)

    def _entities(self, partition: int, named: dict[bytes, Entity | None]) -> dict[bytes, int]:
        """Numbers of the entities with these ids that are there or are told of."""
        asked = (bound_ids(named), partition)
        there = {row[2]: row for row in fetch_all(self._connection, "entities_by_id", asked)}
        told = {id: entity for id, entity in named.items() if entity is not None}
        self._tell_again([(there[id], told[id]) for id in told if id in there])
        key = self._database.digest_key
        new = [
            (partition, *entity_values(entity, self._tenant, key))
            for id, entity in told.items()
            if id not in there
        ]
        numbers = {id: int(row[0]) for id, row in there.items()}
        return numbers | dict(run_many(self._connection, "insert_entity", new))

    def _tell_again(self, pairs: Sequence[tuple[Row, Entity]]) -> None:
        key, rows = self._database.digest_key, []
        for row, told in pairs:
            owner = (self._tenant, told.user_id)
            before = entity_as_read(row, owner)
            if told_again(before, told) is not before:
                after = told_again(entity_of(row, owner, key), told)
                rows.append((*entity_values(after, self._tenant, key), row[0]))
        run_many(self._connection, "update_entity", rows)

    def _memories(self, ids: Iterable[str]) -> dict[bytes, _Memory]:
        packed = {id for id in map(packed_id, ids) if id is not None}
        wanted = {id for each in packed for id in both_ids(each, self._tenant)}
        rows = fetch_all(self._connection, "memories_by_id", (bound_ids(wanted), self._tenant))
        return {id[:16]: _Memory(*values) for id, *values in rows}

    def _partition(self, user: str | None) -> int:
        return self._database.partition_for(self._connection, self._tenant, user)


def _wanted(
    told: Iterable[tuple[int, Entity]], said: Iterable[_Said], spoken: Iterable[_Spoken]
) -> dict[int, dict[bytes, Entity | None]]:
    """By partition and id the entities told of, in that order; None where only the id is named."""
    wanted: dict[int, dict[bytes, Entity | None]] = {}
    for partition, entity in told:
        among, id = wanted.setdefault(partition, {}), knowledge_id("entity", entity.id)
        earlier = among.get(id)
        among[id] = entity if earlier is None else told_again(earlier, entity)
    for partition, id in _named(said, spoken):
        wanted.setdefault(partition, {}).setdefault(id)
    return wanted


def _named(said: Iterable[_Said], spoken: Iterable[_Spoken]) -> Iterable[tuple[int, bytes]]:
    for claim, partition, _ in said:
        yield partition, knowledge_id("subject", claim.subject)
        if claim.object is not None:
            yield partition, knowledge_id("object", claim.object)
    for id, memory in spoken:
        yield memory.partition, id


def _number(numbers: dict[tuple[int, bytes], int], partition: int, id: bytes) -> int:
    number = numbers.get((partition, id))
    if number is None:
        raise _no_entity(spelled_id(id))
    return number


def _memory_of(id: str, memories: dict[bytes, _Memory]) -> _Memory:
    memory = memories.get(packed_id(id) or b"")
    if memory is None:
        raise _no_memory(id)
    return memory


def _no_entity(id: str) -> NotFound:
    return NotFound(f"There is no entity {id} of this user here; add it first.")


def _no_memory(id: str) -> NotFound:
    return NotFound(f"There is no memory {id} of this user here.")
