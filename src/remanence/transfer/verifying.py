"""Whether a copy is as its source: a digest of each tenant in both, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import reduce

from remanence.model.memory import Association
from remanence.ports.store import Progress, Store
from remanence.transfer.attached import paired_feedback, paired_links
from remanence.transfer.copying import Copied, added, chosen_of, copy_store, counting
from remanence.transfer.deciding import Step, decide
from remanence.transfer.differences import Difference, Differences, Why
from remanence.transfer.documents import (
    batches,
    decide_document,
    document_digest,
    named,
    standing_at,
)
from remanence.transfer.entries import DIGESTS, Entry, Reader, digest_of, item_digest
from remanence.transfer.knowledge import (
    decide_knowledge,
    digest_of_known,
    found_in,
    id_of,
    paired_knowledge,
    what_of,
)

Stages = Callable[[str], AbstractContextManager[Progress]]

_WHY = {Step.ADD: Why.MISSING, Step.KEEP: Why.CHANGED}


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
) -> tuple[Copied, Comparison]:
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
        self._source = source
        self._target = target
        self._tenant = tenant
        self._report = report
        self._sums = [0, 0]
        self._apart: set[str] = set()
        self.differences = Differences()

    def run(self) -> TenantDigests:
        embedders = self._source.embedders()
        theirs = Reader(self._target, self._tenant, embedders)
        for batch in Reader(self._source, self._tenant, embedders).batches():
            self._compare(batch, theirs.read(batch))
            self._report(len(batch))
        self._compare_links()
        self._compare_feedback()
        self._compare_knowledge()
        self._compare_documents()
        return TenantDigests(self._tenant, *(f"{each % DIGESTS:032x}" for each in self._sums))

    def _compare(self, mine: dict[str, Entry], theirs: dict[str, Entry]) -> None:
        for id, entry in mine.items():
            other = theirs.get(id)
            if self._add(digest_of(entry), digest_of(other) if other else 0):
                continue
            self._differ("memory", id, _WHY.get(decide(entry, other), Why.DIFFERS))
            self._apart.add(id)

    def _compare_links(self) -> None:
        for mine, theirs in paired_links(self._source, self._target, self._tenant):
            other = item_digest("link", mine.source, theirs) if theirs else 0
            if not self._add(item_digest("link", mine.source, mine), other):
                self._differ("link", mine.source, _why(mine, theirs))

    def _compare_feedback(self) -> None:
        for mine, is_there in paired_feedback(self._source, self._target, self._tenant):
            digest = item_digest("feedback", mine.id, mine)
            if not self._add(digest, digest if is_there else 0):
                self._differ("feedback", mine.id, Why.MISSING)

    def _compare_knowledge(self) -> None:
        """What memories say that differ or are missing is not told again."""
        for batch in paired_knowledge(self._source, self._target, self._tenant):
            for mine, theirs in batch:
                step, digest = decide_knowledge(mine, theirs), digest_of_known(mine)
                other = digest_of_known(theirs) if theirs is not None else 0
                alike = self._add(digest, digest if step is Step.PASS else other)
                if not alike and found_in(mine) not in self._apart:
                    self._differ(what_of(mine), id_of(mine), _WHY.get(step, Why.DIFFERS))

    def _compare_documents(self) -> None:
        for mine in batches(self._source, self._tenant):
            theirs = standing_at(self._target, self._tenant, list(mine))
            for address, one in mine.items():
                other = theirs.get(address)
                if not self._add(document_digest(one), document_digest(other) if other else 0):
                    why = _WHY.get(decide_document(one, other), Why.DIFFERS)
                    self._differ("document", named(address), why)

    def _add(self, mine: int, theirs: int) -> bool:
        self._sums[0] += mine
        self._sums[1] += theirs
        return mine == theirs

    def _differ(self, what: str, id: str, why: Why) -> None:
        self.differences = self.differences.with_one(Difference(self._tenant, what, id, why))


def _why(mine: Association, theirs: Association | None) -> Why:
    if theirs is None:
        return Why.MISSING
    return Why.CHANGED if theirs.created_at > mine.created_at else Why.DIFFERS
