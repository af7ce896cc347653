"""What callers state, or what comes from elsewhere: added inside one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from remanence.errors import NotFound
from remanence.model.knowledge import Claim, Entity, Mention
from remanence.store.claims import NO_MEMORY, known_ids, rests_from
from remanence.store.postgres.arrays import uuids
from remanence.store.postgres.database import Database
from remanence.store.postgres.feed import announce
from remanence.store.postgres.placing import WORDS_LOCK, writers_lock
from remanence.store.postgres.session import Session
from remanence.store.postgres.telling import Telling, hold
from remanence.store.rows import packed_id


class _Memory(NamedTuple):
    partition: int
    key: int
    counts: bool
    updated_at: int


def state(
    database: Database,
    session: Session,
    tenant: str,
    entities: Sequence[Entity],
    claims: Sequence[Claim],
    mentions: Sequence[Mention],
) -> None:
    """Add what is not there yet; `NotFound` if something names what is not this user's."""
    session.run("lock_writers_shared", words=WORDS_LOCK, own=writers_lock(session.tenant))
    memories = _memories(session, claims, mentions)
    partitions = _partitions(database, session, entities, claims)
    telling = Telling(session, tenant, database.digest_key)
    telling.entities = [(partitions[one.user_id or ""], one) for one in entities]
    telling.claims = [_placed(claim, partitions, memories) for claim in claims]
    for mention in mentions:
        memory = _memory(mention.memory, memories)
        telling.mentions.append((memory.partition, memory.key, mention.entity))
    moved = telling.partitions()
    hold(session, moved)
    telling.run()
    announce(session, [(partition, NO_MEMORY) for partition in moved])


def _memories(
    session: Session, claims: Sequence[Claim], mentions: Sequence[Mention]
) -> dict[bytes, _Memory]:
    """The memories that are named; they cannot change until the end."""
    found_in = [claim.memory for claim in claims if claim.memory is not None]
    named = known_ids([*found_in, *(mention.memory for mention in mentions)])
    if not named:
        return {}
    rows = session.rows("lock_told_memories", ids=uuids(named))
    return {id: _Memory(*values) for id, *values in rows}


def _partitions(
    database: Database, session: Session, entities: Sequence[Entity], claims: Sequence[Claim]
) -> dict[str, int]:
    """Partitions by user: an entity brings its own along, a claim must find one."""
    made = database.partitions_for(session, {one.user_id or "" for one in entities})
    others = {one.user_id or "" for one in claims} - made.keys()
    return made | database.known_partitions(session, list(others))


def _placed(
    claim: Claim, partitions: dict[str, int], memories: dict[bytes, _Memory]
) -> tuple[int, int, int | None, Claim]:
    partition = partitions.get(claim.user_id or "")
    if partition is None:
        raise NotFound(f"There is no entity {claim.subject} of this user here; add it first.")
    if claim.memory is None:
        return partition, NO_MEMORY, rests_from(claim, None, 0), claim
    memory = _memory(claim.memory, memories)
    if memory.partition != partition:
        raise _no_memory(claim.memory)
    rested = rests_from(claim, memory.counts, memory.updated_at)
    return partition, memory.key, rested, claim


def _memory(id: str, memories: dict[bytes, _Memory]) -> _Memory:
    memory = memories.get(packed_id(id) or b"")
    if memory is None:
        raise _no_memory(id)
    return memory


def _no_memory(id: str) -> NotFound:
    return NotFound(f"There is no memory {id} of this user here.")
