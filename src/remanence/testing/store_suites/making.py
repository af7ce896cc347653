"""Records, pieces, batches and what is known, for tests of stores, in few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from remanence.model.clock import IdMaker
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.embedding import Fingerprint
from remanence.model.knowledge import Claim, Entity, Learnt, Mention, entity_id
from remanence.model.memory import EMPTY, Association, MemoryRecord
from remanence.model.ports.store import Keys, Store
from remanence.model.scope import Reach
from remanence.model.write import Action, Batch, Insert, Piece, Pieces, Revise, Written

Reopen: TypeAlias = Callable[[Store], Store]

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FINGERPRINT = Fingerprint("suite", "0" * 64, 8, "mean", "codes-1")
LONG = "long " * 100
OTHER = Fingerprint("other", "1" * 64, 4, "mean")

new_id = IdMaker()


def memory(text: str, tenant: str = "t", **fields: Any) -> MemoryRecord:
    """A record with an id of its own; times are `NOW` unless given."""
    times = dict.fromkeys(("happened_at", "created_at", "updated_at"), NOW)
    return MemoryRecord(id=str(new_id()), text=text, tenant=tenant, **(times | fields))


def pieces(count: int = 1, made_by: Fingerprint = FINGERPRINT, fill: int = 7) -> Pieces:
    """So many pieces that look as if that embedder had made them."""
    vector = bytes([fill]) * (4 + made_by.dimension)
    made = (
        Piece(part=part, passage=0, start=part, stop=part + 1, vector=vector, codes=b"c" * 32)
        for part in range(count)
    )
    return Pieces(fingerprint=made_by, pieces=tuple(made))


def write(store: Store, *actions: Action, tenant: str = "t", **more: Any) -> Written:
    """Do these actions in one batch."""
    return store.archive.write(Batch(tenant=tenant, at=NOW, actions=actions, **more))


def add(store: Store, *records: MemoryRecord, made: Pieces | None = None) -> list[MemoryRecord]:
    """Insert records of one tenant."""
    actions = (Insert(record=record, pieces=made) for record in records)
    return list(write(store, *actions, tenant=records[0].tenant).records)


def revise(store: Store, id: str, **fields: Any) -> MemoryRecord:
    """Change some fields of a memory; `pieces`, `expected` and `at` go to the action."""
    own: dict[str, Any] = {"at": NOW}
    own |= {name: fields.pop(name) for name in ("pieces", "expected", "at") if name in fields}
    action = Revise(id=id, changes=fields, verb="update", **own)
    return write(store, action).records[0]


def block(name: str, user_id: str | None = None) -> Address:
    """Where a block stands."""
    return Address(shelf=Shelf.BLOCK, name=name, user_id=user_id)


def put(
    store: Store, address: Address, value: Any = EMPTY, *, tenant: str = "t", **fields: Any
) -> Document:
    """Put one document; the time is `NOW` unless given."""
    (made,) = store.documents.put(
        tenant, [Put(address=address, value=value, **({"at": NOW} | fields))]
    )
    return made


def texts(records: Sequence[MemoryRecord]) -> list[str]:
    """The texts, in order."""
    return [record.text for record in records]


def partition_of(store: Store, **reach: Any) -> int:
    """The one partition of that reach."""
    (found,) = store.recall.partitions(Reach(tenant=reach.pop("tenant", "t"), **reach))
    return found


def postings(store: Store, terms: Sequence[str], partition: int | None = None) -> list[Keys]:
    """The postings of terms none of which is too common."""
    found = store.recall.postings(partition or partition_of(store), terms, 10**6)
    known = [keys for keys in found if keys is not None]
    assert len(known) == len(terms)
    return known


def healthy(store: Store) -> bool:
    """Whether doctor finds nothing wrong."""
    return not any(
        found.problems for found in store.upkeep.doctor(repair=False, fingerprint=FINGERPRINT)
    )


def link(source: MemoryRecord, target: MemoryRecord, strength: float = 0.5) -> Association:
    """A link between two records."""
    return Association(
        source=source.id, target=target.id, type="about", strength=strength, created_at=NOW
    )


EVERY = Reach(tenant="t", all_users=True)


def entity(name: str, **fields: Any) -> Entity:
    """What a user calls so; a thing, found at `NOW` unless said otherwise."""
    told: dict[str, Any] = {"type": "thing", "created_at": NOW} | fields
    return Entity(id=entity_id(told.get("user_id"), name), name=name, **told)


def claim(subject: Entity, predicate: str, object: Entity | str, **fields: Any) -> Claim:
    """A claim with an id of its own about entities of one user, said and recorded at `NOW`.

    With a memory it was found by rules, unless said otherwise.
    """
    value = object if isinstance(object, str) else object.name
    told: dict[str, Any] = {
        "id": str(new_id()),
        "subject": subject.id,
        "object": None if isinstance(object, str) else object.id,
        "text": f"{subject.name} {predicate} {value}.",
        "user_id": subject.user_id,
        "observed_at": NOW,
        "recorded_at": NOW,
        "origin": "rules" if fields.get("memory") else "caller",
    }
    return Claim(predicate=predicate, value=value, **(told | fields))


def found(
    record: MemoryRecord, *said: Claim, names: tuple[Entity, ...] = (), **more: Any
) -> Learnt:
    """What was found in a memory: these claims and names, all of which it mentions."""
    return Learnt(
        memory=record.id,
        entities=names,
        mentions=tuple(one.id for one in names),
        claims=said,
        **more,
    )


def mention(record: MemoryRecord, of: Entity) -> Mention:
    """A memory speaks of an entity."""
    return Mention(
        entity=of.id, memory=record.id, happened_at=record.happened_at, session_id=record.session_id
    )


def named(store: Store, reach: Reach = EVERY, **asked: Any) -> list[str]:
    """Names of the entities in reach, in order."""
    return [one.name for one in store.knowledge.entities(reach, **asked)]


def values(store: Store, reach: Reach = EVERY, **asked: Any) -> list[str]:
    """Values of the claims in reach, in order."""
    return [one.value for one in store.knowledge.claims(reach, **asked)]


ANA, BOB, OSLO = entity("Ana", type="person"), entity("Bob"), entity("Oslo", type="place")


def stated(store: Store, *claims: Claim, names: tuple[Entity, ...] = (ANA, BOB, OSLO)) -> None:
    """Know these claims of tenant t, and whom they are about."""
    store.knowledge.know("t", names, claims)
