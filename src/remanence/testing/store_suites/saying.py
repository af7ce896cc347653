"""Entities, claims, and what memories say, for tests of stores, in few words."""

from __future__ import annotations

from typing import Any

from remanence.model.knowledge import Claim, Entity, Learnt, Mention, entity_id
from remanence.model.memory import MemoryRecord
from remanence.model.scope import Reach
from remanence.ports.store import Store
from remanence.testing.store_suites.making import NOW, new_id

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
        entity=of.id,
        memory=record.id,
        happened_at=record.happened_at,
        session_id=record.session_id,
    )


def named(store: Store, reach: Reach = EVERY, **asked: Any) -> list[str]:
    """Names of the entities in reach, in order."""
    return [one.name for one in store.entities(reach, **asked)]


def values(store: Store, reach: Reach = EVERY, **asked: Any) -> list[str]:
    """Values of the claims in reach, in order."""
    return [one.value for one in store.claims(reach, **asked)]


ANA, BOB, OSLO = entity("Ana", type="person"), entity("Bob"), entity("Oslo", type="place")


def stated(store: Store, *claims: Claim, names: tuple[Entity, ...] = (ANA, BOB, OSLO)) -> None:
    """Know these claims of tenant t, and whom they are about."""
    store.know("t", names, claims)
