"""Which records an erasure takes, and the account that is kept of it while they go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from remanence.layers.erasure.receipts import shelving, signed
from remanence.model.document import Shelving
from remanence.model.erasure import By, Erasure
from remanence.model.filter import Compare
from remanence.model.memory import MemoryRecord
from remanence.ports.store import Store

PAGE = 1_000
UNMERGED = "unmerged"  # in a receipt's counts: what had been merged into it and came back


def left_of(store: Store, receipt: Erasure) -> list[MemoryRecord]:
    """What a store still has of the memories that an erasure took, or was to take.

    By scope these are also the memories in it that were made before the erasure.
    """
    found = {record.id: record for record in _by_id(store, receipt)}
    if receipt.asked.by is By.SCOPE:
        found |= {record.id: record for record in _in_scope(store, receipt)}
    return list(found.values())


class Account:
    """What has gone so far: told in the same transaction in which it goes."""

    def __init__(self, store: Store, receipt: Erasure) -> None:
        self.receipt = receipt
        self.gone: dict[str, MemoryRecord] = {}
        self.back: dict[str, MemoryRecord] = {}
        self._next = receipt, self.gone, self.back
        self._store = store
        self._asked: set[str] = set()

    def ask(self, records: Sequence[MemoryRecord]) -> None:
        """These are asked for; what else goes was derived from them or merged into them."""
        self._asked |= {one.id for one in records}

    def told(
        self,
        records: Sequence[MemoryRecord],
        derived: Sequence[MemoryRecord],
        merged: Sequence[MemoryRecord],
        back: Sequence[MemoryRecord],
    ) -> Sequence[Shelving]:
        """The receipt as it will be once these are gone, or back, too; each is counted once."""
        counts = Counter(self.receipt.counts)
        known = {*self.receipt.ids, *self.gone}
        new = [one for one in (*records, *derived, *merged) if one.id not in known]
        into = {one.id for one in merged}
        counts.update(self._part(one.id, into) for one in new)
        counts.update(UNMERGED for one in back if one.id not in self.back)
        counts.update(self._store.holdings(self.receipt.tenant, [one.id for one in new]))
        ids = (*self.receipt.ids, *(one.id for one in new))
        receipt = signed(self._store, replace(self.receipt, ids=ids, counts=dict(counts)))
        self._next = (
            receipt,
            self.gone | {one.id: one for one in new},
            self.back | {one.id: one for one in back},
        )
        return shelving(receipt)

    def done(self) -> None:
        """They are gone."""
        self.receipt, self.gone, self.back = self._next

    def add(self, **counts: int) -> None:
        """Count what went besides memories."""
        self.receipt = replace(
            self.receipt, counts=dict(Counter(self.receipt.counts) + Counter(counts))
        )

    def _part(self, id: str, merged: set[str]) -> str:
        return "memories" if id in self._asked else "merged" if id in merged else "derived"


def _by_id(store: Store, receipt: Erasure) -> Iterator[MemoryRecord]:
    for at in range(0, len(receipt.ids), PAGE):
        yield from store.get(receipt.tenant, receipt.ids[at : at + PAGE])


def _in_scope(store: Store, receipt: Erasure) -> Iterator[MemoryRecord]:
    reach = receipt.asked.reach(receipt.tenant)
    made_before = Compare("created_at", "lte", receipt.at, field=True)
    return store.walk(reach, made_before)
