"""Kill -9 anywhere in a run or in its undoing: whole deeds only, it resumes, and undo is exact."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from remanence.clock import FixedClock, SystemClock
from remanence.model.memory import State
from remanence.model.scope import Reach
from remanence.model.sleep import Status
from remanence.ports.store import Store
from remanence.testing.kills import Kills
from remanence.testing.pairing import batches_of, fill_pairs, only, opened, sleeper, state_of
from remanence.testing.store_suites.making import healthy

KILLS = 4
PAIRS = 24

PROGRAM = """
import sys
from datetime import timedelta
from remanence.clock import FixedClock, SystemClock
from remanence.testing.pairing import batches_of, opened, sleeper
where, what, hours = sys.argv[1:]
clock = FixedClock(SystemClock().now() + timedelta(hours=int(hours)))
store = opened(where)
sleep = batches_of(sleeper(store, clock=clock), 6)
print("go", flush=True)
sleep.run("merge") if what == "run" else sleep.undo(what)
print("done", flush=True)
"""


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a store."""
    if request.param == "sqlite":
        return str(tmp_path / "memory.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def store(where: str) -> Iterator[Store]:
    store = opened(where)
    fill_pairs(store, PAIRS)
    yield store
    store.close()


def done(store: Store, before: dict[str, Any]) -> int:
    """How many pairs are merged; each is whole or not at all."""
    records = {record.id: record for _, record in store.scan("t")}
    pairs: dict[Any, list[str]] = {}
    for id, one in before["records"].items():
        pairs.setdefault(one.metadata["pair"], []).append(id)
    merged = 0
    for first, second in pairs.values():
        had = [before["records"][id].uses for id in (first, second)]
        told = {
            records[first].importance == 0.9,
            records[second].state == State.ARCHIVED,
            records[second].superseded_by == first,
            store.pointed("t", [second], "merged_into") == [first],
        }
        assert len(told) == 1
        merged += told == {True}
        moved = [sum(had), 0] if told == {True} else had
        assert [records[first].uses, records[second].uses] == moved
    made = [r for r in records.values() if r.origin == "sleep" and r.state == State.ACTIVE]
    reach = Reach(tenant="t", all_users=True)
    resting = [one for one in store.claims(reach, limit=1000) if one.rested_at is not None]
    assert (len(made), resting) == (merged, [])
    return merged


def test_killed_anywhere_a_run_is_whole_deeds_and_goes_on(store: Store, where: str) -> None:
    before, kills = state_of(store), Kills(PROGRAM)
    now = SystemClock().now()
    kills.whole(where, "run", 0)
    sleep = sleeper(store, clock=FixedClock(now))
    sleep.undo(only(sleep.log()).id)
    assert state_of(store) == before
    for n in kills.rounds(KILLS):
        kills.kill(where, "run", n)
        assert done(store, before) <= PAIRS
        later = FixedClock(now + timedelta(hours=n, minutes=30))
        sleep = sleeper(store, clock=later)
        last = sleep.log()[0]
        if n % 2:
            resumed = sleep.resume()
            assert [one.id for one in resumed] in ([last.id], [])
            assert not resumed or (only(resumed).status, done(store, before)) == (
                Status.COMPLETED,
                PAIRS,
            )
        last = sleep.log()[0]
        if last.status is not Status.UNDONE:
            assert sleep.undo(last.id).status is Status.UNDONE
        assert state_of(store) == before
    assert healthy(store)


def test_what_a_killed_process_was_at_is_taken_up_at_once(store: Store, where: str) -> None:
    """No lease is waited for: on the same machine it can be seen that nobody is at it."""
    before, kills = state_of(store), Kills(PROGRAM)
    kills.whole(where, "run", 0)
    sleep = sleeper(store, clock=FixedClock(SystemClock().now()))
    sleep.undo(only(sleep.log()).id)
    for _ in kills.rounds(KILLS):
        kills.kill(where, "run", 0)
        sleep = sleeper(store, clock=FixedClock(SystemClock().now()))
        last = sleep.log()[0]
        if last.status is Status.RUNNING:
            assert [one.id for one in sleep.resume()] == [last.id]
        if sleep.log()[0].status is not Status.UNDONE:
            sleep.undo(last.id)
        assert state_of(store) == before


def test_killed_anywhere_undoing_goes_on_to_the_state_before(store: Store, where: str) -> None:
    before, kills = state_of(store), Kills(PROGRAM)
    now = SystemClock().now()
    for n in chain([0], kills.rounds(KILLS)):
        clock = FixedClock(now + timedelta(hours=2 * n))
        sleep = batches_of(sleeper(store, clock=clock), 6)
        run = only(sleep.run("merge"))
        assert done(store, before) == PAIRS
        if n == 0:
            kills.whole(where, run.id, 0)
        else:
            kills.kill(where, run.id, 2 * n)
            done(store, before)
            clock.at += timedelta(hours=1)
            resumed = sleep.resume()
            if not resumed and sleep.show(run.id).run.status is not Status.UNDONE:
                sleep.undo(run.id)
        assert sleep.show(run.id).run.status is Status.UNDONE
        assert state_of(store) == before
    assert healthy(store)
