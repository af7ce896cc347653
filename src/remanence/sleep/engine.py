"""The engine: performs what a step planned in whole batches, and leaves a journal to undo it by."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeGuard, cast

from remanence import deadline, errors
from remanence.errors import Conflict, NotFound, RemanenceError
from remanence.errors import Stopped as CalledOff
from remanence.model.memory import MemoryRecord
from remanence.model.sleep import Deed, Night, Plan, Run, Status
from remanence.ports.store import Progress
from remanence.sleep.fitting import Fit, Link, Since, batches, concerned, fit, stamped, unguarded
from remanence.sleep.forgetting.candidates import ACTIVE, allowance
from remanence.sleep.holding import Desk, Held, LeaseLost, Stopped
from remanence.sleep.journal import Account, Page
from remanence.sleep.steps import Chore, Planner
from remanence.sleep.undoing import Undoing

BATCH = 200

_RACES = 5
_GET = 500
_log = logging.getLogger("remanence.sleep")


def is_chore(step: Planner | Chore) -> TypeGuard[Chore]:
    """Whether a step does its work itself."""
    return hasattr(step, "foresee")


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

    desk: Desk
    at_once: int = BATCH

    def room(self, night: Night) -> int:
        """How many memories a run of that night may take out of recall.

        The cap's share, rounded up, less what runs of the last day took; and one is always left,
        unless the cap is 1.
        """
        cap, now = night.policy.cap, self.desk.clock.now()
        taken = self.desk.journal.taken(night.reach.user_id, now)
        held = self.desk.store.count(night.reach, ACTIVE) + taken
        share = allowance(cap, held)
        return max(0, (share if cap == 1 else min(share, held - 1)) - taken)

    def foresee(self, step: Planner | Chore, night: Night, progress: Progress | None) -> Plan:
        """What the step would do now."""
        if is_chore(step):
            return step.foresee(night)
        planned = _planner(step).plan(night, progress)
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

    def _perform(self, held: Held, step: Planner | Chore, progress: Progress | None) -> Run:
        try:
            if held.account.taking_back is None:
                if is_chore(step):
                    self._chore(held, step, progress)
                else:
                    self._planned(held, _planner(step), progress)
                return held.end(Status.COMPLETED).run
        except Stopped:
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
            back = None if is_chore(step) else Status.FAILED
            held.keep(heed=False, run={"error": _told(error)}, taking_back=back)
        return self._taken_back(held, step)

    def _taken_back(self, held: Held, step: Planner | Chore) -> Run:
        ending = held.account.taking_back
        if ending is None:
            return held.end(Status.FAILED).run
        try:
            Undoing(self.desk, held.account.run.id).take_back(held)
        except NotFound:  # the journal is gone: nobody can go on with this
            was = held.account.run
            status = Status.FAILED if was.status is Status.RUNNING else was.status
            held.end(status, ended_at=was.ended_at or self.desk.clock.now())
            raise
        counts = Counter(held.account.run.counts)
        if is_chore(step) and ending is Status.UNDONE:
            counts["taken_back"] += step.undo(held.account.night)
        return held.end(ending, counts=dict(+counts)).run

    def _chore(self, held: Held, step: Chore, progress: Progress | None) -> None:
        done = step.run(held.account.night, held.heeding(progress))
        alarm = "more was due than one run may do" if done.counts.get("capped") else None
        for _ in range(_RACES):
            held.refresh(heed=False)
            run = held.account.run
            counts = Counter(run.counts) + Counter(done.counts)
            told = replace(run, counts=dict(counts), alarm=alarm, batches=run.batches + 1)
            with suppress(Conflict):
                page = Page(number=told.batches, inserted=done.made, revised=done.revised)
                held.write(replace(held.account, run=told), page, ())
                return
        raise Conflict("The account of the run keeps changing; run it again.")

    def _planned(self, held: Held, step: Planner, progress: Progress | None) -> None:
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

    def _batch(self, held: Held, deeds: Sequence[Deed], since: Since) -> None:
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

    def _fit(self, held: Held, deeds: Sequence[Deed], since: Since) -> Fit:
        records = self._records(concerned(deeds))
        changed = since.changed(id for deed in deeds for id in unguarded(deed))
        there = self._links(deeds, records)
        return fit(deeds, records, changed, there, held.account.run.batches + 1)

    def _records(self, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        found: dict[str, MemoryRecord] = {}
        for at in range(0, len(ids), _GET):
            records = self.desk.store.get(self.desk.tenant, ids[at : at + _GET])
            found |= {record.id: record for record in records}
        return found

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
            if targets.isdisjoint(store.pointed(tenant, sources, type)):
                continue
            for source in sources:
                ends = store.pointed(tenant, [source], type)
                found |= {(source, target, type) for target in ends}
        return found & asked


def _planner(step: Planner | Chore) -> Planner:
    assert not is_chore(step)
    return cast(Planner, step)


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
    return f"{kind.__name__}: it was not expected; see the debug log of remanence.sleep."
