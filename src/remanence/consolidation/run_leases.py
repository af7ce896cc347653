"""Who is at a run: one process for each step, for as long as its lease is its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from remanence.consolidation.leases import LEASE_S, Leases
from remanence.consolidation.run_log import Account, Journal, RunPage, step_at
from remanence.errors import Conflict, NotFound, StoreError
from remanence.model.clock import Clock
from remanence.model.document import Shelving
from remanence.model.memory import Association
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.sleep import Status
from remanence.model.write import Action, Batch, Moved

_LOOK = timedelta(seconds=10)  # how often long work looks whether it is still wanted


class RunStopped(Exception):
    """The run was cancelled: what was done stays."""


class LeaseLost(Conflict):
    """Another process went on with the run; leave it to that one."""


@dataclass(eq=False)
class RunLeases:
    """Hands out runs to this process."""

    store: Store
    journal: Journal
    tenant: str
    clock: Clock
    new_id: Callable[[], UUID]
    lease_s: float = LEASE_S

    def take(self, account: Account) -> HeldRun:
        """Be at this run, new or known; `Conflict` if the step is somebody else's now."""
        version, latest = self.journal.latest(account.run.step)
        self._check(account, latest)
        account = replace(account, owner=str(self.new_id()))
        leases = Leases(self.store.documents, self.tenant, self.clock, account.owner, self.lease_s)
        passed = self.journal.pass_on(account, version, leases.claim())
        try:
            self.store.documents.put(self.tenant, [passed, self.journal.put(account)])
        except Conflict as lost:
            self._check(account, self.journal.latest(account.run.step)[1])
            raise Conflict("Another process was faster; try again.") from lost
        return HeldRun(self, replace(account, version=account.version + 1), leases)

    def abandoned(self, account: Account) -> bool:
        """Whether a run was under way and nobody is at it any more."""
        return account.under_way and not self.journal.lease(account).held(self.clock.now())

    def _check(self, account: Account, latest: Account | None) -> None:
        if latest is None or not latest.under_way:
            return
        if not self.abandoned(latest):
            who = latest.run.by or "Another process"
            raise Conflict(
                f"{who} is at it: the {latest.run.step} run {latest.run.id}; wait or cancel it."
            )
        if latest.run.id != account.run.id:
            raise Conflict(
                f"The {latest.run.step} run {latest.run.id} was cut off; resume it first."
            )


class HeldRun:
    """A run that this process is at. Whatever it writes fails once the lease is another's."""

    def __init__(self, desk: RunLeases, account: Account, leases: Leases) -> None:
        self._desk = desk
        self._leases = leases
        self._last = desk.clock.now()
        self.account = account

    def write(
        self,
        told: Account,
        page: RunPage,
        actions: Sequence[Action],
        links: Sequence[Association] = (),
        moved: Sequence[Moved] = (),
        unlinked: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        """Do one batch, with its page and the run's account, in one transaction."""
        journal = self._desk.journal
        documents: tuple[Shelving, ...] = (journal.put(told), journal.put_page(told, page))
        batch = Batch(
            tenant=self._desk.tenant,
            at=self._desk.clock.now(),
            actions=tuple(actions),
            links=tuple(links),
            moved=tuple(moved),
            unlinked=tuple(unlinked),
            documents=documents,
        )
        self._desk.store.archive.write(batch)
        self._put(told)

    def keep(
        self, *, heed: bool = True, run: Mapping[str, Any] | None = None, **changes: Any
    ) -> Account:
        """Write the account down with these changes; `run` are changes of the run itself.

        `RunStopped` if the run was cancelled meanwhile, unless that need not be heeded.
        """
        while True:
            told = replace(self.account, run=replace(self.account.run, **(run or {})), **changes)
            try:
                self._desk.store.documents.put(self._desk.tenant, [self._desk.journal.put(told)])
            except Conflict:
                self.refresh(heed=heed)
                continue
            self._put(told)
            return self.account

    def refresh(self, *, heed: bool = True) -> None:
        """Read the account again; `LeaseLost` if it is another's, `RunStopped` if cancelled."""
        id, owner = self.account.run.id, self.account.owner
        try:
            now = self._desk.journal.account(id)
        except NotFound as gone:
            raise LeaseLost(f"The account of the run {id} was removed; run it again.") from gone
        if now.owner != owner:
            raise LeaseLost(f"Another process went on with the run {id}; wait for that one.")
        self.account = now
        if heed and now.cancel:
            raise RunStopped

    def kept(self) -> AbstractContextManager[object]:
        """Renew the lease from another thread while the work goes on."""
        return self._leases.kept(step_at(self.account.run.step))

    def heeding(self, progress: Progress | None) -> Progress:
        """A progress callback that stops the work once it is cancelled, or another's."""

        def told(done: int, total: int) -> None:
            if abs(self._desk.clock.now() - self._last) >= _LOOK:
                self.refresh()
                self._last = self._desk.clock.now()
            if progress:
                progress(done, total)

        return told

    def end(self, status: Status, **run: Any) -> Account:
        """The run is over; one that was over before, and is taken back, keeps its own end."""
        ended_at = self.account.run.ended_at or self._desk.clock.now()
        changes = {"status": status, "ended_at": ended_at, **run}
        return self.keep(heed=False, run=changes, taking_back=None, cancel=False)

    def release(self) -> None:
        """Let whoever comes next go on with it, if the store can be told."""
        with suppress(StoreError):
            self._leases.release(step_at(self.account.run.step))

    def _put(self, told: Account) -> None:
        self.account = replace(told, version=told.version + 1)
