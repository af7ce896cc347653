"""A lossless copy of one store into another: stopped at any point, it goes on when run again.

Memories with their history, uses and pieces of every embedder, associations, feedback, knowledge,
and documents with their editions are copied. Receipts of idempotency keys, the change feed, the
numbers a store gives, API keys and the audit log are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, fields, replace

from remanence.errors import Conflict, InvalidInput, NotFound, StoreBusy
from remanence.model.clock import SystemClock
from remanence.model.document import Address
from remanence.model.knowledge import Claim, Entity, Mention
from remanence.model.memory import Association, Feedback
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.scope import Reach
from remanence.model.write import Action, Batch, Insert, Pieces, Remove
from remanence.tools.transfer.entries import (
    TRIES,
    CopyStep,
    Difference,
    Differences,
    StoredEntry,
    Why,
    pieces_lacking,
    uses_lacking,
)
from remanence.tools.transfer.pairs import (
    Known,
    Pair,
    Pairs,
    Standing,
    T,
    batches,
    found_in,
    know_all,
    put_links,
    replaced,
)

LINKS = 500
COPIED = (CopyStep.ADD, CopyStep.REPLACE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyCounts:
    """How much was copied, or would be.

    `skipped` memories were there already, `replaced` ones in an older form. What was changed in
    the target was `kept` as it is. `knowledge` counts entities, claims and mentions.
    """

    memories: int = 0
    skipped: int = 0
    replaced: int = 0
    links: int = 0
    feedback: int = 0
    documents: int = 0
    knowledge: int = 0
    tenants: int = 0
    kept: Differences = field(default_factory=Differences)


def copy_store(
    source: Store,
    target: Store,
    *,
    tenants: Sequence[str] | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> CopyCounts:
    """Copy all tenants, or those named; what else the target holds stays.

    Other processes may write to the source meanwhile: what was there before is copied. A memory
    that was changed in the target is kept, and told, unless `overwrite`. `InvalidInput` if both
    are the same store, `Conflict` if an id is taken by another tenant.
    """
    if source.upkeep.identity == target.upkeep.identity:
        raise InvalidInput(
            "Source and target are the same store, or one is a plain copy of the other's file; "
            "copy into another."
        )
    chosen = chosen_of(source, tenants)
    report = counting(source, chosen, progress)
    with _copying_alone(target), nullcontext() if dry_run else target.upkeep.bulk():
        copied = CopyCounts(tenants=len(chosen))
        for tenant in chosen:
            done = _TenantCopy(source, target, tenant, overwrite, dry_run, report).run()
            copied = added(copied, done)
        return copied


def chosen_of(source: Store, tenants: Sequence[str] | None) -> list[str]:
    """The tenants meant: those named, which must be there, or all."""
    known = source.upkeep.tenants()
    if unknown := sorted(set(tenants or ()) - set(known)):
        raise NotFound(f"The source has no tenant {unknown[0]!r}; check the name.")
    return known if tenants is None else list(dict.fromkeys(tenants))


def added(one: CopyCounts, other: CopyCounts) -> CopyCounts:
    """Both together, but for the tenants."""
    counted = [each.name for each in fields(CopyCounts) if each.name not in ("tenants", "kept")]
    sums = {name: getattr(one, name) + getattr(other, name) for name in counted}
    return replace(one, **sums, kept=one.kept.with_all(other.kept))


@dataclass(slots=True)
class _TenantCopy:
    """The copy of one tenant."""

    source: Store
    target: Store
    tenant: str
    overwrite: bool
    dry_run: bool
    report: Callable[[int], None]
    counts: Counter[str] = field(default_factory=Counter)
    kept: Differences = field(default_factory=Differences)
    apart: set[str] = field(default_factory=set)  # memories that say something of their own there

    @property
    def pairs(self) -> Pairs:
        return Pairs(self.source, self.target, self.tenant, self.overwrite)

    def run(self) -> CopyCounts:
        for batch in self.pairs.memories():
            self._copy(batch)
            self.report(len(batch))
        for links in self.pairs.links():
            self._copy_links(links)
        for feedback in self.pairs.feedback():
            self._copy_feedback(feedback)
        for known in self.pairs.knowledge():
            self._copy_knowledge(known)
        for standing in batches(self.source.documents, self.tenant):
            self._copy_documents(standing)
        return self._result()

    def _copy(self, batch: Sequence[Pair[StoredEntry]]) -> None:
        self.counts.update(pair.step.name for pair in batch)
        self.apart.update(pair.id for pair in self._kept_of(batch))
        if not self.dry_run:
            self._write(_mine(batch, CopyStep.ADD), _mine(batch, CopyStep.REPLACE))
            self._complete([pair for pair in batch if pair.step is CopyStep.COMPLETE])

    def _write(self, new: Sequence[StoredEntry], outdated: Sequence[StoredEntry]) -> None:
        if not new and not outdated:
            return
        links, feedback = self._hanging_on({entry.record.id for entry in outdated})
        actions: list[Action] = [Remove(id=entry.record.id) for entry in outdated]
        actions += [_insert(entry) for entry in (*outdated, *new)]
        try:
            self.target.archive.write(
                Batch(tenant=self.tenant, at=SystemClock().now(), actions=tuple(actions))
            )
        except Conflict as error:
            raise Conflict(
                f"{error} The target has it under another tenant than {self.tenant!r}; "
                "copy into a database of its own."
            ) from error
        self._put_pieces([(one, one.pieces[1:]) for one in (*outdated, *new)])
        put_links(self.target, self.tenant, links)
        for one in feedback:
            self._note(one)

    def _complete(self, behind: Sequence[Pair[StoredEntry]]) -> None:
        """Add the pieces and uses that the target's memories lack."""
        both = [(pair.mine, pair.theirs) for pair in behind if pair.theirs is not None]
        self._put_pieces([(mine, pieces_lacking(mine, theirs)) for mine, theirs in both])
        uses = [
            (mine.record.id, mine.record.used_at)
            for mine, theirs in both
            for _ in range(uses_lacking(mine, theirs))
            if mine.record.used_at is not None
        ]
        if uses:
            self.target.archive.note_uses(self.tenant, uses)

    def _put_pieces(self, made: Sequence[tuple[StoredEntry, Sequence[Pieces]]]) -> None:
        placed = [
            (place[1], entry.record.text, one)
            for entry, lacking in made
            if lacking and (place := self.target.recall.key_of(self.tenant, entry.record.id))
            for one in lacking
        ]
        if placed:
            self.target.vectors.put(self.tenant, placed)

    def _hanging_on(self, ids: set[str]) -> tuple[list[Association], list[Feedback]]:
        """What the target itself has on memories that are about to be written anew."""
        if not ids:
            return [], []
        links = self.target.links.scan(self.tenant)
        touching = [link for link in links if link.source in ids or link.target in ids]
        return touching, [one for one in self.target.archive.feedback(self.tenant) if one.id in ids]

    def _copy_links(self, batch: Sequence[Pair[Association]]) -> None:
        self._kept_of(batch)
        lacking = [pair for pair in batch if pair.step in COPIED]
        for at in range(0, len(lacking), LINKS):
            self._put_links(lacking[at : at + LINKS])

    def _put_links(self, pairs: Sequence[Pair[Association]]) -> None:
        """Those with an end that was erased meanwhile are left out."""
        if self.dry_run:
            self.counts["links"] += len(pairs)
            return
        for one, theirs in ((pair.mine, pair.theirs) for pair in pairs):
            if theirs is not None and theirs.created_at != one.created_at:
                # Put again, a link would keep its earlier time.
                self.target.links.dissociate(self.tenant, one.source, one.target, one.type)
        put = put_links(self.target, self.tenant, [pair.mine for pair in pairs])
        self.counts["links"] += put

    def _copy_feedback(self, batch: Sequence[Pair[Feedback]]) -> None:
        for one in _mine(batch, CopyStep.ADD):
            if self.dry_run or self._note(one):
                self.counts["feedback"] += 1

    def _copy_knowledge(self, batch: Sequence[Pair[Known]]) -> None:
        batch = [pair for pair in batch if found_in(pair.mine) not in self.apart]
        self._kept_of(batch)
        outdated = _mine(batch, CopyStep.REPLACE)
        self._know([*outdated, *_mine(batch, CopyStep.ADD)], outdated)

    def _know(self, some: Sequence[Known], outdated: Sequence[Known]) -> None:
        """What names something that was erased meanwhile is left out."""
        self.counts["knowledge"] += len(some)
        if self.dry_run or not some:
            return
        claims = [one for one in outdated if isinstance(one, Claim)]
        if claims:
            replaced(self.source.knowledge, self.target.knowledge, self.tenant, claims)
        lost = know_all(
            self.target.knowledge,
            self.tenant,
            [one for one in some if isinstance(one, Entity)],
            [one for one in some if isinstance(one, Claim)],
            [one for one in some if isinstance(one, Mention)],
        )
        self.counts["knowledge"] -= sum(lost)

    def _copy_documents(self, mine: Mapping[Address, Standing]) -> None:
        pairs = self._adopted(mine)
        self._kept_of(pairs)
        self.counts["documents"] += sum(pair.step in COPIED for pair in pairs)

    def _adopted(self, mine: Mapping[Address, Standing]) -> Sequence[Pair[Standing]]:
        """Copy what is to be copied; decided anew when others wrote to the target meanwhile."""
        for _ in range(TRIES):
            pairs = self.pairs.standing(mine)
            chosen = [] if self.dry_run else [pair for pair in pairs if pair.step in COPIED]
            versions = {
                pair.mine[0].address: pair.theirs[0].version if pair.theirs else 0
                for pair in chosen
            }
            with suppress(Conflict):
                told = [pair.mine for pair in chosen]
                self.target.documents.adopt(self.tenant, told, versions)
                return pairs
        raise StoreBusy("Others write to the target all the time; copy again.")

    def _note(self, one: Feedback) -> bool:
        with suppress(NotFound):
            self.target.archive.note_feedback(
                self.tenant, one.id, useful=one.useful, query=one.query, at=one.at
            )
            return True
        return False

    def _kept_of(self, batch: Sequence[Pair[T]]) -> list[Pair[T]]:
        """Those that stay as they are in the target, which is told."""
        kept = [pair for pair in batch if pair.step is CopyStep.KEEP]
        for one in kept:
            told = Difference(self.tenant, one.what, one.id, Why.CHANGED)
            self.kept = self.kept.with_one(told)
        return kept

    def _result(self) -> CopyCounts:
        counts = self.counts
        return CopyCounts(
            memories=counts[CopyStep.ADD.name],
            skipped=counts[CopyStep.PASS.name],
            replaced=counts[CopyStep.REPLACE.name] + counts[CopyStep.COMPLETE.name],
            **{what: counts[what] for what in ("links", "feedback", "documents", "knowledge")},
            kept=self.kept,
        )


def _mine(batch: Sequence[Pair[T]], step: CopyStep) -> list[T]:
    return [pair.mine for pair in batch if pair.step is step]


def _insert(entry: StoredEntry) -> Insert:
    first = entry.pieces[0] if entry.pieces else None
    return Insert(record=entry.record, pieces=first, history=entry.history)


def counting(
    source: Store, tenants: Sequence[str], progress: Progress | None
) -> Callable[[int], None]:
    """A callback that takes how many memories more are done."""
    if progress is None:
        return lambda _: None
    total = sum(source.archive.count(Reach(tenant=tenant, all_users=True)) for tenant in tenants)
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        progress(done, max(done, total))

    return report


@contextmanager
def _copying_alone(target: Store) -> Iterator[None]:
    """Two copies at once would each add the feedback that the other adds."""
    with target.upkeep.alone("copy") as alone:
        if not alone:
            raise StoreBusy("Another copy into the target is running; wait for its end.")
        yield
