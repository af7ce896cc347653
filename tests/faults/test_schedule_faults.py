"""Schedules when workers die, race and disagree about the time: no run lost, none doubled."""

from __future__ import annotations

import json
import os
import random
import signal
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remanence import Memory
from remanence.consolidation.schedules.schedules import Schedules
from remanence.consolidation.schedules.worker import Worker
from remanence.model.clock import FixedClock
from remanence.model.ports.store import Store
from remanence.model.sleep import Step
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore
from remanence.testing.patience import until
from support.nights import Nights, Tally
from support.places import opened
from support.program import Program

REM = "from remanence.cli.app import main; main()"
LEASE_S = 1.5

ELSEWHERE = """
from remanence.consolidation import leases
leases.this_process = lambda: ""
"""
HANGING = f"""
import sys, time
from remanence.consolidation.schedules.worker import Worker
from support.places import opened

class Hanging:
    def run(self, step, schedule, progress):
        print("go", flush=True)
        time.sleep(600)

    def done(self, schedule, since):
        return ()

store = opened(sys.argv[1])
Worker(store, lambda tenant: Hanging(), tenants=lambda: ["t"], lease_s={LEASE_S}).tick()
"""


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """The simulated failures are many; nobody needs to read of them."""
    caplog.set_level("CRITICAL", "remanence.consolidation")


def lived(store: Store, days: int, **changes: float) -> Tally:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    nights = Nights(store, seed)
    for name, value in changes.items():
        setattr(nights, name, value)
    return nights.live(days)


@pytest.mark.usefixtures("quiet")
def test_months_of_crashes_lose_and_double_nothing() -> None:
    with closing(SqliteStore(":memory:")) as store:
        tally = lived(store, 150)
    assert (tally.lost, tally.doubled) == (0, 0)
    assert tally.moments > 3_600
    assert tally.served > tally.moments / 2
    assert min(tally.crashes, tally.takeovers, tally.races) > 20


@pytest.mark.usefixtures("quiet")
def test_days_of_crashes_on_a_server_lose_and_double_nothing(postgres_url: str) -> None:
    with closing(PostgresStore(postgres_url)) as store:
        tally = lived(store, 4)
    assert (tally.lost, tally.doubled) == (0, 0)
    assert tally.served > 10


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("flaw", ["careless", "forgetful", "hasty"])
def test_the_count_tells_when_something_is_wrong(flaw: str) -> None:
    with closing(SqliteStore(":memory:")) as store:
        tally = lived(store, 10, crash_rate=0.03, **{flaw: True})
    assert (tally.lost if flaw == "hasty" else tally.doubled) > 0


@pytest.fixture(params=["sqlite", "postgres"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "memory.db")
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def owing(place: str) -> str:
    """A database that owes a run."""
    return owe(place)


def owe(place: str) -> str:
    """Let a schedule be due for days, for a step that loses nothing."""
    past = FixedClock(datetime.now(UTC) - timedelta(days=9))
    with closing(opened(place)) as store:
        schedules = Schedules(store, "t", past)
        for name in ("hourly", "daily", "weekly"):
            schedules.remove(name)
        schedules.set("mine", cron="0 0 * * *", steps=["upkeep"])
    return place


def test_of_two_workers_at_the_same_moment_one_runs(owing: str) -> None:
    environment = {**os.environ, "REMANENCE_DATABASE": owing, "REMANENCE_EMBEDDER": "none-here"}
    given = ("worker", "--once", "--json", "--tenant", "t")
    workers = [Program(REM, *given, env=environment) for _ in range(2)]
    answers = [json.loads(each.rest()) for each in workers]
    assert [each.returncode for each in workers] == [0, 0]
    (outcome,) = [one for answer in answers for one in answer["data"]["outcomes"]]
    assert [run["status"] for run in outcome["runs"]] == ["completed"]
    with Memory(owing, tenant="t", embedder="none-here") as memory:
        assert [(run.schedule, run.step) for run in memory.sleep.log()] == [("mine", "upkeep")]


def test_a_worker_that_was_killed_is_followed_at_once_where_that_is_seen(owing: str) -> None:
    with Program(HANGING.replace(f"lease_s={LEASE_S}", "lease_s=600"), owing) as program:
        assert program.hear() == "go"
    with Memory(owing, tenant="t", embedder="none-here") as memory:
        (outcome,) = Worker(
            memory.parts.store, lambda tenant: memory.service.runner(), tenants=lambda: ["t"]
        ).tick()
        assert [run.step for run in outcome.runs] == [Step.UPKEEP]


def test_a_worker_that_was_killed_elsewhere_is_followed_when_its_lease_ends(owing: str) -> None:
    with Program(ELSEWHERE + HANGING, owing) as program:
        assert program.hear() == "go"
    with Memory(owing, tenant="t", embedder="none-here") as memory:
        leased = memory.schedules.get("mine").until
        worker = Worker(
            memory.parts.store,
            lambda tenant: memory.service.runner(),
            tenants=lambda: ["t"],
            look_s=0,
        )
        (outcome,) = until(worker.tick)
        assert leased is not None
        assert datetime.now(UTC) >= leased
        assert [run.step for run in outcome.runs] == [Step.UPKEEP]
        assert outcome.error is None
        assert worker.tick() == []


def test_a_worker_ends_when_it_is_asked_to(tmp_path: Path) -> None:
    owing = owe(str(tmp_path / "memory.db"))
    environment = {**os.environ, "REMANENCE_DATABASE": owing, "REMANENCE_EMBEDDER": "none-here"}
    with Program(REM, "worker", "--every", 0.1, "--tenant", "t", env=environment) as worker:
        assert " t mine (time): upkeep " in worker.hear()
        worker.send_signal(signal.SIGTERM)
        assert (worker.rest(), worker.returncode) == ("", 0)
