"""Removing memories for good, with all that was made of them or merged into them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from remanence.clock import Clock
from remanence.errors import Conflict, NotFound
from remanence.model.document import Shelving
from remanence.model.memory import MemoryRecord
from remanence.model.write import Batch, Remove
from remanence.ports.store import Store
from remanence.remember import lineage

RACES = 50  # others that remove the same, one after another


class Witness(Protocol):
    """Who keeps an account of a removal."""

    def told(
        self,
        records: Sequence[MemoryRecord],
        derived: Sequence[MemoryRecord],
        merged: Sequence[MemoryRecord],
    ) -> Sequence[Shelving]:
        """Documents to put in the transaction in which these go; asked again if it fails."""

    def done(self) -> None:
        """What was told last has happened."""


def remove(
    store: Store, clock: Clock, records: Sequence[MemoryRecord], witness: Witness | None = None
) -> None:
    """Remove records of one tenant and what goes with them in one transaction.

    What has gone is passed over. What others derived meanwhile follows in transactions of its own,
    of which the witness is told too.
    """
    while records:
        gone = _removed(store, clock, records, witness)
        records = lineage.torn(store, gone, clock.now())


def _removed(
    store: Store, clock: Clock, records: Sequence[MemoryRecord], witness: Witness | None
) -> list[MemoryRecord]:
    tenant = records[0].tenant
    for _ in range(RACES):
        derived, merged = lineage.taken_along(store, tenant, [one.id for one in records])
        gone = [*records, *derived, *merged]
        actions = tuple(Remove(id=one.id) for one in gone)
        told = () if witness is None else tuple(witness.told(records, derived, merged))
        batch = Batch(tenant=tenant, at=clock.now(), actions=actions, documents=told)
        try:
            store.write(batch)
        except NotFound:
            records = store.get(tenant, [one.id for one in records])
            if not records:
                return []
            continue
        if witness is not None:
            witness.done()
        return gone
    raise Conflict("Others keep removing what is to be removed; try again.")
