"""Carrying out a purge, so that one that was cut off is completed by asking again."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from remanence.errors import Conflict, NotFound
from remanence.layers.blocks.documents import stored
from remanence.layers.purge.effects import VERB
from remanence.layers.purge.plan import BlockRevert, MemoryRevert, PurgePlan, PurgePlanner, removals
from remanence.layers.snapshots.section import chunks
from remanence.memories.writer import Writer
from remanence.model.clock import Clock
from remanence.model.document import Discard, Put, Shelving
from remanence.model.erasure import (
    Blame,
    BlockReturn,
    By,
    Erasure,
    ErasureRequest,
    Forgotten,
    PurgeResult,
)
from remanence.model.memory import Association, MemoryRecord
from remanence.model.ports.store import Store
from remanence.model.scope import Reach

BATCH = 256
TRIES = 5
Erase: TypeAlias = Callable[[Callable[[], Sequence[MemoryRecord]], ErasureRequest], Forgotten]


@dataclass(eq=False)
class Purger:
    """Takes back what somebody brought in: others' memories first, then what came from there.

    In that order what followed from a memory can be found by it until it is undone. `dropped` hears
    of memories that changed, `unlearn` of those that go.
    """

    store: Store
    writer: Writer
    clock: Clock
    _: KW_ONLY
    erase: Erase
    unlearn: Callable[[Sequence[str]], object]
    dropped: Callable[[Sequence[MemoryRecord]], object]

    def purge(
        self, reach: Reach, blame: Blame, *, erase: bool, dry_run: bool, reason: str | None
    ) -> PurgeResult:
        """Plan and do it; again on what others made of it, if they were faster."""
        begun = PurgeResult(dry_run=dry_run, erased=erase)
        done: PurgeResult | None = None
        for _ in range(TRIES):
            plan = PurgePlanner(self.store, reach, blame, erase=erase).plan()
            begun = _joined(begun, _told(plan, erase))
            if dry_run:
                return begun
            try:
                receipt = self._done(plan, reach, blame, erase=erase, reason=reason)
            except (Conflict, NotFound):
                continue
            done = replace(begun, receipt=receipt)
            if erase or not removals(self._culprits(reach, blame)):
                return done
        if done is not None:
            return done
        raise Conflict("Others keep changing what is to be taken back; call purge again.")

    def _done(
        self, plan: PurgePlan, reach: Reach, blame: Blame, *, erase: bool, reason: str | None
    ) -> Erasure | None:
        if plan.claims or plan.entities:  # first: what texts say that return is found in them anew
            self.store.knowledge.unknow(reach.tenant, plan.claims, plan.entities)
        self._change(plan.changes, plan.left, reason)
        self._edit(reach.tenant, plan.blocks, erase, reason)
        for source, target, type in plan.links:
            self.store.links.dissociate(reach.tenant, source, target, type)
        receipt = None
        if erase and plan.culprits:
            look = partial(self._culprits, reach, blame)
            receipt = self.erase(look, _asked(reach, blame)).receipt
        elif plan.culprits:
            self._change(removals(plan.culprits), plan.left, reason)
            self.unlearn([one.id for one in plan.culprits])
        self.dropped([*(one.record for one in plan.changes), *plan.culprits])
        return receipt

    def _culprits(self, reach: Reach, blame: Blame) -> list[MemoryRecord]:
        """What is to blame by now, also of what others wrote since it was planned."""
        return PurgePlanner(self.store, reach, blame, erase=False).culprits()

    def _change(
        self, changes: Sequence[MemoryRevert], leave: Container[str], reason: str | None
    ) -> None:
        """Give memories their values, and take along what tells of them, unless it is to stay."""
        for some in chunks(changes, BATCH):
            self.writer.revise_all(
                [(one.record, one.values) for one in some],
                verb=VERB,
                reason=reason,
                leave=leave,
                links=[self._link(*link) for one in some for link in one.links],
                unlinked=[link for one in some for link in one.unlinked],
            )

    def _link(self, source: str, target: str, type: str) -> Association:
        at = self.clock.now()
        return Association(source=source, target=target, type=type, strength=1.0, created_at=at)

    def _edit(
        self, tenant: str, blocks: Sequence[BlockRevert], erase: bool, reason: str | None
    ) -> None:
        """Give blocks back; with `erase`, those that nobody else ever wrote go for good."""
        at = self.clock.now()

        def edit(one: BlockRevert) -> Shelving:
            address, version = one.document.address, one.document.version
            if erase and one.to.content.deleted and not one.to.version:
                return Discard(address=address, expected=version)
            return Put(
                address=address,
                value=stored(one.to.content),
                at=at,
                verb=VERB,
                reason=reason,
                expected=version,
                keep=True,
            )

        for some in chunks(blocks, BATCH):
            self.store.documents.put(tenant, [edit(one) for one in some])


def _asked(reach: Reach, blame: Blame) -> ErasureRequest:
    """What the receipt says; the labels are named, not told."""
    given = [*blame.labels, *(n for n in ("since", "until") if getattr(blame, n) is not None)]
    return ErasureRequest(
        by=By.FILTERS, user_id=reach.user_id, all_users=reach.all_users, filters=tuple(given)
    )


def _told(plan: PurgePlan, erase: bool) -> PurgeResult:
    gone = plan.culprits if erase else [one.record for one in removals(plan.culprits)]
    return PurgeResult(
        dry_run=False,
        erased=erase,
        removed=tuple(one.id for one in gone),
        reverted=tuple(one.record.id for one in plan.changes if not one.returns),
        returned=tuple(one.record.id for one in plan.changes if one.returns),
        blocks=tuple(_return(one) for one in plan.blocks),
        claims=tuple(plan.claims),
        links=tuple(plan.links),
        kept=tuple(plan.kept),
    )


def _joined(before: PurgeResult, more: PurgeResult) -> PurgeResult:
    """What was begun and what was found to do then, each once."""
    names = ("removed", "reverted", "returned", "blocks", "claims", "links", "kept")
    both: dict[str, Any] = {
        name: tuple(dict.fromkeys((*getattr(before, name), *getattr(more, name)))) for name in names
    }
    return replace(before, **both)


def _return(one: BlockRevert) -> BlockReturn:
    at = one.document.address
    return BlockReturn(
        label=at.name, version=one.to.version, user_id=at.user_id, agent_id=at.agent_id
    )
