"""What a restored store inherits: the receipts of the one it replaces, carried out in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from remanence.clock import Clock
from remanence.errors import InvalidInput
from remanence.layers.erasure.closure import left_of
from remanence.layers.erasure.eraser import swept
from remanence.layers.erasure.receipts import every, is_known, is_signed, shelving, signed
from remanence.layers.erasure.tombstones import Tombstones
from remanence.model.erasure import Asked, By, Erasure, Stage
from remanence.ports.store import Store
from remanence.remember.removing import remove

_PROBE = b"whose"

# As `Unlearn`, of a tenant in a store that is not open to anyone yet.
UnlearnIn: TypeAlias = Callable[[Store, str, Sequence[str]], Mapping[str, int]]


def nowhere_unlearnt(store: Store, tenant: str, ids: Sequence[str]) -> Mapping[str, int]:
    """For stores that nothing was learnt in."""
    return {}


class Heritage:
    """Called with the store that is replaced, it gives what is to be done to the new one.

    `given` are receipts that the caller has kept; the new store must have signed them.
    `erased` is how many memories the new store had of what was erased.
    """

    def __init__(
        self,
        clock: Clock,
        tombstones: Tombstones | None = None,
        given: Sequence[Erasure] = (),
        unlearn: UnlearnIn = nowhere_unlearnt,
    ) -> None:
        self.erased = 0
        self._unlearn = unlearn
        self._clock = clock
        self._tombstones = tombstones
        self._given = given

    def __call__(self, old: Store | None) -> Callable[[Store], bool]:
        """Read what the old store knows; the function tells whether it removed anything."""
        if old is None:
            return lambda new: self._carried_out(new, [])
        probe = old.sign(_PROBE)
        known = [one for tenant in old.tenants() for one in every(old, tenant)]
        return lambda new: self._carried_out(
            new, known if new.sign(_PROBE) == probe else [_by_ids(new, one) for one in known]
        )

    def _carried_out(self, new: Store, known: Sequence[Erasure]) -> bool:
        kept = [] if self._tombstones is None else self._tombstones.read()
        for one in self._given:
            if not is_signed(new, one):
                raise InvalidInput(
                    f"The receipt {one.id} was not signed by the store of this backup; give "
                    "receipts of the same store."
                )
        ours = [one for one in kept if is_signed(new, one)]
        return self.inherit(new, [*self._given, *ours, *known])

    def inherit(self, new: Store, receipts: Sequence[Erasure]) -> bool:
        """Erase what these receipts tell of that the store does not know; whether it had any."""
        found = False
        for one in sorted({one.id: one for one in receipts}.values(), key=lambda one: one.at):
            if not is_known(new, one):
                found = self._inherit(new, one) or found
        return found

    def _inherit(self, new: Store, receipt: Erasure) -> bool:
        records = left_of(new, receipt)
        remove(new, self._clock, records)
        found = len(records)
        self.erased += found
        if receipt.asked.by is By.SCOPE:
            found += sum(swept(new, None, receipt, receipt.at).values())
        found += sum(self._unlearn(new, receipt.tenant, receipt.ids).values())
        new.put(receipt.tenant, shelving(receipt))
        return found > 0


def _by_ids(new: Store, receipt: Erasure) -> Erasure:
    """A receipt of another store, which knows the same memories by their ids at most."""
    told = replace(receipt, asked=Asked(by=By.IDS), status=Stage.COMPLETED)
    return signed(new, told)
