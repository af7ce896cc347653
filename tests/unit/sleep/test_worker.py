"""The worker: serves what is due, reports what fails, stops when told, doubts a jumping clock."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast

import pytest

from remanence.consolidation.schedules.claims import Counting
from remanence.consolidation.schedules.schedules import Schedules
from remanence.consolidation.schedules.worker import Background, ServedMoment, SleepRunner, Worker
from remanence.errors import Conflict, StoreBusy
from remanence.model.clock import FixedClock
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.scope import Reach
from remanence.model.sleep import Run, Status, Step
from remanence.store.sqlite import SqliteStore
from remanence.testing.patience import HANG_S, until
from remanence.testing.store_suites.making import add, memory

BEGIN = datetime(2026, 1, 1, 0, 30, tzinfo=UTC)
SECRET = "the safe opens with 4711"

Act = Callable[[Step, Progress], Run | None]


class Steps:
    """A runner that does what it is told to, and remembers what it did."""

    def __init__(self, clock: FixedClock) -> None:
        self.clock = clock
        self.ran: list[Run] = []
        self.act: Act | None = None

    def run(self, step: Step, schedule: str, progress: Progress) -> Run | None:
        made = None if self.act is None else self.act(step, progress)
        run = made or Run(
            id=str(len(self.ran)),
            step=step,
            status=Status.COMPLETED,
            started_at=self.clock.now(),
            schedule=schedule,
        )
        self.ran.append(run)
        return run

    def done(self, schedule: str, since: datetime) -> Collection[Step]:
        return {
            run.step
            for run in self.ran
            if run.status is Status.COMPLETED and run.started_at >= since
        }


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(BEGIN)


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    store = SqliteStore(":memory:")
    add(store, memory("a", created_at=BEGIN))
    yield store
    store.close()


@pytest.fixture
def steps(clock: FixedClock) -> Steps:
    return Steps(clock)


@pytest.fixture
def schedules(store: SqliteStore, clock: FixedClock) -> Schedules:
    schedules = Schedules(store, "t", clock)
    for name in ("hourly", "daily", "weekly"):
        schedules.remove(name)
    schedules.set("mine", cron="0 * * * *", steps=["merge", "forget"])
    return schedules


def worker(store: SqliteStore, steps: Steps, clock: FixedClock, **more: Any) -> Worker:
    return Worker(store, lambda tenant: steps, clock=clock, **({"look_s": 0} | more))


def ran(steps: Steps) -> list[str]:
    return [str(run.step) for run in steps.ran]


def failing(step: Step, progress: Progress) -> Run | None:
    return Run(
        id="x", step=step, status=Status.FAILED, started_at=BEGIN, error="StoreBusy: try again"
    )


def raising(step: Step, progress: Progress) -> Run | None:
    raise ValueError(SECRET)


@pytest.mark.usefixtures("schedules")
@pytest.mark.parametrize("act", [None, failing])
def test_a_clock_that_was_ahead_stops_no_schedule(
    store: SqliteStore, steps: Steps, clock: FixedClock, act: Act | None
) -> None:
    one = worker(store, steps, clock)
    steps.act = act
    clock.at = BEGIN + timedelta(days=300)
    assert len(one.tick()) == 1
    steps.act = None
    clock.at = BEGIN + timedelta(hours=1)
    one.tick()
    steps.ran.clear()
    clock.at = BEGIN + timedelta(hours=2)
    assert [outcome.error for outcome in one.tick()] == [None]
    assert ran(steps) == ["merge", "forget"]
    assert one.tick() == []


@pytest.mark.usefixtures("schedules")
def test_what_is_due_runs_once(store: SqliteStore, steps: Steps, clock: FixedClock) -> None:
    told: list[ServedMoment] = []
    one, other = worker(store, steps, clock, tell=told.append), worker(store, steps, clock)
    assert one.tick() == []
    clock.at = BEGIN + timedelta(days=9)
    (outcome,) = one.tick()
    assert one.tick() == other.tick() == []
    assert ran(steps) == ["merge", "forget"]
    assert told == [outcome]
    assert (outcome.schedule, outcome.cause, outcome.error) == ("mine", "time", None)
    assert outcome.due == clock.at.replace(minute=0)


def test_a_failure_is_told_and_tried_three_times_in_all(
    store: SqliteStore,
    steps: Steps,
    clock: FixedClock,
    schedules: Schedules,
    caplog: pytest.LogCaptureFixture,
) -> None:
    alerts: list[ServedMoment] = []
    one = worker(store, steps, clock, alert=alerts.append)
    one.tick()
    steps.act = raising
    clock.at = BEGIN + timedelta(minutes=31)
    for _ in range(40):
        clock.at += timedelta(seconds=30)
        with caplog.at_level(logging.WARNING, "remanence.consolidation"):
            one.tick()
    assert [alert.error for alert in alerts] == ["merge: ValueError"] * 3
    assert [alert.again_at is None for alert in alerts] == [False, False, True]
    assert SECRET not in caplog.text
    assert caplog.text.count("failed (try") == 3
    assert schedules.get("mine").error == "merge: ValueError"
    steps.act = None
    clock.at += timedelta(hours=1)
    assert len(one.tick()) == 1
    assert schedules.get("mine").error is None


@pytest.mark.usefixtures("schedules")
def test_after_a_failure_only_the_rest_is_done_again(
    store: SqliteStore, steps: Steps, clock: FixedClock
) -> None:
    one = worker(store, steps, clock)
    one.tick()
    clock.at = BEGIN + timedelta(hours=1)
    steps.act = lambda step, told: failing(step, told) if step is Step.FORGET else None
    (outcome,) = one.tick()
    assert outcome.error == "forget: StoreBusy: try again"
    assert outcome.again_at is not None
    clock.at, steps.act = outcome.again_at, None
    (again,) = one.tick()
    assert (again.due, again.error) == (outcome.due, None)
    assert ran(steps) == ["merge", "forget", "forget"]


@pytest.mark.usefixtures("schedules")
def test_somebody_at_the_step_by_hand_is_no_failure(
    store: SqliteStore, steps: Steps, clock: FixedClock
) -> None:
    alerts: list[ServedMoment] = []
    one = worker(store, steps, clock, alert=alerts.append)
    one.tick()

    def busy(step: Step, progress: Progress) -> Run | None:
        raise Conflict("Somebody is at it; wait.")

    steps.act = busy
    clock.at = BEGIN + timedelta(hours=1)
    for _ in range(20):
        one.tick()
        clock.at += timedelta(seconds=30)
    assert (alerts, steps.ran) == ([], [])
    steps.act = None
    clock.at += timedelta(seconds=60)
    assert len(one.tick()) == 1


@pytest.mark.usefixtures("schedules")
def test_a_worker_that_is_stopped_leaves_the_rest_to_the_next(
    store: SqliteStore, steps: Steps, clock: FixedClock
) -> None:
    one = worker(store, steps, clock)
    one.tick()
    clock.at = BEGIN + timedelta(hours=1)

    def stopped(step: Step, progress: Progress) -> Run | None:
        if step is Step.FORGET:
            one.stop()
            progress(1, 2)
            pytest.fail("it went on")
        return None

    steps.act = stopped
    assert one.tick() == []
    steps.act = None
    assert len(worker(store, steps, clock).tick()) == 1
    assert ran(steps) == ["merge", "forget"]


@pytest.mark.usefixtures("schedules")
def test_a_lease_that_is_lost_ends_the_run(
    store: SqliteStore, steps: Steps, clock: FixedClock
) -> None:
    slow, quick = worker(store, steps, clock, lease_s=0.3), worker(store, steps, clock)
    slow.tick()
    clock.at = BEGIN + timedelta(hours=1)
    ended: list[bool] = []

    def overtaken(step: Step, progress: Progress) -> Run | None:
        steps.act = None
        clock.at += timedelta(hours=1)  # as if it had stood still for so long
        assert len(quick.tick()) == 1
        deadline = time.monotonic() + 10
        try:
            while time.monotonic() < deadline:
                progress(0, 1)
        finally:
            ended.append(time.monotonic() < deadline)
        return None

    steps.act = overtaken
    assert slow.tick() == []
    assert ended == [True]
    assert ran(steps) == ["merge", "forget"]


@pytest.mark.usefixtures("schedules")
def test_a_lease_is_renewed_while_the_run_goes_on(
    store: SqliteStore, steps: Steps, clock: FixedClock
) -> None:
    one, other = worker(store, steps, clock, lease_s=0.3), worker(store, steps, clock)
    one.tick()
    clock.at = BEGIN + timedelta(hours=1)

    def long(step: Step, progress: Progress) -> Run | None:
        steps.act = None
        before = Schedules(store, "t", clock).get("mine").until
        clock.at += timedelta(seconds=0.25)
        until(lambda: Schedules(store, "t", clock).get("mine").until != before)
        clock.at += timedelta(seconds=0.25)
        assert other.tick() == []
        return None

    steps.act = long
    assert len(one.tick()) == 1


@pytest.mark.usefixtures("schedules")
def test_a_clock_that_jumped_starts_nothing(
    store: SqliteStore, steps: Steps, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    one = worker(store, steps, clock)
    one.tick()
    clock.at = BEGIN + timedelta(days=3650)
    with caplog.at_level(logging.WARNING, "remanence.consolidation"):
        assert one.tick() == one.tick() == []
    assert caplog.text.count("it may be wrong") == 1
    clock.at = BEGIN - timedelta(days=3650)
    assert one.tick() == []
    assert steps.ran == []
    clock.at = BEGIN + timedelta(hours=1)
    assert len(one.tick()) == 1


def test_new_memories_start_a_run_before_its_hour(
    store: SqliteStore, steps: Steps, clock: FixedClock, schedules: Schedules
) -> None:
    schedules.set("mine", after_new=5)
    one = worker(store, steps, clock)
    clock.at += timedelta(minutes=1)
    add(store, *[memory(f"m{n}", created_at=clock.at) for n in range(4)])
    assert one.tick() == []
    add(store, memory("m5", created_at=clock.at))
    clock.at += timedelta(minutes=1)
    (outcome,) = one.tick()
    assert outcome.cause == "memories"
    assert one.tick() == []


def test_what_did_not_change_is_not_counted_again(store: SqliteStore) -> None:
    asked: list[Reach] = []

    class Archive:
        """The store's, and how often it was counted."""

        def count(self, *args: Any) -> int:
            asked.append(Reach(tenant="t"))
            return store.archive.count(*args)

    class Asked:
        """The store, with that archive."""

        archive = Archive()

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

    counts = partial(Counting(cast(Store, Asked())).count, "t")
    before = BEGIN - timedelta(days=1)
    assert [counts(before, False), counts(before, False), len(asked)] == [1, 1, 1]
    assert [counts(before, True), counts(BEGIN, False), len(asked)] == [0, 0, 3]
    add(store, memory("b", kind="message", user_id="u"))
    assert [counts(BEGIN, False), counts(before, True), len(asked)] == [1, 1, 5]


@pytest.mark.usefixtures("schedules")
def test_who_uses_the_memory_is_not_disturbed(
    store: SqliteStore, steps: Steps, clock: FixedClock
) -> None:
    active = [time.monotonic()]
    one = worker(store, steps, clock, last_active=lambda tenant: active[0], idle_s=3600)
    one.tick()
    clock.at = BEGIN + timedelta(minutes=40)
    assert one.tick() == []
    active[0] -= 3600
    assert len(one.tick()) == 1


def test_every_tenant_has_its_turn(store: SqliteStore, steps: Steps, clock: FixedClock) -> None:
    add(store, memory("b", tenant="u"))
    one = worker(store, steps, clock)
    one.tick()
    clock.at = BEGIN + timedelta(hours=2)
    assert [(o.tenant, o.schedule) for o in one.tick()] == [("t", "hourly"), ("u", "hourly")]


@pytest.mark.usefixtures("schedules")
def test_a_listener_that_fails_stops_nothing(
    store: SqliteStore, steps: Steps, clock: FixedClock
) -> None:
    def deaf(outcome: ServedMoment) -> None:
        raise RuntimeError

    one = worker(store, steps, clock, tell=deaf)
    one.tick()
    clock.at = BEGIN + timedelta(hours=1)
    assert len(one.tick()) == 1


def test_in_the_background_it_starts_and_stops_in_the_middle_of_a_run(
    store: SqliteStore, steps: Steps, schedules: Schedules, clock: FixedClock
) -> None:
    begun = threading.Event()

    def long(step: Step, progress: Progress) -> Run | None:
        begun.set()
        while True:
            progress(0, 1)
            time.sleep(0.001)

    steps.act = long
    background = Background(worker(store, steps, clock), every_s=0.01)
    background.start()
    background.start()
    clock.at = BEGIN + timedelta(hours=1)
    assert begun.wait(HANG_S)
    assert background.stop()
    assert not background.running
    standing = schedules.get("mine")
    assert (standing.owner, standing.served) == (None, None)


def test_a_store_that_is_busy_or_closed_is_survived(steps: Steps, clock: FixedClock) -> None:
    asked = threading.Event()
    store = SqliteStore(":memory:")

    def tenants() -> list[str]:
        if asked.is_set():
            return store.upkeep.tenants()
        asked.set()
        raise StoreBusy("busy; try again.")

    background = Background(worker(store, steps, clock, tenants=tenants), every_s=0.01)
    background.start()
    assert asked.wait(HANG_S)
    store.close()
    until(lambda: not background.running)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_no_worker(store: SqliteStore, steps: Steps, clock: FixedClock) -> None:
    background = Background(worker(store, steps, clock), every_s=0.01)
    background.start()
    child = os.fork()
    if child == 0:
        ended = background.stop()
        os._exit(0 if ended and not background.running else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert background.running
    assert background.stop()


def test_sleep_is_run_step_by_step() -> None:
    class Sleeper:
        """What `Sleep` does, in short."""

        has_model = False

        def __init__(self) -> None:
            self.runs: list[Run] = []

        def run(
            self,
            steps: Any = None,
            *,
            schedule: str | None = None,
            progress: Any = None,
            model: bool = False,
        ) -> list[Run]:
            (step,) = steps
            run = Run(
                id=f"{len(self.runs)}",
                step=step,
                status=Status.COMPLETED,
                started_at=BEGIN,
                schedule=schedule,
            )
            self.runs.append(run)
            return [run]

        def log(self, *, limit: int = 50) -> list[Run]:
            return self.runs[::-1]

    runner = SleepRunner(Sleeper(), leave_out=[Step.ERASE])
    assert runner.run(Step.ERASE, "weekly", lambda *_: None) is None
    done = runner.run(Step.UPKEEP, "weekly", lambda *_: None)
    assert done is not None
    assert done.step is Step.UPKEEP
    assert runner.done("weekly", BEGIN) == {Step.UPKEEP}
    assert runner.done("weekly", BEGIN + timedelta(microseconds=1)) == set()
    assert runner.done("daily", BEGIN) == set()


def test_the_language_model_is_asked_and_done_without_where_it_fails() -> None:
    asked: list[bool] = []

    class Sleeper:
        """One whose language model is away."""

        has_model = True

        def run(self, steps: Any, *, model: bool = False, **_: Any) -> list[Run]:
            asked.append(model)
            told = {"status": Status.FAILED, "error": "LanguageModelError: it is away"}
            fine = {"status": Status.COMPLETED}
            how: dict[str, Any] = told if model else fine
            return [Run(id="1", step=Step.MERGE, started_at=BEGIN, **how)]

    done = SleepRunner(cast(Any, Sleeper())).run(Step.MERGE, "daily", lambda *_: None)
    assert done is not None
    assert (done.status, asked) == (Status.COMPLETED, [True, False])


def test_a_worker_is_seen_while_it_is_there(
    store: SqliteStore, steps: Steps, schedules: Schedules, clock: FixedClock
) -> None:
    assert "Nobody runs" in str(schedules.get("mine").obstacle)
    background = Background(worker(store, steps, clock, tenants=lambda: ["t"]), every_s=0.01)
    background.start()
    until(lambda: schedules.get("mine").obstacle is None)
    assert Schedules(store, "u", clock).get("daily").obstacle is not None
    clock.at += timedelta(minutes=11)  # and gave no sign since
    assert schedules.get("mine").obstacle is not None
    clock.at -= timedelta(minutes=11)
    assert background.stop()
    until(lambda: schedules.get("mine").obstacle is not None)


def test_what_was_changed_is_looked_at_now(
    store: SqliteStore, steps: Steps, schedules: Schedules, clock: FixedClock
) -> None:
    one = worker(store, steps, clock, look_s=3600)
    background = Background(one, every_s=3600)
    background.start()
    until(lambda: schedules.get("mine").obstacle is None)
    clock.at = BEGIN + timedelta(minutes=50)
    schedules.set("mine", cron="40 * * * *")
    clock.at = BEGIN + timedelta(minutes=75)
    one.look("t")
    until(lambda: len(steps.ran) > 0)
    assert background.stop()
