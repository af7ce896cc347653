"""Sleep as callers know it: plan a night, run it, look at what was done, and take it back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TypedDict, TypeVar, Unpack
from uuid import UUID

from remanence.consolidation.engine import Engine
from remanence.consolidation.leases import LEASE_S
from remanence.consolidation.retention.forecast import Forecast, draw, forecast, foreseen
from remanence.consolidation.run_leases import RunLeases
from remanence.consolidation.run_log import KEEP_DAYS, Account, Journal, RunPage, reach_of
from remanence.consolidation.steps import Chore, Planner, records_of, steps_of
from remanence.errors import Conflict, InvalidInput, Stopped
from remanence.model.clock import Clock
from remanence.model.deadline import unlimited
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.sleep import Night, Plan, Run, RunChanged, RunShown, SleepPolicy, Status, Step
from remanence.model.validation import label_of, moment_of, text_of, truth_of, whole_of

MOST_RUNS = 1_000

_log = logging.getLogger("remanence.consolidation")
E = TypeVar("E", bound=StrEnum)


class Tonight(TypedDict, total=False):
    """Whose memories (left out, everybody's), by which policy (the memory's), and when (now)."""

    user_id: str | None
    policy: SleepPolicy | None
    now: datetime | str | None


@dataclass(eq=False)
class Sleep:
    """What a memory does at rest, for one tenant.

    `believed` gives the present or refuses a clock that jumped. `tell` hears of every run that
    ended, `changed` of the memories that a run changed. A run's account is kept for `keep_days`;
    whoever is at it renews a lease of `lease_s`.
    """

    store: Store
    tenant: str
    clock: Clock
    new_id: Callable[[], UUID]
    steps: Mapping[Step, Planner | Chore]
    policy: SleepPolicy
    _: KW_ONLY
    believed: Callable[[], datetime]
    by: str = ""
    tell: Callable[[Run], None] | None = None
    changed: Callable[[list[str]], None] | None = None
    has_model: bool = True
    keep_days: float = KEEP_DAYS
    lease_s: float = LEASE_S

    def __post_init__(self) -> None:
        self._journal = Journal(self.store.documents, self.tenant, self.clock, self.keep_days)
        self._desk = RunLeases(
            self.store, self._journal, self.tenant, self.clock, self.new_id, self.lease_s
        )
        self._engine = Engine(self._desk)

    def plan(
        self,
        steps: Sequence[str] | str | None = None,
        *,
        model: bool = False,
        progress: Progress | None = None,
        **tonight: Unpack[Tonight],
    ) -> list[Plan]:
        """What `run` with the same arguments would do; changes nothing."""
        night = self._night(tonight, model)
        chosen = self._chosen(steps, night.policy)
        return [self._engine.foresee(self.steps[step], night, progress) for step in chosen]

    def run(
        self,
        steps: Sequence[str] | str | None = None,
        *,
        model: bool = False,
        schedule: str | None = None,
        progress: Progress | None = None,
        **tonight: Unpack[Tonight],
    ) -> list[Run]:
        """Do the steps, all if none are named, in the order of a night; one run for each.

        "consolidate" stands for merge, distil and reflect. Erasing happens only if the policy has
        `erase_after_days`. A step that fails does not stop the next; `Conflict` if somebody else
        is at one. A run that was cut off is gone on with first. Accounts of runs whose time has
        run out go at the end, by the clock, however late `now` is.
        """
        night = self._night(tonight, model)
        label_of("schedule", schedule)
        runs: list[Run] = []
        for step in self._chosen(steps, night.policy):
            runs += self._run(step, night, schedule, progress)
        self._journal.expire(min(night.now, self.clock.now()))
        return runs

    def log(
        self, *, limit: int = 50, step: str | None = None, status: str | None = None
    ) -> list[Run]:
        """The runs that are kept, the one that began last first."""
        whole_of("limit", limit, 1, MOST_RUNS)
        wanted = None if step is None else _named("step", step, Step)
        ended = None if status is None else _named("status", status, Status)
        runs = (account.run for account in self._journal.accounts())
        fitting = (r for r in runs if wanted in (None, r.step) and ended in (None, r.status))
        return sorted(
            islice(fitting, limit), key=lambda run: (run.started_at, run.id), reverse=True
        )

    def show(self, id: str) -> RunShown:
        """A run with all it changed; `NotFound` once its time has run out."""
        account = self._account(id)
        pages = list(self._journal.pages(account))
        last = {one.id: one.version for page in pages for one in page.given}
        standing = self._standing(last)
        return RunShown(
            run=account.run,
            changes=tuple(
                RunChanged(batch=page.number, id=one, version=version, verb=verb, stands=stands)
                for page in pages
                for one, version, verb in _told(page)
                for stands in (one in standing,)
            ),
        )

    def undo(self, id: str) -> Run:
        """Take a run back: what nobody has changed since is as it was before.

        `counts` tells what was `restored`, what the run had made and is `withdrawn` (archived),
        and what was `left` because somebody changed it. `Conflict` if it was undone already, or
        has not ended.
        """
        account = self._account(id)
        if account.taking_back is None:
            self._check_undoable(account)
            account = replace(account, taking_back=Status.UNDONE)
        return self._perform(account, None)

    def undo_night(self) -> list[Run]:
        """Take back the last night, its last run first; what was undone or failed is passed over.

        A night is what one call of `run` did: steps in their order.
        """
        order, night = list(Step), list[Run]()
        for run in self.log(limit=len(order)):
            if night and order.index(run.step) >= order.index(night[-1].step):
                break
            night.append(run)
        undoable = (Status.COMPLETED, Status.CANCELLED)
        return [self.undo(run.id) for run in night if run.status in undoable]

    def cancel(self, id: str) -> Run:
        """Stop a run before its next batch; what was done stays, and can be undone.

        Undoing goes on to its end, unless it was cut off: then the run counts as cancelled.
        """
        while True:
            account = self._account(id)
            self._check_running(account)
            changed = replace(account, cancel=True)
            if self._desk.abandoned(account):
                over = replace(account.run, status=Status.CANCELLED, ended_at=self.clock.now())
                changed = replace(account, run=over, taking_back=None)
            try:
                self.store.documents.put(self.tenant, [self._journal.put(changed)])
            except Conflict:
                continue
            return changed.run

    def resume(self) -> list[Run]:
        """Go on with every run that was cut off, under its own id; the runs as they ended."""
        return [run for step in Step if step in self.steps for run in self._resumed(step, None)]

    def forecast(self, *, days: int = 90, limit: int = 20, **tonight: Unpack[Tonight]) -> Forecast:
        """What would be forgotten within so many days, when and why, if nobody used it again."""
        return forecast(self.store, self._night(tonight), days=days, limit=limit)

    def plot(
        self, path: str | Path, *, days: int = 90, limit: int = 8, **tonight: Unpack[Tonight]
    ) -> None:
        """Draw how the memories fade that would be forgotten first; a .svg or .png file."""
        coming = self.forecast(days=days, limit=limit, **tonight)
        draw(foreseen(coming), coming.policy, Path(path), days=days)

    def _run(
        self, step: Step, night: Night, schedule: str | None, progress: Progress | None
    ) -> list[Run]:
        before = self._resumed(step, progress)
        if any(
            run.status is Status.COMPLETED and run.user_id == night.reach.user_id for run in before
        ):
            return before
        now = self.clock.now()
        run = Run(
            id=str(self.new_id()),
            step=step,
            status=Status.RUNNING,
            started_at=now,
            by=self.by,
            schedule=schedule,
            user_id=night.reach.user_id,
        )
        room = self._engine.room(night)
        account = Account(run=run, night=night, owner="", room=room)
        return [*before, self._perform(account, progress)]

    def _resumed(self, step: Step, progress: Progress | None) -> list[Run]:
        _, latest = self._journal.latest(step)
        if latest is None or not self._desk.abandoned(latest):
            return []
        now = self.clock.now()
        if self._journal.lease(latest).ahead(now):  # nor is the time believed that it began by
            night = replace(latest.night, now=min(latest.night.now, now))
            latest = replace(latest, night=night)
        try:
            return [self._perform(latest, progress)]
        except Conflict:  # another process goes on with it
            return []

    def _perform(self, account: Account, progress: Progress | None) -> Run:
        step = self.steps.get(account.run.step)
        if step is None:
            raise InvalidInput(f"Nothing here does the step {account.run.step}; wire it first.")
        try:
            run = self._engine.perform(step, account, progress)
        except Stopped:
            with unlimited():
                self._tell_changed(account.run.id)
            raise
        self._tell_changed(run.id)
        if self.tell is not None:
            try:
                self.tell(run)
            except Exception:
                _log.exception("Nobody could be told of the run %s.", run.id)
        return run

    def _tell_changed(self, id: str) -> None:
        if self.changed is None:
            return
        for page in self._journal.pages(self._journal.account(id)):
            if page.given:
                self.changed([one.id for one in page.given])

    def _night(self, tonight: Tonight, model: object = False) -> Night:
        policy, now = tonight.get("policy"), tonight.get("now")
        if not isinstance(policy, SleepPolicy | None):
            raise InvalidInput(f"policy must be a SleepPolicy, not {type(policy).__name__}.")
        if truth_of("model", model) and not self.has_model:
            raise InvalidInput("There is no language model: set llm_url and llm_model first.")
        return Night(
            reach=reach_of(self.tenant, label_of("user_id", tonight.get("user_id"))),
            now=self.believed() if now is None else moment_of("now", now),
            policy=policy or self.policy,
            use_model=truth_of("model", model),
        )

    def _chosen(self, steps: object, policy: SleepPolicy) -> list[Step]:
        erases = policy.forget.erase_after_days is not None
        if steps is None:
            return [one for one in Step if one in self.steps and (one != Step.ERASE or erases)]
        wanted = list(steps_of(steps, self.steps))
        if Step.ERASE in wanted and not erases:
            raise InvalidInput("The policy erases nothing; give it forget.erase_after_days.")
        return wanted

    def _account(self, id: object) -> Account:
        return self._journal.account(text_of("id", id, 256))

    def _check_undoable(self, account: Account) -> None:
        run = account.run
        if run.status is Status.UNDONE:
            raise Conflict(f"The run {run.id} was undone already; there is nothing to take back.")
        if run.status is Status.FAILED:
            raise Conflict(f"The run {run.id} failed and left nothing to take back.")
        if run.status is Status.RUNNING and not self._desk.abandoned(account):
            raise Conflict(f"The run {run.id} is under way; wait, or cancel it first.")

    def _check_running(self, account: Account) -> None:
        run = account.run
        if self._desk.abandoned(account):
            return
        if account.taking_back is not None:
            raise Conflict(f"The run {run.id} is being undone, which goes on to the end; wait.")
        if run.status is not Status.RUNNING:
            raise Conflict(f"The run {run.id} has ended ({run.status}); undo takes it back.")

    def _standing(self, last: Mapping[str, int]) -> set[str]:
        found = records_of(self.store, self.tenant, last)
        return {record.id for record in found if record.version == last[record.id]}


def _told(page: RunPage) -> list[tuple[str, int, str]]:
    given = [(one.id, one.version, one.verb or "added") for one in page.given]
    return [*given, *((id, 0, "erased") for id in page.removed)]


def _named(what: str, value: object, kind: type[E]) -> E:
    try:
        return kind(str(value))
    except ValueError:
        known = ", ".join(kind)
        raise InvalidInput(f"Unknown {what} {str(value)[:40]!r}; known: {known}.") from None
