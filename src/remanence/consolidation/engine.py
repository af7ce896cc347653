"""The engine: performs what a step planned in whole batches, and takes it back by its journal."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from remanence import errors
from remanence.consolidation.fits import Fit, Link, Since, batches, concerned, stamped, unguarded
from remanence.consolidation.retention.steps import allowance
from remanence.consolidation.run_leases import HeldRun, LeaseLost, RunLeases, RunStopped
from remanence.consolidation.run_log import UNDONE, Account, RunPage, reason_of
from remanence.consolidation.steps import Chore, Planner, past_of, records_of
from remanence.errors import Conflict, NotFound, RemanenceError
from remanence.errors import Stopped as CalledOff
from remanence.model import deadline
from remanence.model.filter import ACTIVE
from remanence.model.memory import MemoryRecord, Revision, State
from remanence.model.progress import Progress
from remanence.model.sleep import Deed, Night, Plan, Run, Status
from remanence.model.write import Action, Revise

BATCH = 200

_RACES = 5
_log = logging.getLogger("remanence.consolidation")


def cut(plan: Plan, room: int, cap: float) -> Plan:
    """The plan up to where more than `room` memories would leave recall; then it has an alarm.

    What takes none of them stays in it.
    """
    kept: list[Deed] = []
    left, full = room, False
    for deed in plan.deeds:
        full = full or deed.takes > left
        if deed.takes and full:
            continue
        left -= deed.takes
        kept.append(deed)
    if not full:
        return plan
    told = f"more memories were due to leave recall than may today: {room} (cap {cap:.1%})"
    return replace(plan, deeds=tuple(kept), alarm=plan.alarm or told)


@dataclass(slots=True)
class Engine:
    """Performs steps for one tenant. `at_once` is how many actions a transaction may hold."""

    desk: RunLeases
    at_once: int = BATCH

    def room(self, night: Night) -> int:
        """How many memories a run of that night may take out of recall.

        The cap's share, rounded up, less what runs of the last day took; and one is always left,
        unless the cap is 1.
        """
        cap, now = night.policy.cap, self.desk.clock.now()
        taken = self.desk.journal.taken(night.reach.user_id, now)
        held = self.desk.store.archive.count(night.reach, ACTIVE) + taken
        share = allowance(cap, held)
        return max(0, (share if cap == 1 else min(share, held - 1)) - taken)

    def foresee(self, step: Planner | Chore, night: Night, progress: Progress | None) -> Plan:
        """What the step would do now."""
        if isinstance(step, Chore):
            return step.foresee(night)
        planned = step.plan(night, progress)
        return cut(planned, self.room(night), night.policy.cap)

    def perform(self, step: Planner | Chore, account: Account, progress: Progress | None) -> Run:
        """Do the step, or go on with it; the run as it ended.

        A `Planner` that fails leaves everything as it was. A `Chore` that fails leaves what it has
        done so far, which loses nothing and is gone on with the next time.
        """
        held = self.desk.take(account)
        try:
            with held.kept():
                return self._perform(held, step, progress)
        except (LeaseLost, CalledOff):
            raise
        except BaseException:
            held.release()
            raise

    def _perform(self, held: HeldRun, step: Planner | Chore, progress: Progress | None) -> Run:
        try:
            if held.account.taking_back is None:
                if isinstance(step, Chore):
                    self._chore(held, step, progress)
                else:
                    self._planned(held, step, progress)
                return held.end(Status.COMPLETED).run
        except RunStopped:
            return held.end(Status.CANCELLED).run
        except LeaseLost:
            raise
        except CalledOff:
            with deadline.unlimited():
                held.refresh(heed=False)
                held.end(Status.CANCELLED)
            raise
        except Exception as error:
            _log.debug("A %s run failed.", step.step, exc_info=True)
            held.refresh(heed=False)
            back = None if isinstance(step, Chore) else Status.FAILED
            held.keep(heed=False, run={"error": _told(error)}, taking_back=back)
        return self._taken_back(held, step)

    def _taken_back(self, held: HeldRun, step: Planner | Chore) -> Run:
        ending = held.account.taking_back
        if ending is None:
            return held.end(Status.FAILED).run
        try:
            Undoing(self.desk, held.account.run.id).take_back(held)
        except NotFound:  # the journal is gone: nobody can go on with this
            was = held.account.run
            status = Status.FAILED if was.status is Status.RUNNING else was.status
            held.end(status)
            raise
        counts = Counter(held.account.run.counts)
        if isinstance(step, Chore) and ending is Status.UNDONE:
            counts["taken_back"] += step.undo(held.account.night)
        return held.end(ending, counts=dict(+counts)).run

    def _chore(self, held: HeldRun, step: Chore, progress: Progress | None) -> None:
        done = step.run(held.account.night, held.heeding(progress))
        alarm = "more was due than one run may do" if done.counts.get("capped") else None
        for _ in range(_RACES):
            held.refresh(heed=False)
            run = held.account.run
            counts = Counter(run.counts) + Counter(done.counts)
            told = replace(run, counts=dict(counts), alarm=alarm, batches=run.batches + 1)
            with suppress(Conflict):
                page = RunPage(number=told.batches, inserted=done.made, revised=done.revised)
                held.write(replace(held.account, run=told), page, ())
                return
        raise Conflict("The account of the run keeps changing; run it again.")

    def _planned(self, held: HeldRun, step: Planner, progress: Progress | None) -> None:
        night = held.account.night
        since = Since(self.desk.store, night.reach)
        whole = step.plan(night, held.heeding(progress))
        plan = cut(whole, held.account.room, night.policy.cap)
        looked = Counter(held.account.run.counts)
        looked["looked_at"] = max(looked["looked_at"], plan.looked_at)
        alarm = plan.alarm or held.account.run.alarm
        held.keep(run={"alarm": alarm, "counts": dict(looked)})
        done = 0
        for deeds in batches(plan.deeds, self.at_once):
            self._batch(held, deeds, since)
            done += len(deeds)
            if progress:
                progress(done, len(plan.deeds))

    def _batch(self, held: HeldRun, deeds: Sequence[Deed], since: Since) -> None:
        """Do what can be done of these deeds; others may be faster with some of them."""
        for _ in range(_RACES):
            fits = self._fit(held, deeds, since)
            try:
                told = _counted(held.account, fits)
                if not fits.deeds:
                    held.keep(run={"counts": told.run.counts})
                    return
                now = self.desk.clock.now()
                links = [replace(link, created_at=now) for link in fits.links]
                held.write(told, fits.page, list(stamped(fits.actions, now)), links, fits.moved)
            except (Conflict, NotFound):
                held.refresh()
                continue
            since.done(fits.page)
            return
        missed = Counter(held.account.run.counts) + Counter(overtaken=len(deeds))
        held.keep(run={"counts": dict(missed)})

    def _fit(self, held: HeldRun, deeds: Sequence[Deed], since: Since) -> Fit:
        found = records_of(self.desk.store, self.desk.tenant, concerned(deeds))
        records = {record.id: record for record in found}
        changed = since.changed(id for deed in deeds for id in unguarded(deed))
        there = self._links(deeds, records)
        return Fit(deeds, records, changed, there, held.account.run.batches + 1)

    def _links(self, deeds: Sequence[Deed], known: dict[str, MemoryRecord]) -> set[Link]:
        """Those of the deeds' links that are there already: they are not the run's to undo."""
        store, tenant = self.desk.store, self.desk.tenant
        asked = {
            (link.source, link.target, link.type)
            for deed in deeds
            for link in deed.links
            if link.source in known and link.target in known
        }
        found: set[Link] = set()
        for type in {type for _, _, type in asked}:
            sources = sorted({source for source, _, one in asked if one == type})
            targets = {target for _, target, one in asked if one == type}
            if targets.isdisjoint(store.links.pointed(tenant, sources, type)):
                continue
            for source in sources:
                ends = store.links.pointed(tenant, [source], type)
                found |= {(source, target, type) for target in ends}
        return found & asked


def _counted(account: Account, fits: Fit) -> Account:
    counts = Counter(account.run.counts)
    counts.update(deed.what for deed in fits.deeds)
    taken = sum(deed.takes for deed in fits.deeds)
    counts.update({"taken": taken, "overtaken": fits.overtaken})
    batches = account.run.batches + bool(fits.deeds)
    run = replace(account.run, counts=dict(+counts), batches=batches)
    return replace(account, run=run, room=max(0, account.room - taken))


def _told(error: Exception) -> str:
    """What failed, in words of ours: the message itself may quote a memory."""
    kind = type(error)
    if isinstance(error, RemanenceError):
        kind = next(one for one in kind.__mro__ if one.__module__ == errors.__name__)
        return f"{kind.__name__}: {(kind.__doc__ or '').partition(chr(10))[0]}"
    return f"{kind.__name__}: it was not expected; see the debug log of remanence.consolidation."


ACTOR = "sleep"

_WITHDRAWN: Mapping[str, object] = {"state": State.ARCHIVED}

Given = Mapping[str, set[int]]


@dataclass
class Undoing:
    """Takes runs back, the last batch first, each in one transaction with the note that it is.

    Killed anywhere, it goes on where it stopped. What is counted: `restored` have the values they
    had before; `withdrawn` were made by the run and are archived; `left` were changed by somebody
    since and stay; `erased` cannot be given back. Where a run that was undone before had to leave
    a memory because of this one, its change is given back too.
    """

    desk: RunLeases
    run: str

    def take_back(self, held: HeldRun) -> None:
        """Undo every batch of the run that is not undone yet."""
        pages = list(self.desk.journal.pages(held.account))
        if len(pages) < held.account.run.batches:
            raise NotFound(
                f"Part of the journal of the run {held.account.run.id} is gone, so it cannot be "
                "undone; change single memories back by their history."
            )
        given: dict[str, set[int]] = {}
        for page in pages:
            for one in page.given:
                given.setdefault(one.id, set()).add(one.version)
        for page in reversed(pages):
            if not page.undone:
                self._page(held, page, given)

    def _page(self, held: HeldRun, page: RunPage, given: Given) -> None:
        marker = reason_of(held.account.run.id)
        for _ in range(_RACES):
            actions, counts, left = self._actions(page, given, marker)
            unlinked = _unlinked(page, left)
            told = Counter(held.account.run.counts) + counts
            run = replace(held.account.run, counts=dict(told))
            done = replace(page, undone=True)
            try:
                held.write(
                    replace(held.account, run=run),
                    done,
                    actions,
                    moved=page.returned,
                    unlinked=unlinked,
                )
            except (Conflict, NotFound):
                held.refresh(heed=False)
                continue
            return
        raise Conflict("What is to be undone keeps changing; undo it again.")

    def _actions(
        self, page: RunPage, given: Given, marker: str
    ) -> tuple[list[Action], Counter[str], set[str]]:
        """What gives the batch back, what that comes to, and which memories are left alone."""
        actions: list[Action] = []
        counts: Counter[str] = Counter(erased=len(page.removed))
        left: set[str] = set()
        ahead: dict[str, int] = {}
        for id, version, verb in reversed(page.given):
            past = past_of(self.desk.store, self.desk.tenant, id)
            if not past or not _untouched(past, version, given[id], marker):
                counts["left"] += 1
                left.add(id)
                continue
            changes = self._before(past, id, version) if verb else dict(_WITHDRAWN)
            if changes and (verb or id in ahead or self._active(id)):
                expected = past[-1].version + ahead.get(id, 0)
                ahead[id] = ahead.get(id, 0) + 1
                actions.append(self._revise(id, changes, expected, marker))
            counts["restored" if verb else "withdrawn"] += 1
        return actions, +counts, left

    def _before(self, past: list[Revision], id: str, version: int) -> dict[str, object]:
        changes = _before(past, version)
        while (id, version := version - 1) in self._undone:
            withdrawn = self._undone[id, version] is None
            changes |= _WITHDRAWN if withdrawn else _before(past, version)
        return changes

    @cached_property
    def _undone(self) -> Mapping[tuple[str, int], str | None]:
        return self.desk.journal.undone(besides=self.run)

    def _active(self, id: str) -> bool:
        found = self.desk.store.archive.get(self.desk.tenant, [id])
        return any(record.state == State.ACTIVE for record in found)

    def _revise(self, id: str, changes: Mapping[str, object], expected: int, marker: str) -> Revise:
        return Revise(
            id=id,
            changes=changes,
            verb=UNDONE,
            at=self.desk.clock.now(),
            actor=ACTOR,
            reason=marker,
            expected=expected,
        )


def _untouched(past: list[Revision], version: int, given: set[int], marker: str) -> bool:
    """Whether a memory is what the run made of it: others' changes since were all undone."""
    standing = 0
    for one in past:
        own = one.version in given or (one.verb == UNDONE and one.reason == marker)
        if one.version > version and not own:
            standing += -1 if one.verb == UNDONE else 1
    return standing == 0


def _unlinked(page: RunPage, left: set[str]) -> list[tuple[str, str, str]]:
    """Links of what the run made stay: erasing goes by them, whatever the state."""
    kept = left | {id for id, _ in page.inserted}
    return [link for link in page.links if link[0] not in kept]


def _before(past: list[Revision], version: int) -> dict[str, object]:
    return next(dict(one.before) for one in past if one.version == version)
