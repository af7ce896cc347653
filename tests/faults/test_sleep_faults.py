"""Kill -9 anywhere in a run or in its undoing: whole deeds only, it resumes, and undo is exact."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from remanence.consolidation.leases import LEASE_S
from remanence.consolidation.run_log import step_at
from remanence.errors import Conflict
from remanence.model.clock import FixedClock, SystemClock
from remanence.model.document import Address, Put, Shelf
from remanence.model.memory import State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.sleep import Status, Step
from remanence.testing.patience import until
from remanence.testing.store_suites.making import healthy
from support.kills import Kills
from support.pairing import batches_of, fill_pairs, only, opened, sleeper, state_of

KILLS = 4
QUICK_S = 0.3
PAIRS = 24

ELSEWHERE = """
from remanence.consolidation import leases
leases.this_process = lambda: ""
"""

PROGRAM = """
import sys
from datetime import timedelta
from remanence.model.clock import FixedClock, SystemClock
from remanence.testing.patience import until
from support.pairing import batches_of, opened, sleeper
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
    records = {record.id: record for _, record in store.archive.scan("t")}
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
            store.links.pointed("t", [second], "merged_into") == [first],
        }
        assert len(told) == 1
        merged += told == {True}
        moved = [sum(had), 0] if told == {True} else had
        assert [records[first].uses, records[second].uses] == moved
    made = [r for r in records.values() if r.origin == "sleep" and r.state == State.ACTIVE]
    reach = Reach(tenant="t", all_users=True)
    resting = [
        one for one in store.knowledge.claims(reach, limit=1000) if one.rested_at is not None
    ]
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


def test_what_was_killed_elsewhere_is_taken_up_when_its_lease_ends(
    store: Store, where: str
) -> None:
    before, kills = state_of(store), Kills(ELSEWHERE + PROGRAM)
    kills.whole(where, "run", 0)
    sleeper(store).undo(sleeper(store).log()[0].id)
    for _ in kills.rounds(KILLS):
        kills.kill(where, "run", 0)
        ended = SystemClock().now()
        last = sleeper(store).log()[0]
        if last.status is Status.RUNNING:
            assert sleeper(store, clock=FixedClock(ended - timedelta(seconds=1))).resume() == []
            later = sleeper(store, clock=FixedClock(ended + timedelta(seconds=LEASE_S)))
            assert [one.id for one in later.resume()] == [last.id]
        if sleeper(store).log()[0].status is not Status.UNDONE:
            sleeper(store).undo(last.id)
        assert state_of(store) == before


def test_who_is_slow_and_lives_is_never_relieved(store: Store) -> None:
    clock, leases = FixedClock(SystemClock().now()), 0
    slow = sleeper(store, clock=clock, lease_s=QUICK_S)
    other = sleeper(store, clock=clock, lease_s=QUICK_S)

    def until_renewed() -> bool:
        (step,) = store.documents.get("t", [step_at(Step.MERGE)])
        lease = step.value["lease"]
        assert isinstance(lease, dict)
        return bool(
            datetime.fromisoformat(lease["until"]) > clock.at + timedelta(seconds=QUICK_S / 2)
        )

    def progress(done: int, total: int) -> None:
        nonlocal leases
        for _ in range(0 if leases else 10):
            clock.at += timedelta(seconds=QUICK_S * 0.9)
            until(until_renewed)
            with pytest.raises(Conflict, match="is at it"):
                other.run("merge")
            assert other.resume() == []
            leases += 1

    assert only(slow.run("merge", progress=progress)).status is Status.COMPLETED
    assert leases == 10


def test_a_run_of_a_version_that_kept_no_lease_apart_is_left_to_it(store: Store) -> None:
    """Its lease of ten minutes stands in the account of the run."""
    clock = FixedClock(SystemClock().now())
    sleep = sleeper(store, clock=clock)
    run = only(sleep.run("merge"))
    account = Address(shelf=Shelf.RUN, name=run.id)
    (kept,) = store.documents.get("t", [account])
    until = (clock.at + timedelta(minutes=9)).isoformat()
    former = kept.value | {"status": "running", "ended_at": None, "until": until, "owner": "x"}
    store.documents.put("t", [
        Put(address=account, value=former, at=clock.at),
        Put(address=step_at(Step.MERGE), value={"run": run.id}, at=clock.at),
    ])  # fmt: skip
    assert sleep.resume() == []
    clock.at += timedelta(minutes=10)
    assert only(sleep.resume()).id == run.id


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
