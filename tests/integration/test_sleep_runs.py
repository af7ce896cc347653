"""Runs of sleep on both stores: done, shown, undone, overtaken, two at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remanence.errors import Conflict
from remanence.model.clock import SystemClock
from remanence.model.ports.store import Store
from remanence.model.sleep import Deed, Status
from remanence.model.write import Remove
from remanence.testing.store_suites.making import healthy, revise, write
from support.pairing import (
    Noting,
    Pairing,
    batches_of,
    fill_pairs,
    only,
    opened,
    sleeper,
    state_of,
)
from support.program import Program

PAIRS = 10

HOLDING = """
import sys
from remanence.model.clock import SystemClock
from support.pairing import Pairing, opened, sleeper
store = opened(sys.argv[1])
def planned():
    print("planned", flush=True)
    sys.stdin.readline()
run = sleeper(store, Pairing(store, planned=planned), clock=SystemClock(), by="worker 1").run()
print(run[0].status, run[0].id, flush=True)
"""

RACING = """
import sys
from remanence.model.clock import SystemClock
from remanence.errors import Conflict
from support.pairing import opened, sleeper
store = opened(sys.argv[1])
sleep = sleeper(store, clock=SystemClock())
print("ready", flush=True)
sys.stdin.readline()
try:
    [run] = sleep.run("merge")
    print(run.counts.get("merge", 0), flush=True)
except Conflict:
    print("conflict", flush=True)
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


def test_a_night_and_the_morning_after(store: Store) -> None:
    before = state_of(store)
    sleep = batches_of(sleeper(store, Pairing(store), Noting(store)), 6)
    merge, upkeep = sleep.run()
    assert {merge.status, upkeep.status} == {Status.COMPLETED}
    assert (merge.batches, merge.counts["merge"]) == (5, PAIRS)
    shown = sleep.show(merge.id)
    assert [one.batch for one in shown.changes] == sorted(one.batch for one in shown.changes)
    assert len(shown.changes) == 3 * PAIRS
    assert all(one.stands for one in shown.changes)
    undone = sleep.undo(merge.id)
    assert (undone.counts["restored"], undone.counts["withdrawn"]) == (2 * PAIRS, PAIRS)
    notes = {one.id for one in sleep.show(upkeep.id).changes}
    after = state_of(store)
    after["records"] = {id: one for id, one in after["records"].items() if id not in notes}
    assert after == before
    assert healthy(store)


def test_others_may_be_faster_with_some_memories(store: Store) -> None:
    a, b = [record for _, record in store.archive.scan("t")][:4:2]

    def meanwhile() -> None:
        revise(store, a.id, importance=0.3)
        write(store, Remove(id=b.id))

    run = only(sleeper(store, Pairing(store, planned=meanwhile)).run("merge"))
    assert (run.status, run.counts["overtaken"]) == (Status.COMPLETED, 2)
    assert run.counts["merge"] == PAIRS - 2
    assert store.archive.get("t", [a.id])[0].importance == 0.3


def test_a_failure_in_the_middle_leaves_the_state_as_it_was(store: Store) -> None:
    def spoil(deeds: list[Deed]) -> list[Deed]:
        action = deeds[6].actions[0]
        assert not isinstance(action, Remove)
        object.__setattr__(action, "changes", {"trust": 9.0})
        return deeds

    before = state_of(store)
    run = only(batches_of(sleeper(store, Pairing(store, spoil=spoil)), 6).run("merge"))
    assert (run.status, run.batches) == (Status.FAILED, 3)
    assert state_of(store) == before
    assert healthy(store)


def test_a_second_process_is_told_who_is_at_it(store: Store, where: str) -> None:
    with Program(HOLDING, where) as other:
        assert other.hear() == "planned"
        sleep = sleeper(store, clock=SystemClock())
        with pytest.raises(Conflict, match=r"worker 1 is at it: the merge run .*; wait or cancel"):
            sleep.run("merge")
        assert sleep.resume() == []
        running = only(sleep.log())
        sleep.cancel(running.id)
        other.say()
        assert other.hear() == f"cancelled {running.id}"
        assert other.ended() == 0
    assert only(sleep.log()).batches == 0
    assert only(sleep.run("merge")).counts["merge"] == PAIRS


def test_of_two_that_begin_at_once_each_pair_is_done_once(store: Store, where: str) -> None:
    racers = [Program(RACING, where) for _ in range(2)]
    for one in racers:
        assert one.hear() == "ready"
    for one in racers:
        one.say()
    told = [one.rest().strip() for one in racers]
    assert sum(int(one) for one in told if one != "conflict") == PAIRS
    sleep = sleeper(store)
    assert {run.status for run in sleep.log()} == {Status.COMPLETED}
    assert healthy(store)
