"""Entities, claims and mentions on their way into the tables, and what goes away behind them.

Whoever changes knowledge holds its partitions first (`hold`), so no two are at the same entity.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from remanence.errors import NotFound
from remanence.model.knowledge import Claim, Entity
from remanence.store.claims import (
    CLAIM_COLUMNS,
    ENTITY_COLUMNS,
    claim_values,
    entity_as_read,
    entity_of,
    entity_values,
    knowledge_id,
    told_again,
)
from remanence.store.postgres.arrays import byteas, float8s, int8s, texts, uuids
from remanence.store.postgres.columns import NEVER, Kinds, arrays
from remanence.store.postgres.session import Session
from remanence.store.rows import Owner, Row

Place: TypeAlias = tuple[int, bytes]  # partition and id

_TYPES: Kinds = {
    "id": uuids, "given": int8s, "created_at": int8s, "digest": byteas, "confidence": float8s,
    "trust": float8s, "observed_at": int8s, "recorded_at": int8s, "denies": int8s,
    "rested_at": int8s, "retired_at": int8s,
}  # fmt: skip
ENTITY_KINDS: Kinds = {
    "partition": int8s, **{name: _TYPES.get(name, texts) for name in ENTITY_COLUMNS},
}  # fmt: skip
_CLAIM: Kinds = {
    "partition": int8s, "subject": uuids, "object": uuids, "memory": int8s, "id": uuids,
    **{name: _TYPES.get(name, texts) for name in CLAIM_COLUMNS},
}  # fmt: skip
_RETOLD: Kinds = {"number": int8s, "type": texts, "given": int8s, "digest": byteas}


def hold(session: Session, partitions: Iterable[int]) -> None:
    """Be the only one to change these partitions until the end; memories are locked before."""
    session.run("lock_positions", partitions=int8s(sorted(set(partitions))))


@dataclass(slots=True)
class Telling:
    """What one transaction adds, each with its partition; memories are named by key, 0 for none."""

    session: Session
    tenant: str
    digest_key: bytes
    entities: list[tuple[int, Entity]] = field(default_factory=list)
    mentions: list[tuple[int, int, str]] = field(default_factory=list)
    claims: list[tuple[int, int, int | None, Claim]] = field(default_factory=list)
    only_named: bool = False  # leave out new entities that nothing here speaks of

    def run(self) -> None:
        """Add all of it; `NotFound` if something names an entity that is not there."""
        if not (self.entities or self.mentions or self.claims):
            return
        rows = self._rows()
        told = self._told(rows)
        self._check_named({*rows, *told})
        self._put_entities(rows, told)
        self._put_mentions()
        self._put_claims()

    def partitions(self) -> list[int]:
        """The partitions of all of it, in order."""
        found = {at for at, _ in self.entities} | {at for at, _, _ in self.mentions}
        return sorted(found | {at for at, *_ in self.claims})

    def _rows(self) -> dict[Place, Row]:
        """The rows of all entities that are named, as far as they are there."""
        named = {*self._named(), *(_place(at, one.id) for at, one in self.entities)}
        asked = {
            "ids": uuids({id for _, id in named}),
            "partitions": int8s({partition for partition, _ in named}),
        }
        return {(row[1], row[2]): row for row in self.session.rows("entities_by_id", **asked)}

    def _named(self) -> Iterable[Place]:
        for partition, _, id in self.mentions:
            yield _place(partition, id)
        for partition, _, _, claim in self.claims:
            yield _place(partition, claim.subject)
            if claim.object is not None:
                yield _place(partition, claim.object)

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
        return self.tenant, entity.user_id

    def _check_named(self, there: set[Place]) -> None:
        for partition, id in self._named():
            if (partition, id) not in there:
                raise NotFound(f"There is no entity {id.hex()} of this user here; add it first.")

    def _put_entities(self, rows: dict[Place, Row], told: dict[Place, Entity]) -> None:
        key, named = self.digest_key, set(self._named())
        new, changed = [], []
        for place, entity in told.items():
            row = rows.get(place)
            if row is None:
                if entity.given or place in named or not self.only_named:
                    new.append((place[0], *entity_values(entity, self.tenant, key)))
            elif entity != entity_as_read(row, self._owner(entity)):
                entity_of(row, self._owner(entity), key)  # what is damaged is not signed anew
                values = entity_values(entity, self.tenant, key)
                changed.append((row[0], values[3], values[4], values[6]))
        if new:
            self.session.run("insert_entities", **arrays(ENTITY_KINDS, new))
        if changed:
            self.session.run("update_entities", **arrays(_RETOLD, changed))

    def _put_mentions(self) -> None:
        if self.mentions:
            partitions, keys, ids = zip(*self.mentions, strict=True)
            entities = uuids(knowledge_id("entity", id) for id in ids)
            where = {"partitions": int8s(partitions), "keys": int8s(keys)}
            self.session.run("insert_mentions", **where, ids=entities)

    def _put_claims(self) -> None:
        rows = []
        for partition, memory, rested, claim in self.claims:
            id, *said, rests, retired, digest = claim_values(
                claim, self.tenant, self.digest_key, rested
            )
            subject = knowledge_id("subject", claim.subject)
            object = None if claim.object is None else knowledge_id("object", claim.object)
            times = (NEVER if rests is None else rests, NEVER if retired is None else retired)
            rows.append((partition, subject, object, memory, id, *said, *times, digest))
        if rows:
            self.session.run("insert_claims", **arrays(_CLAIM, rows), never=NEVER)


def erase_silent(session: Session, numbers: Iterable[int]) -> int:
    """Erase those of these entities that nothing is said of any more; how many rows.

    A denial of what nobody says, and a merge with somebody of whom nothing else is known, are
    nothing that is said: they would keep the words of what was erased.
    """
    listed, gone = set(numbers), 0
    if not listed:
        return 0
    for idle in ("erase_idle_denials", "erase_idle_merges"):
        said = session.rows(idle, numbers=int8s(listed))
        listed |= spoken_of(said)
        gone += len(said)
    return gone + len(session.rows("erase_silent_entities", numbers=int8s(listed)))


def spoken_of(claims: Iterable[Row]) -> set[int]:
    """The numbers of entities in rows of partition, subject and object."""
    return {number for _, *ends in claims for number in ends if number is not None}


def _place(partition: int, id: str) -> Place:
    return partition, knowledge_id("entity", id)
