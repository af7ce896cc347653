"""Records, pieces and batches for tests of stores, in few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from remanence.clock import IdMaker
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.embedding import Fingerprint
from remanence.model.memory import EMPTY, Association, MemoryRecord
from remanence.model.scope import Reach
from remanence.model.write import Action, Batch, Insert, Piece, Pieces, Revise, Written
from remanence.ports.store import Keys, Store

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
    return store.write(Batch(tenant=tenant, at=NOW, actions=actions, **more))


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
    (made,) = store.put(tenant, [Put(address=address, value=value, **({"at": NOW} | fields))])
    return made


def texts(records: Sequence[MemoryRecord]) -> list[str]:
    """The texts, in order."""
    return [record.text for record in records]


def partition_of(store: Store, **reach: Any) -> int:
    """The one partition of that reach."""
    (found,) = store.partitions(Reach(tenant=reach.pop("tenant", "t"), **reach))
    return found


def postings(store: Store, terms: Sequence[str], partition: int | None = None) -> list[Keys]:
    """The postings of terms none of which is too common."""
    found = store.postings(partition or partition_of(store), terms, 10**6)
    known = [keys for keys in found if keys is not None]
    assert len(known) == len(terms)
    return known


def healthy(store: Store) -> bool:
    """Whether doctor finds nothing wrong."""
    return not any(found.problems for found in store.doctor(repair=False, fingerprint=FINGERPRINT))


def link(source: MemoryRecord, target: MemoryRecord, strength: float = 0.5) -> Association:
    """A link between two records."""
    return Association(
        source=source.id, target=target.id, type="about", strength=strength, created_at=NOW
    )
