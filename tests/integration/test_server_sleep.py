"""A server sleeps by itself: on schedules made over REST, once for all servers, told in figures."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence import InvalidInput, Memory
from remanence.model.clock import FixedClock
from remanence.server.mcp.tools import tools_of
from remanence.testing.patience import HANG_S, until
from support import http
from support.server_process import MAIN, ServerProcess

FAILS = """
from remanence.consolidation.chores import UpkeepChore
def fail(*_):
    raise RuntimeError("on purpose")
UpkeepChore.run = fail
"""


@pytest.fixture(params=["file", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return str(tmp_path / "memory.db")
    return str(request.getfixturevalue("postgres_url"))


def asked(process: ServerProcess, path: str, **query: str) -> Mapping[str, Any]:
    answer = http.get(f"{process.url}{path}", params=query, timeout=HANG_S)
    assert answer.status_code == 200, answer.text
    told: Mapping[str, Any] = answer.json()
    return told


def runs(process: ServerProcess) -> list[Mapping[str, Any]]:
    found = asked(process, "/v1/sleep/runs", limit="100")["runs"]
    return [run for run in found if run["schedule"] == "mine"]


def figures(process: ServerProcess) -> dict[tuple[str, str], float]:
    """How many runs of each step ended how."""
    told = http.get(f"{process.url}/metrics", timeout=HANG_S).text
    found = re.findall(r'remanence_sleep_runs_total{status="(\w+)",step="(\w+)"} (\S+)', told)
    return {(step, status): float(count) for status, step, count in found}


def made_due(database: str, **plan: Any) -> None:
    """A schedule that came due while nobody worked."""
    past = FixedClock(datetime.now(UTC) - timedelta(hours=2))
    with Memory(database, clock=past) as memory:
        for name in ("hourly", "daily", "weekly"):
            memory.schedules.set(name, enabled=False)
        memory.schedules.set("mine", cron="0 * * * *", **plan)


@pytest.mark.slow
def test_a_schedule_made_over_rest_runs_by_itself_and_once(database: str) -> None:
    servers = 2 if database.startswith("postgres") else 1
    with ExitStack() as stack:
        processes = [ServerProcess(database) for _ in range(servers)]
        first, last = (stack.enter_context(one) for one in (processes[0], processes[-1]))
        given = {"name": "mine", "cron": "* * * * *", "steps": ["upkeep"], "idle_s": 0}
        made = http.put(f"{first.url}/v1/schedules", json=given, timeout=HANG_S).json()
        due = datetime.fromisoformat(made["next_due"])
        assert timedelta(0) < due - datetime.now(UTC) <= timedelta(minutes=1)
        until(lambda: asked(first, "/v1/schedules/get", name="mine")["obstacle"] is None)
        until(lambda: len(runs(last)) > 0)
        until(lambda: asked(last, "/v1/schedules/get", name="mine")["served"] is not None)
        moments = [run["started_at"][:16] for run in runs(last)]
        assert len(moments) == len(set(moments))
        assert sum(figures(one)["upkeep", "completed"] for one in processes) == len(runs(last))
        for one in processes:
            one.stop()
        assert [one.ended() for one in processes] == [0] * servers


def test_a_step_that_fails_is_told_in_figures(database: str) -> None:
    made_due(database, steps=["upkeep"])
    with ServerProcess(database, before=FAILS) as process:
        until(lambda: figures(process)["upkeep", "failed"] > 0)
        assert figures(process)["merge", "failed"] == 0
        assert "RuntimeError" in runs(process)[0]["error"]
        assert "RuntimeError" in asked(process, "/v1/schedules/get", name="mine")["error"]
        process.stop()
        assert process.ended() == 0


def test_a_server_that_is_stopped_in_a_step_ends_cleanly(tmp_path: Path) -> None:
    database = str(tmp_path / "memory.db")
    made_due(database, steps=["upkeep"])
    slow = FAILS.replace("*_", "self, night, progress").replace(
        'raise RuntimeError("on purpose")',
        "import time\n    while True:\n        progress(0, 1)\n        time.sleep(0.01)",
    )
    with ServerProcess(database, before=slow) as process:
        until(lambda: asked(process, "/v1/schedules/get", name="mine")["owner"] is not None)
        process.stop()
        assert process.ended() == 0
        assert "cut off" not in process.stderr
    with Memory(database) as memory:
        standing = memory.schedules.get("mine")
        assert (standing.owner, standing.served) == (None, None)
        assert "rem serve" in str(standing.obstacle)


def test_a_server_may_leave_it_to_workers(tmp_path: Path) -> None:
    database = str(tmp_path / "memory.db")
    made_due(database, steps=["upkeep"])
    with ServerProcess(database, sleeps="off") as process:
        standing = asked(process, "/v1/schedules/get", name="mine")
        assert "rem worker" in standing["obstacle"]
        assert runs(process) == []


def test_an_embedded_memory_sleeps_by_itself(database: str) -> None:
    made_due(database, steps=["upkeep"], idle_s=0)
    with Memory(database, background=True) as memory:
        until(lambda: memory.schedules.get("mine").served is not None)
        (run,) = memory.sleep.log()
        assert (run.step, run.status, run.schedule) == ("upkeep", "completed", "mine")
        assert memory.schedules.get("mine").obstacle is None
        begun = time.monotonic()
    assert time.monotonic() - begun < HANG_S
    with Memory(database) as memory:
        assert "Nobody runs" in str(memory.schedules.get("mine").obstacle)


def test_what_nobody_would_do_is_refused_or_told(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        with pytest.raises(InvalidInput, match="erase_after_days"):
            memory.schedules.set("mine", cron="0 3 * * *", steps=["erase"])
        made = memory.schedules.set("mine", cron="0 3 * * *", steps=["erase", "upkeep"])
        assert "Nobody runs" in str(made.obstacle)
        assert made.next_due is not None
        off = memory.schedules.set("mine", enabled=False)
        assert (off.next_due, "switched off" in str(off.obstacle)) == (None, True)


def test_the_command_line_says_when_it_runs_next_and_who_would(tmp_path: Path) -> None:
    database = str(tmp_path / "memory.db")
    Memory(database).close()
    given = ["schedule", "set", "mine", "--cron", "0 3 * * *", "--step", "upkeep"]
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *given, "--db", database],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    told = " ".join(done.stdout.split())
    assert "next 20" in told
    assert "Nobody runs the schedules of this memory" in told


def test_an_agent_is_told_when_it_runs_next() -> None:
    answer = tools_of("full")["schedules_set"].answer
    assert {"next_due", "obstacle"} <= {one.name for one in fields(answer)}
