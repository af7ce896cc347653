"""The worker: looks what is due, runs it under a lease, tells of it; on a thread if asked."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from math import inf
from secrets import token_hex
from typing import TYPE_CHECKING, Protocol

from remanence.consolidation.leases import LEASE_S, SIGNED_S, Leases, sign_off, sign_on
from remanence.consolidation.schedules.claims import (
    Claims,
    Counting,
    Due,
    Interrupted,
    ScheduleEntry,
    due,
    heeding,
    jitter_of,
    next_due,
)
from remanence.consolidation.schedules.plans import DEFAULTS, Schedule
from remanence.errors import Closed, Conflict, InvalidInput, LanguageModelError, StoreError
from remanence.layers.cleanup import believed
from remanence.model.clock import Clock, SystemClock
from remanence.model.fork_safety import ForkSafeLock
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.scope import RESERVED, Reach
from remanence.model.sleep import Run, Status, Step

if TYPE_CHECKING:
    from remanence.consolidation.sleep import Sleep

EVERY_S = 30.0
IDLE_S = 60.0
LEAST_S = 1.0
LOOK_S = 300.0  # what others set, and what is counted, is noticed within this time
TRIES = 3
FIRST_PAUSE_S = 60.0
BACKOFF = 5

_log = logging.getLogger("remanence.consolidation")


class Runner(Protocol):
    """What runs the steps of one tenant."""

    def run(self, step: Step, schedule: str, progress: Progress) -> Run | None:
        """Do one step; None if it is not done here. `Conflict` if somebody else is at it.

        `progress` is called between its transactions, and may end it there.
        """

    def done(self, schedule: str, since: datetime) -> Collection[Step]:
        """Steps of which a run for that schedule was begun at `since` or later and is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedMoment:
    """One due moment that was served, or tried: `error` says why not, and `again_at` when again."""

    tenant: str
    schedule: str
    due: datetime
    cause: str
    runs: tuple[Run, ...] = ()
    seconds: float = 0.0
    error: str | None = None
    again_at: datetime | None = None


Tell = Callable[[ServedMoment], None]


class Worker:
    """Goes round the tenants of a store; any number of workers may, on any number of machines.

    `runner` gives what runs a tenant's steps; without `tenants` it does so for all there are.
    `last_active` is when a tenant's memory was last used, in seconds of `time.monotonic`; without
    it, it always counts as idle. `idle_s` is for schedules that say nothing of their own. `tell`
    hears of every run, `alert` of every failure.
    """

    def __init__(
        self,
        store: Store,
        runner: Callable[[str], Runner],
        *,
        clock: Clock | None = None,
        tenants: Callable[[], Sequence[str]] | None = None,
        last_active: Callable[[str], float] | None = None,
        idle_s: float = IDLE_S,
        tell: Tell | None = None,
        alert: Tell | None = None,
        lease_s: float = LEASE_S,
        look_s: float = LOOK_S,
        owner: str | None = None,
    ) -> None:
        self._store = store
        self._runner = runner
        self._clock = clock or SystemClock()
        self._tenants = tenants
        self._last_active, self._idle_s = last_active, idle_s
        self._tell, self._alert = tell, alert
        self._lease_s, self._look_s = lease_s, look_s
        self.owner = owner or f"{socket.gethostname()}:{os.getpid()}:{token_hex(4)}"
        self._look_at: dict[str, tuple[datetime, datetime]] = {}
        self._free_at: dict[str, datetime] = {}
        self._doubted: set[str] = set()
        self._stop, self._called = threading.Event(), threading.Event()
        self._counting = Counting(store)
        self._signing = Leases(store.documents, "", self._clock, self.owner, SIGNED_S)
        self._sign_at = -inf

    def run(self, every_s: float = EVERY_S) -> None:
        """Tick until `stop` is called or the store is closed; meanwhile others see that it does."""
        while not self._stop.is_set():
            try:
                self._sign()
                self.tick()
            except Closed:
                return
            except StoreError as error:
                _log.warning("The schedules could not be read (%s).", type(error).__name__)
            self._called.wait(min(every_s, self._until_free()))
            self._called.clear()
        with suppress(Closed, StoreError):
            sign_off(self._signing)

    def stop(self) -> None:
        """End after the transaction under way; another worker goes on with what is left."""
        self._stop.set()
        self._called.set()

    def look(self, tenant: str) -> None:
        """Look at a tenant's schedules now: they were changed."""
        self._look_at.pop(tenant, None)
        self._called.set()

    def _sign(self) -> None:
        if time.monotonic() >= self._sign_at:
            sign_on(self._signing, None if self._tenants is None else self._tenants())
            self._sign_at = time.monotonic() + SIGNED_S / 2

    def _served(self) -> Sequence[str]:
        if self._tenants is not None:
            return self._tenants()
        return [one for one in self._store.upkeep.tenants() if not one.startswith(RESERVED)]

    def tick(self) -> list[ServedMoment]:
        """Serve all that is due now, tenant after tenant; what became of it."""
        outcomes: list[ServedMoment] = []
        for tenant in self._served():
            if self._stop.is_set():
                break
            if self._to_look_at(tenant):
                outcomes += self._round(tenant)
        return outcomes

    def _until_free(self) -> float:
        """Seconds until the first lease of another ends, unless that is renewed meanwhile."""
        now = self._clock.now()
        left = [until - now for until in self._free_at.values() if until > now]
        return max(LEAST_S, min(left).total_seconds()) if left else inf

    def _to_look_at(self, tenant: str) -> bool:
        looked, again = self._look_at.get(tenant, (datetime.max, datetime.max))
        now = self._clock.now().replace(tzinfo=None)
        return not looked <= now < again

    def _round(self, tenant: str) -> list[ServedMoment]:
        claims = Claims(self._store.documents, tenant, self._clock, self.owner, self._lease_s)
        looked, outcomes, moved = self._clock.now(), [], False
        found = standing(claims)
        for plan, entry in found:
            wanted = self._due(tenant, plan, entry)
            if wanted is not None and not self._stop.is_set() and self._believed(tenant):
                served = self._serve(tenant, claims, plan, entry, wanted)
                outcomes += [] if served is None else [served]
                moved = True
        self._plan_look(tenant, standing(claims) if moved else found, looked)
        return outcomes

    def _due(self, tenant: str, plan: Schedule, entry: ScheduleEntry) -> Due | None:
        return due(
            plan,
            entry,
            self._clock.now(),
            jitter=jitter_of(plan, self._store.upkeep.identity, tenant),
            idle=self._is_idle(tenant, plan),
            counts=partial(self._counting.count, tenant),
        )

    def _is_idle(self, tenant: str, plan: Schedule) -> bool:
        if self._last_active is None:
            return True
        wanted = self._idle_s if plan.idle_s is None else plan.idle_s
        return time.monotonic() - self._last_active(tenant) >= wanted

    def _believed(self, tenant: str) -> bool:
        """Whether the clock can be right; a jump starts no run."""
        reach = Reach(tenant=tenant, all_users=True)
        try:
            believed(self._clock.now(), lambda where: self._store.archive.count(reach, where))
        except InvalidInput as error:
            if tenant not in self._doubted:
                _log.warning("Nothing runs by schedule: %s", error)
            self._doubted.add(tenant)
            return False
        self._doubted.discard(tenant)
        return True

    def _plan_look(
        self, tenant: str, found: Sequence[tuple[Schedule, ScheduleEntry]], looked: datetime
    ) -> None:
        now = self._clock.now()
        latest = now + timedelta(seconds=self._look_s)
        coming = [
            next_due(plan, entry, now, jitter_of(plan, self._store.upkeep.identity, tenant))
            for plan, entry in found
        ]
        held = [entry.turn.until for _, entry in found if entry.turn and entry.held(now)]
        self._free_at |= {tenant: min(held, default=latest)}
        again = min([latest, *(moment for moment in coming if moment is not None)])
        self._look_at[tenant] = looked.replace(tzinfo=None), again.replace(tzinfo=None)

    def _serve(
        self, tenant: str, claims: Claims, plan: Schedule, entry: ScheduleEntry, found: Due
    ) -> ServedMoment | None:
        runner = self._runner(tenant)
        found, done = self._merged(tenant, plan, entry, found, runner)
        claimed = claims.claim(entry, found)
        if claimed is None:
            return None
        begun = time.monotonic()
        outcome = ServedMoment(
            tenant=tenant, schedule=plan.name, due=found.moment, cause=found.cause
        )
        with self._renewing(claims, plan.name) as progress:
            runs, error = _run(runner, plan, done, progress)
        outcome = replace(outcome, runs=tuple(runs), seconds=time.monotonic() - begun)
        return self._end(claims, claimed, outcome, error)

    def _merged(
        self, tenant: str, plan: Schedule, entry: ScheduleEntry, found: Due, runner: Runner
    ) -> tuple[Due, Collection[Step]]:
        """What is still to do of a moment that was begun; if that is all, newer ones join it."""
        if entry.turn is None:
            return found, ()
        done = runner.done(plan.name, entry.turn.began)
        if done:
            return found, done
        newest = self._due(tenant, plan, replace(entry, turn=None))
        return (found, ()) if newest is None or newest.moment <= found.moment else (newest, ())

    def _end(
        self,
        claims: Claims,
        claimed: ScheduleEntry,
        outcome: ServedMoment,
        error: BaseException | str | None,
    ) -> ServedMoment | None:
        """Write down what became of it; None if another worker has it by now."""
        name, now = claimed.name, self._clock.now()
        if isinstance(error, Interrupted):
            claims.release(name)
            return None
        if isinstance(error, Conflict):
            claims.release(name, now + timedelta(seconds=FIRST_PAUSE_S))
            return None
        if error is None:
            kept = claims.serve(name)
            self._say(self._tell, outcome)
            return None if kept is None else outcome
        return self._failed(claims, claimed, outcome, str(error))

    def _failed(
        self, claims: Claims, claimed: ScheduleEntry, outcome: ServedMoment, error: str
    ) -> ServedMoment | None:
        name, tries = claimed.name, claimed.tries + 1
        again_at = None
        if tries >= TRIES:
            kept = claims.serve(name, error)
        else:
            pause = FIRST_PAUSE_S * BACKOFF ** (tries - 1)
            again_at = self._clock.now() + timedelta(seconds=pause)
            kept = claims.fail(name, error, again_at)
        if kept is None:
            return None
        outcome = replace(outcome, error=error, again_at=again_at)
        _log.warning("Schedule %r failed (try %d of %d): %s", name, tries, TRIES, error)
        self._say(self._tell, outcome)
        self._say(self._alert, outcome)
        return outcome

    def _say(self, to: Tell | None, outcome: ServedMoment) -> None:
        if to is None:
            return
        try:
            to(outcome)
        except Exception as error:  # a listener that fails is no reason to stop
            _log.warning("Nobody could be told of a run (%s).", type(error).__name__)

    @contextmanager
    def _renewing(self, claims: Claims, name: str) -> Iterator[Progress]:
        with claims.kept(name) as lost:
            yield heeding(self._stop, lost)


def standing(claims: Claims) -> list[tuple[Schedule, ScheduleEntry]]:
    """Every schedule with how it stands, the defaults first; those without a document get one."""
    entries = claims.entries()
    found = []
    for name in (*DEFAULTS, *(name for name in entries if name not in DEFAULTS)):
        known = entries.get(name)
        entry = claims.enter(name) if known is None else claims.right(known)
        plan = entry.plan or DEFAULTS.get(name)
        if plan is not None:
            found.append((plan, entry))
    return found


def _run(
    runner: Runner, plan: Schedule, done: Collection[Step], progress: Progress
) -> tuple[list[Run], BaseException | str | None]:
    """Run what is not done yet, step after step; stops at the first that fails."""
    runs: list[Run] = []
    for step in (step for step in plan.steps if step not in done):
        try:
            progress(0, 0)
            run = runner.run(step, plan.name, progress)
        except (Interrupted, Conflict) as error:
            return runs, error
        except Exception as error:  # whatever it is: the schedule must go on
            return runs, f"{step}: {type(error).__name__}"
        runs += [] if run is None else [run]
        if run is not None and run.status is Status.FAILED:
            return runs, f"{step}: {run.error or 'it failed'}"
    return runs, None


LOOKED_AT = 200
_OVER = (Status.COMPLETED, Status.CANCELLED, Status.UNDONE)

STOP_S = 1.0


class SleepRunner:
    """Runs the steps of schedules with a tenant's `Sleep`.

    `leave_out` are steps that this memory does not do, such as erasing without a policy for it.
    The language model is asked, if there is one; where it fails, rules do the step without it.
    """

    def __init__(self, sleep: Sleep, leave_out: Collection[Step] = ()) -> None:
        self._sleep = sleep
        self._leave_out = leave_out

    def run(self, step: Step, schedule: str, progress: Progress) -> Run | None:
        """Do one step, after what was cut off of it before; None if it is left out."""
        if step in self._leave_out:
            return None
        asked = self._sleep.has_model
        run = self._sleep.run([step], schedule=schedule, progress=progress, model=asked)[-1]
        if asked and (run.error or "").startswith(LanguageModelError.__name__):
            run = self._sleep.run([step], schedule=schedule, progress=progress)[-1]
        return run

    def done(self, schedule: str, since: datetime) -> Collection[Step]:
        """Steps of which a run for that schedule was begun at `since` or later and is over."""
        return {
            run.step
            for run in self._sleep.log(limit=LOOKED_AT)
            if run.schedule == schedule and run.started_at >= since and run.status in _OVER
        }


class Background:
    """Runs a worker on a daemon thread from `start` to `stop`. A forked child has no such thread:
    its parent's goes on, and one worker is enough."""

    def __init__(self, worker: Worker, every_s: float = EVERY_S) -> None:
        self.worker = worker
        self._every_s = every_s
        self._lock = ForkSafeLock()
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether the thread is alive."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def start(self) -> None:
        """Begin; nothing if it has begun."""
        with self._lock:
            if not self.running:
                self._thread = threading.Thread(
                    target=self.worker.run,
                    args=(self._every_s,),
                    name="remanence-sleep",
                    daemon=True,
                )
                self._thread.start()

    def stop(self, timeout_s: float = STOP_S) -> bool:
        """End after the transaction under way; whether the thread ended in time."""
        self.worker.stop()
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout_s)
        return not thread.is_alive()
