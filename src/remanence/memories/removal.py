"""Removing memories for good, with what was made of them; what was merged goes or comes back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from remanence.errors import Conflict, NotFound
from remanence.memories import lineage
from remanence.memories.merges import apart, returning, strays
from remanence.model.clock import Clock
from remanence.model.document import Shelving
from remanence.model.memory import MemoryRecord
from remanence.model.ports.store import Store
from remanence.model.write import Batch, Remove

RACES = 50  # others that remove the same, one after another


class Witness(Protocol):
    """Who keeps an account of a removal."""

    def told(
        self,
        records: Sequence[MemoryRecord],
        derived: Sequence[MemoryRecord],
        merged: Sequence[MemoryRecord],
        back: Sequence[MemoryRecord],
    ) -> Sequence[Shelving]:
        """Documents to put in the transaction in which these go; asked again if it fails.

        Those in `back` come back in it.
        """

    def done(self) -> None:
        """What was told last has happened."""


def remove(
    store: Store,
    clock: Clock,
    records: Sequence[MemoryRecord],
    witness: Witness | None = None,
    *,
    alone: bool = False,
) -> None:
    """Remove records of one tenant and what goes with them in one transaction.

    What was merged into them goes along, or with `alone` comes back unless it is among them. What
    has gone is passed over. What others derived or merged meanwhile follows in transactions of its
    own; of those that remove, the witness is told too.
    """
    while records:
        gone = _removed(store, clock, records, witness, alone)
        _return(store, clock, gone)
        records = lineage.torn(store, gone, clock.now())


def _removed(
    store: Store,
    clock: Clock,
    records: Sequence[MemoryRecord],
    witness: Witness | None,
    alone: bool,
) -> list[MemoryRecord]:
    tenant = records[0].tenant
    for _ in range(RACES):
        derived, merged, back = _along(store, records, alone)
        gone, now = [*records, *derived, *merged], clock.now()
        told = () if witness is None else tuple(witness.told(records, derived, merged, back))
        batch = Batch(
            tenant=tenant,
            at=now,
            actions=(*returning(back, now), *(Remove(id=one.id) for one in gone)),
            documents=told,
        )
        try:
            store.archive.write(batch)
        except (Conflict, NotFound):
            records = store.archive.get(tenant, [one.id for one in records])
            if not records:
                return []
            continue
        if witness is not None:
            witness.done()
        return gone
    raise Conflict("Others keep changing what is to be removed; try again.")


def _along(
    store: Store, records: Sequence[MemoryRecord], alone: bool
) -> tuple[list[MemoryRecord], list[MemoryRecord], list[MemoryRecord]]:
    """What goes with the records: derived from them, merged into them; and what comes back."""
    tenant, ids = records[0].tenant, [one.id for one in records]
    if not alone:
        return *lineage.taken_along(store, tenant, ids), []
    derived = lineage.derived(store, tenant, ids)
    return derived, [], apart(store, tenant, [*ids, *(one.id for one in derived)])


def _return(store: Store, clock: Clock, gone: Sequence[MemoryRecord]) -> None:
    """Bring back what was merged at that very moment into what is gone."""
    for stray in strays(store, gone, clock.now()):
        now = clock.now()
        batch = Batch(tenant=stray.tenant, at=now, actions=returning([stray], now))
        with suppress(Conflict, NotFound):  # somebody else has seen to it
            store.archive.write(batch)
