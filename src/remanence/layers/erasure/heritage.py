"""What a restored store inherits: the receipts of the one it replaces, carried out in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from remanence.errors import InvalidInput
from remanence.layers.erasure.eraser import left_of, swept
from remanence.layers.erasure.receipts import (
    Tombstones,
    every,
    is_known,
    is_signed,
    shelving,
    signed,
)
from remanence.memories.removal import remove
from remanence.model.clock import Clock
from remanence.model.erasure import By, Erasure, ErasureRequest, Stage
from remanence.model.ports.store import Store

CHUNK = 1_000
_PROBE = b"whose"

# As `Unlearn`, of a tenant in a store that is not open to anyone yet.
UnlearnIn: TypeAlias = Callable[[Store, str, Sequence[str]], Mapping[str, int]]


def nowhere_unlearnt(store: Store, tenant: str, ids: Sequence[str]) -> Mapping[str, int]:
    """For stores that nothing was learnt in."""
    return {}


@dataclass(eq=False)
class Heritage:
    """Called with the store that is replaced, it gives what is to be done to the new one.

    `given` are receipts that the caller has kept; the new store must have signed them.
    `erased` is how many memories the new store had of what was erased.
    """

    clock: Clock
    tombstones: Tombstones | None = None
    given: Sequence[Erasure] = ()
    unlearn: UnlearnIn = nowhere_unlearnt
    erased: int = field(default=0, init=False)

    def __call__(self, old: Store | None) -> Callable[[Store], bool]:
        """Read what the old store knows; the function tells whether it removed anything."""
        if old is None:
            return lambda new: self._carried_out(new, [])
        probe = old.upkeep.sign(_PROBE)
        known = [one for tenant in old.upkeep.tenants() for one in every(old, tenant)]
        return lambda new: self._carried_out(
            new, known if new.upkeep.sign(_PROBE) == probe else [_by_ids(new, one) for one in known]
        )

    def _carried_out(self, new: Store, known: Sequence[Erasure]) -> bool:
        kept = [] if self.tombstones is None else self.tombstones.read()
        for one in self.given:
            if not is_signed(new, one):
                raise InvalidInput(
                    f"The receipt {one.id} was not signed by the store of this backup; give "
                    "receipts of the same store."
                )
        ours = [one for one in kept if is_signed(new, one)]
        return self.inherit(new, [*self.given, *ours, *known])

    def inherit(self, new: Store, receipts: Sequence[Erasure]) -> bool:
        """Erase what these receipts tell of that the store does not know; whether it had any."""
        unknown: dict[str, dict[str, Erasure]] = {}
        for one in sorted(receipts, key=lambda one: one.at):
            if not is_known(new, one):
                unknown.setdefault(one.tenant, {})[one.id] = one
        found = [self._inherit(new, tenant, [*some.values()]) for tenant, some in unknown.items()]
        return any(found)

    def _inherit(self, new: Store, tenant: str, receipts: Sequence[Erasure]) -> bool:
        """Erase what a tenant's receipts tell of, and keep them; they are put last.

        They name all that went, so what was merged into it and is not named comes back.
        """
        gone = {record.id: record for one in receipts for record in left_of(new, one)}
        records = list(gone.values())
        for at in range(0, len(records), CHUNK):
            remove(new, self.clock, records[at : at + CHUNK], alone=True)
        self.erased += len(records)
        by_scope = [one for one in receipts if one.asked.by is By.SCOPE]
        found = len(records) + sum(sum(swept(new, None, one, one.at).values()) for one in by_scope)
        ids = {id: None for one in receipts for id in one.ids}
        found += sum(self.unlearn(new, tenant, list(ids)).values())
        for one in receipts:
            new.documents.put(tenant, shelving(one))
        return found > 0


def _by_ids(new: Store, receipt: Erasure) -> Erasure:
    """A receipt of another store, which knows the same memories by their ids at most."""
    told = replace(receipt, asked=ErasureRequest(by=By.IDS), status=Stage.COMPLETED)
    return signed(new, told)
