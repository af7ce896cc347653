"""Years of schedules in seconds: workers that crash anywhere, clocks that differ, and the count."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, cast

from remanence.consolidation.schedules.claims import Claims, ScheduleEntry, entry_of, heeding
from remanence.consolidation.schedules.plans import DEFAULTS, Schedule
from remanence.consolidation.schedules.worker import Worker
from remanence.model.document import Document, Put, Shelving
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.sleep import Run, Status, Step
from remanence.testing.store_suites.making import add, memory

BEGIN = datetime(2026, 1, 1, 0, 7, tzinfo=UTC)
SKEW_S = 5.0
LEASE_S = 300.0
LONGEST_RUN_S = 80  # three steps of this and the skew fit into a lease
TENANT = "t"
BURSTS = 0.001


class Crash(BaseException):
    """A worker's process is gone, here and now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What came of it. `moments` are those of the schedules' crons, `served` the runs for them."""

    days: int
    moments: int
    served: int
    lost: int
    doubled: int
    given_up: int
    crashes: int
    takeovers: int
    races: int


class Nights:
    """A store, some workers on it, and time that goes by in jumps.

    `careless` workers expect no version when they put, `forgetful` ones do not look what was done
    before them, `hasty` ones mark a moment served when they begin: runs must then be doubled, or
    lost, else the count is worth nothing.
    """

    def __init__(self, store: Store, seed: int, workers: int = 3) -> None:
        self.store = store
        self.chance = random.Random(seed)
        self.now = BEGIN
        self.careless = self.forgetful = self.hasty = False
        self.crash_rate, self.fail_rate, self.race_rate = 0.004, 0.01, 0.05
        self.completed: Counter[tuple[str, datetime, Step]] = Counter()
        self.claimed: dict[str, datetime] = {}
        self.journal: dict[str, list[tuple[datetime, Step]]] = defaultdict(list)
        self.served: dict[str, list[tuple[datetime, bool]]] = defaultdict(list)
        self.crashes = self.takeovers = self.races = 0
        self._busy: set[int] = set()
        self._machines = [Machine(self) for _ in range(workers)]

    def live(self, days: int) -> Tally:
        """Let so many days go by, then a quiet one, and count."""
        end = BEGIN + timedelta(days=days)
        while self.now < end:
            self.pass_time(self.chance.expovariate(1 / 2_000))
            self.tick_somebody()
            if self.chance.random() < BURSTS:
                self.remember()
        self.crash_rate = self.fail_rate = 0.0
        for _ in range(100):
            self.pass_time(900)
            self.tick_somebody()
        return self.tally(days)

    def pass_time(self, seconds: float) -> None:
        """Time goes by."""
        self.now += timedelta(seconds=seconds)

    def tick_somebody(self) -> None:
        """One machine that is up and not in the middle of something has its turn."""
        idle = [n for n, _ in enumerate(self._machines) if n not in self._busy]
        if not idle:
            return
        number = self.chance.choice(idle)
        self._busy.add(number)
        try:
            self._machines[number].tick()
        finally:
            self._busy.discard(number)

    def remember(self) -> None:
        """So many new memories that the daily schedule need not wait for its hour."""
        times = dict.fromkeys(("happened_at", "created_at", "updated_at"), self.now)
        add(self.store, *[memory(f"m{n}", TENANT, **times) for n in range(120)])

    def may_crash(self) -> None:
        """A point at which a process may die."""
        if self.chance.random() < self.crash_rate:
            self.crashes += 1
            raise Crash

    def note(self, before: ScheduleEntry | None, after: ScheduleEntry) -> None:
        """A document was put: see whether a moment was marked served."""
        if after.served is not None and (before is None or before.served != after.served):
            self.served[after.name].append((after.served, after.error is None))
        if before is not None and before.turn is not None and after.turn is not None:
            self.takeovers += before.turn.owner not in ("", after.turn.owner)

    def tally(self, days: int) -> Tally:
        """Every moment of every schedule: how often it was served."""
        moments = lost = doubled = 0
        for plan in DEFAULTS.values():
            every = self._moments(plan)
            marks = self.served[plan.name]
            moments += len(every)
            lost += sum(1 for one in every if not marks or one > marks[-1][0])
            doubled += sum(1 for a, b in pairwise(marks) if b[0] <= a[0])
            for due, well in marks:
                counts = [self.completed[plan.name, due, step] for step in plan.steps]
                lost += well and min(counts) == 0
                doubled += max(counts) > 1
        known = {(name, due) for name, marks in self.served.items() for due, _ in marks}
        doubled += len({(name, due) for name, due, _ in self.completed} - known)
        every_mark = [well for marks in self.served.values() for _, well in marks]
        return Tally(
            days=days,
            moments=moments,
            served=len(every_mark),
            lost=lost,
            doubled=doubled,
            given_up=every_mark.count(False),
            crashes=self.crashes,
            takeovers=self.takeovers,
            races=self.races,
        )

    def _moments(self, plan: Schedule) -> list[datetime]:
        """Those of which the jitter is over; the first documents were put soon after BEGIN."""
        found: list[datetime] = []
        at = plan.moments.after(self.first_put)
        while at is not None and at + timedelta(hours=1) < self.now:
            found.append(at)
            at = plan.moments.after(at)
        return found

    first_put = BEGIN


class Machine:
    """One worker after the other on one machine, whose clock is a little wrong."""

    def __init__(self, nights: Nights) -> None:
        self._nights = nights
        self._up_at = BEGIN
        self._start()

    def tick(self) -> None:
        nights = self._nights
        if nights.now < self._up_at:
            return
        try:
            self._worker.tick()
        except Crash:
            often = nights.chance.random() < 0.9
            away = nights.chance.expovariate(1 / (1_200 if often else 400_000))
            self._up_at = nights.now + timedelta(seconds=away)
            self._start()

    def now(self) -> datetime:
        """This machine's clock."""
        return self._nights.now + timedelta(seconds=self._skew)

    def _start(self) -> None:
        self._skew = self._nights.chance.uniform(-SKEW_S, SKEW_S)
        shaky = cast(Store, Shaky(self._nights))
        self._worker = Threadless(
            shaky,
            lambda _: Chores(self._nights, self),
            clock=self,
            tenants=lambda: [TENANT],
            lease_s=LEASE_S,
        )


class Threadless(Worker):
    """A worker whose runs are shorter than its leases: a thread for each would only take time."""

    @contextmanager
    def _renewing(self, claims: Claims, name: str) -> Iterator[Progress]:
        yield heeding(self._stop)


class Shaky:
    """The store as a worker sees it: around every put the process may die or another be faster."""

    def __init__(self, nights: Nights) -> None:
        self._nights = nights
        self.documents = ShakyDocuments(nights)
        self.upkeep = Named(nights)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nights.store, name)


class Named:
    """The store's upkeep, under a name so that a seed always gives the same jitter."""

    identity = "nights"

    def __init__(self, nights: Nights) -> None:
        self._nights = nights

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nights.store.upkeep, name)


class ShakyDocuments:
    """The store's documents: around every put the process may die or another be faster."""

    def __init__(self, nights: Nights) -> None:
        self._nights = nights

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nights.store.documents, name)

    def put(self, tenant: str, shelvings: Sequence[Shelving]) -> list[Document]:
        nights = self._nights
        if nights.chance.random() < nights.race_rate:
            nights.races += 1
            nights.tick_somebody()
        nights.may_crash()
        (put,) = shelvings
        assert isinstance(put, Put)
        if nights.careless:
            put = replace(put, expected=None)
        lease = put.value["lease"]
        if nights.hasty and lease:
            put = replace(put, value={**put.value, "served": lease["due"], "lease": None})
        before = nights.store.documents.get(tenant, [put.address])
        after = nights.store.documents.put(tenant, [put])
        nights.note(_entry(before[0]) if before else None, _entry(after[0]))
        if lease and lease["owner"]:
            nights.claimed[put.address.name] = datetime.fromisoformat(lease["due"])
        nights.may_crash()
        return after


class Chores:
    """Steps that take time, fail, die on the way, and leave a run behind when they are over."""

    def __init__(self, nights: Nights, machine: Machine) -> None:
        self._nights = nights
        self._machine = machine

    def run(self, step: Step, schedule: str, progress: Progress) -> Run:
        nights = self._nights
        begun = self._machine.now()
        for part in range(2):
            nights.pass_time(nights.chance.uniform(0, LONGEST_RUN_S / 6))
            progress(part, 2)
            nights.may_crash()
            nights.tick_somebody()
        if nights.chance.random() < nights.fail_rate:
            return _run(step, Status.FAILED, begun)
        nights.completed[schedule, nights.claimed[schedule], step] += 1
        nights.journal[schedule].append((begun, step))
        nights.may_crash()
        return _run(step, Status.COMPLETED, begun)

    def done(self, schedule: str, since: datetime) -> Collection[Step]:
        if self._nights.forgetful:
            return set()
        return {step for begun, step in self._nights.journal[schedule][-50:] if begun >= since}


def _run(step: Step, status: Status, at: datetime) -> Run:
    return Run(id=f"{step}@{at}", step=step, status=status, started_at=at)


def _entry(document: Document) -> ScheduleEntry:
    return entry_of(document.address.name, document.value, document.version)
