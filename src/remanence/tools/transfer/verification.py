"""Whether a copy is as its source: a digest of each tenant in both, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.tools.transfer.entries import DIGESTS, CopyStep, Difference, Differences, Why
from remanence.tools.transfer.pairs import Pair, Pairs, digest_of, found_in
from remanence.tools.transfer.store_copy import CopyCounts, added, chosen_of, copy_store, counting

Stages = Callable[[str], AbstractContextManager[Progress]]


_WHY = {CopyStep.ADD: Why.MISSING, CopyStep.KEEP: Why.CHANGED}


@dataclass(frozen=True, slots=True)
class TenantDigests:
    """What a tenant's memories come to in the source, and those same memories in the target.

    Digests of single things added up, so that no order matters.
    """

    tenant: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The digests of every tenant, and what they do not agree on."""

    tenants: tuple[TenantDigests, ...]
    differences: Differences


@contextmanager
def quietly(stage: str) -> Iterator[Progress]:
    """Shows no progress."""
    yield lambda done, total: None


def verify(
    source: Store,
    target: Store,
    *,
    tenants: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare all that `copy_store` copies; what only the target has does not count."""
    chosen = chosen_of(source, tenants)
    report = counting(source, chosen, progress)
    each = [_TenantComparison(source, target, tenant, report) for tenant in chosen]
    digests = tuple(one.run() for one in each)
    return Comparison(
        digests, reduce(Differences.with_all, (one.differences for one in each), Differences())
    )


def copy_and_verify(
    source: Store,
    target: Store,
    *,
    tenants: Sequence[str] | None = None,
    overwrite: bool = False,
    stages: Stages = quietly,
) -> tuple[CopyCounts, Comparison]:
    """Copy, then compare; what came into the source meanwhile is copied once more first."""
    with stages("copy") as progress:
        copied = copy_store(source, target, tenants=tenants, overwrite=overwrite, progress=progress)
    with stages("verify") as progress:
        found = verify(source, target, tenants=tenants, progress=progress)
    if found.differences.count <= copied.kept.count:
        return copied, found
    with stages("copy what came meanwhile") as progress:
        late = copy_store(source, target, tenants=tenants, overwrite=overwrite, progress=progress)
    with stages("verify") as progress:
        found = verify(source, target, tenants=tenants, progress=progress)
    total = added(copied, replace(late, skipped=0))
    return replace(total, tenants=late.tenants, kept=late.kept), found


class _TenantComparison:
    """The comparison of one tenant."""

    def __init__(
        self, source: Store, target: Store, tenant: str, report: Callable[[int], None]
    ) -> None:
        self._pairs = Pairs(source, target, tenant)
        self._tenant = tenant
        self._report = report
        self._sums = [0, 0]
        self._apart: set[str] = set()
        self.differences = Differences()

    def run(self) -> TenantDigests:
        pairs = self._pairs
        for memories in pairs.memories():
            self._compare(memories)
            self._report(len(memories))
        for rest in (pairs.links, pairs.feedback, pairs.knowledge, pairs.documents):
            for batch in rest():
                self._compare(batch)
        return TenantDigests(self._tenant, *(f"{each % DIGESTS:032x}" for each in self._sums))

    def _compare(self, batch: Sequence[Pair[Any]]) -> None:
        """What memories say that differ or are missing is not told again."""
        for pair in batch:
            mine = theirs = digest_of(pair.mine)
            if pair.step is not CopyStep.PASS:
                theirs = 0 if pair.theirs is None else digest_of(pair.theirs)
            self._sums[0] += mine
            self._sums[1] += theirs
            if mine == theirs:
                continue
            if pair.what == "memory":
                self._apart.add(pair.id)
            if found_in(pair.mine) not in self._apart:
                why = _WHY.get(pair.step, Why.DIFFERS)
                told = Difference(self._tenant, pair.what, pair.id, why)
                self.differences = self.differences.with_one(told)
