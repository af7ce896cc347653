"""A lossless copy of one store into another: stopped at any point, it goes on when run again.

Memories with their history, uses and pieces of every embedder, associations, feedback, knowledge,
and documents with their editions are copied. Receipts of idempotency keys, the change feed, the
numbers a store gives, API keys and the audit log are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace

from remanence.clock import SystemClock
from remanence.errors import Conflict, InvalidInput, NotFound, StoreBusy
from remanence.model.document import Address
from remanence.model.knowledge import Claim, Entity, Mention
from remanence.model.memory import Association, Feedback
from remanence.model.scope import Reach
from remanence.model.write import Action, Batch, Insert, Pieces, Remove
from remanence.ports.store import Progress, Store
from remanence.transfer.attached import paired_feedback, paired_links, put_links
from remanence.transfer.deciding import Step, decide, pieces_lacking, uses_lacking
from remanence.transfer.differences import Difference, Differences, Why
from remanence.transfer.documents import Standing, batches, decide_document, named, standing_at
from remanence.transfer.entries import TRIES, Entry, Reader
from remanence.transfer.knowledge import (
    Known,
    decide_knowledge,
    found_in,
    id_of,
    know_all,
    paired_knowledge,
    replaced,
    what_of,
)

LINKS = 500
ADOPTED = (Step.ADD, Step.REPLACE)

Counts = Counter[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
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
) -> Copied:
    """Copy all tenants, or those named; what else the target holds stays.

    Other processes may write to the source meanwhile: what was there before is copied. A memory
    that was changed in the target is kept, and told, unless `overwrite`. `InvalidInput` if both
    are the same store, `Conflict` if an id is taken by another tenant.
    """
    if source.identity == target.identity:
        raise InvalidInput(
            "Source and target are the same store, or one is a plain copy of the other's file; "
            "copy into another."
        )
    chosen = chosen_of(source, tenants)
    report = counting(source, chosen, progress)
    with _copying_alone(target), nullcontext() if dry_run else target.bulk():
        copied = Copied(tenants=len(chosen))
        for tenant in chosen:
            done = _TenantCopy(source, target, tenant, overwrite, dry_run, report).run()
            copied = added(copied, done)
        return copied


def chosen_of(source: Store, tenants: Sequence[str] | None) -> list[str]:
    """The tenants meant: those named, which must be there, or all."""
    known = source.tenants()
    if unknown := sorted(set(tenants or ()) - set(known)):
        raise NotFound(f"The source has no tenant {unknown[0]!r}; check the name.")
    return known if tenants is None else list(dict.fromkeys(tenants))


def added(one: Copied, other: Copied) -> Copied:
    """Both together, but for the tenants."""
    return replace(
        one,
        memories=one.memories + other.memories,
        skipped=one.skipped + other.skipped,
        replaced=one.replaced + other.replaced,
        links=one.links + other.links,
        feedback=one.feedback + other.feedback,
        documents=one.documents + other.documents,
        knowledge=one.knowledge + other.knowledge,
        kept=one.kept.with_all(other.kept),
    )


class _TenantCopy:
    """The copy of one tenant."""

    def __init__(
        self,
        source: Store,
        target: Store,
        tenant: str,
        overwrite: bool,
        dry_run: bool,
        report: Callable[[int], None],
    ) -> None:
        self._source = source
        self._target = target
        self._tenant = tenant
        self._overwrite = overwrite
        self._dry_run = dry_run
        self._report = report
        self._counts: Counts = Counter()
        self._kept = Differences()
        self._apart: set[str] = set()  # memories that say something of their own in the target

    def run(self) -> Copied:
        embedders = self._source.embedders()
        mine = Reader(self._source, self._tenant, embedders)
        theirs = Reader(self._target, self._tenant, embedders)
        for batch in mine.batches():
            self._copy(batch, theirs.read(batch))
            self._report(len(batch))
        self._copy_links()
        self._copy_feedback()
        self._copy_knowledge()
        self._copy_documents()
        return self._result()

    def _copy(self, mine: dict[str, Entry], theirs: dict[str, Entry]) -> None:
        steps = {
            id: decide(entry, theirs.get(id), overwrite=self._overwrite)
            for id, entry in mine.items()
        }
        self._counts.update(step.name for step in steps.values())
        chosen = {step: [mine[id] for id in steps if steps[id] is step] for step in Step}
        for entry in chosen[Step.KEEP]:
            self._keep("memory", entry.record.id)
            self._apart.add(entry.record.id)
        if not self._dry_run:
            self._write(chosen[Step.ADD], chosen[Step.REPLACE])
            self._complete(chosen[Step.COMPLETE], theirs)

    def _write(self, new: Sequence[Entry], outdated: Sequence[Entry]) -> None:
        if not new and not outdated:
            return
        links, feedback = self._hanging_on({entry.record.id for entry in outdated})
        actions: list[Action] = [Remove(id=entry.record.id) for entry in outdated]
        actions += [_insert(entry) for entry in (*outdated, *new)]
        try:
            self._target.write(
                Batch(tenant=self._tenant, at=SystemClock().now(), actions=tuple(actions))
            )
        except Conflict as error:
            raise Conflict(
                f"{error} The target has it under another tenant than {self._tenant!r}; "
                "copy into a database of its own."
            ) from error
        self._put_pieces([(one, one.pieces[1:]) for one in (*outdated, *new)])
        self._hang_again(links, feedback)

    def _complete(self, behind: Sequence[Entry], theirs: dict[str, Entry]) -> None:
        """Add the pieces and uses that the target's memories lack."""
        lacking = [(one, pieces_lacking(one, theirs[one.record.id])) for one in behind]
        self._put_pieces(lacking)
        uses = [
            (one.record.id, one.record.used_at)
            for one in behind
            for _ in range(uses_lacking(one, theirs[one.record.id]))
            if one.record.used_at is not None
        ]
        if uses:
            self._target.note_uses(self._tenant, uses)

    def _put_pieces(self, made: Sequence[tuple[Entry, Sequence[Pieces]]]) -> None:
        placed = [
            (place[1], entry.record.text, one)
            for entry, lacking in made
            if lacking and (place := self._target.key_of(self._tenant, entry.record.id))
            for one in lacking
        ]
        if placed:
            self._target.put_pieces(self._tenant, placed)

    def _hanging_on(self, ids: set[str]) -> tuple[list[Association], list[Feedback]]:
        """What the target itself has on memories that are about to be written anew."""
        if not ids:
            return [], []
        links = self._target.links(self._tenant)
        touching = [link for link in links if link.source in ids or link.target in ids]
        return touching, [one for one in self._target.feedback(self._tenant) if one.id in ids]

    def _hang_again(self, links: Sequence[Association], feedback: Sequence[Feedback]) -> None:
        put_links(self._target, self._tenant, links)
        for one in feedback:
            self._note(one)

    def _copy_links(self) -> None:
        lacking: list[Association] = []
        for mine, theirs in paired_links(self._source, self._target, self._tenant):
            if mine == theirs:
                continue
            if theirs and theirs.created_at > mine.created_at and not self._overwrite:
                self._keep("link", mine.source)
                continue
            lacking.append(mine)
            if theirs is not None and theirs.created_at != mine.created_at and not self._dry_run:
                # Put again, a link would keep its earlier time.
                self._target.dissociate(self._tenant, mine.source, mine.target, mine.type)
            if len(lacking) >= LINKS:
                self._put_links(lacking)
                lacking = []
        self._put_links(lacking)

    def _put_links(self, links: Sequence[Association]) -> None:
        """Those with an end that was erased meanwhile are left out."""
        put = len(links) if self._dry_run else put_links(self._target, self._tenant, links)
        self._counts["links"] += put

    def _copy_feedback(self) -> None:
        for mine, is_there in paired_feedback(self._source, self._target, self._tenant):
            if not is_there and (self._dry_run or self._note(mine)):
                self._counts["feedback"] += 1

    def _copy_knowledge(self) -> None:
        for batch in paired_knowledge(self._source, self._target, self._tenant):
            chosen: dict[Step, list[Known]] = {step: [] for step in Step}
            for mine, theirs in batch:
                if found_in(mine) not in self._apart:
                    step = decide_knowledge(mine, theirs, overwrite=self._overwrite)
                    chosen[step].append(mine)
            for one in chosen[Step.KEEP]:
                self._keep(what_of(one), id_of(one))
            self._know([*chosen[Step.REPLACE], *chosen[Step.ADD]], chosen[Step.REPLACE])

    def _know(self, some: Sequence[Known], outdated: Sequence[Known]) -> None:
        """What names something that was erased meanwhile is left out."""
        self._counts["knowledge"] += len(some)
        if self._dry_run or not some:
            return
        claims = [one for one in outdated if isinstance(one, Claim)]
        if claims:
            replaced(self._source, self._target, self._tenant, claims)
        lost = know_all(
            self._target,
            self._tenant,
            [one for one in some if isinstance(one, Entity)],
            [one for one in some if isinstance(one, Claim)],
            [one for one in some if isinstance(one, Mention)],
        )
        self._counts["knowledge"] -= sum(lost)

    def _copy_documents(self) -> None:
        for mine in batches(self._source, self._tenant):
            steps = self._adopted(mine)
            for address, step in steps.items():
                if step is Step.KEEP:
                    self._keep("document", named(address))
            self._counts["documents"] += sum(step in ADOPTED for step in steps.values())

    def _adopted(self, mine: Mapping[Address, Standing]) -> Mapping[Address, Step]:
        """Copy what is to be copied; decided anew when others wrote to the target meanwhile."""
        for _ in range(TRIES):
            theirs = standing_at(self._target, self._tenant, list(mine))
            steps = {
                address: decide_document(one, theirs.get(address), overwrite=self._overwrite)
                for address, one in mine.items()
            }
            chosen = [] if self._dry_run else [at for at in steps if steps[at] in ADOPTED]
            versions = {at: theirs[at][0].version if at in theirs else 0 for at in chosen}
            with suppress(Conflict):
                self._target.adopt(self._tenant, [mine[at] for at in chosen], versions)
                return steps
        raise StoreBusy("Others write to the target all the time; copy again.")

    def _note(self, one: Feedback) -> bool:
        with suppress(NotFound):
            self._target.note_feedback(
                self._tenant, one.id, useful=one.useful, query=one.query, at=one.at
            )
            return True
        return False

    def _keep(self, what: str, id: str) -> None:
        self._kept = self._kept.with_one(Difference(self._tenant, what, id, Why.CHANGED))

    def _result(self) -> Copied:
        counts = self._counts
        return Copied(
            memories=counts[Step.ADD.name],
            skipped=counts[Step.PASS.name],
            replaced=counts[Step.REPLACE.name] + counts[Step.COMPLETE.name],
            links=counts["links"],
            feedback=counts["feedback"],
            documents=counts["documents"],
            knowledge=counts["knowledge"],
            kept=self._kept,
        )


def _insert(entry: Entry) -> Insert:
    first = entry.pieces[0] if entry.pieces else None
    return Insert(record=entry.record, pieces=first, history=entry.history)


def counting(
    source: Store, tenants: Sequence[str], progress: Progress | None
) -> Callable[[int], None]:
    """A callback that takes how many memories more are done."""
    if progress is None:
        return lambda _: None
    total = sum(source.count(Reach(tenant=tenant, all_users=True)) for tenant in tenants)
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        progress(done, max(done, total))

    return report


@contextmanager
def _copying_alone(target: Store) -> Iterator[None]:
    """Two copies at once would each add the feedback that the other adds."""
    with target.alone("copy") as alone:
        if not alone:
            raise StoreBusy("Another copy into the target is running; wait for its end.")
        yield
