"""Runs over a real store: done in batches, cut, cancelled, failed, resumed, undone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from remanence.consolidation.engine import cut
from remanence.consolidation.sleep import Sleep
from remanence.errors import Conflict, InvalidInput, LanguageModelError, NotFound, StoreUnavailable
from remanence.model.clock import FixedClock
from remanence.model.document import Shelf
from remanence.model.memory import State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.sleep import Deed, ForgetPolicy, Night, Plan, Run, SleepPolicy, Status, Step
from remanence.model.write import Insert, Remove, Revise
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import NOW, add, healthy, memory, put, revise, write
from support.copies import all_of, fill_documents
from support.pairing import (
    Noting,
    Pairing,
    batches_of,
    fill_pairs,
    only,
    sleeper,
    state_of,
)

PAIRS = 12
HOUR = timedelta(hours=1)


@pytest.fixture
def store() -> Iterator[Store]:
    store = SqliteStore(":memory:")
    fill_pairs(store, PAIRS)
    yield store
    store.close()


def paired(store: Store) -> int:
    return len(store.links.pointing("t", [r.id for _, r in store.archive.scan("t")], "merged_into"))


def test_a_dry_run_tells_and_changes_nothing(store: Store) -> None:
    before, sleep = state_of(store), sleeper(store, Pairing(store), Noting(store))
    merge, upkeep = sleep.plan()
    assert (merge.step, len(merge.deeds), merge.looked_at) == (Step.MERGE, PAIRS, 2 * PAIRS)
    assert upkeep.notes == ("one note would be made",)
    assert state_of(store) == before
    assert sleep.log() == []


def test_a_run_does_what_was_planned_in_batches(store: Store) -> None:
    sleep = batches_of(sleeper(store, by="me"), 6)
    run = only(sleep.run("merge", schedule="nightly"))
    assert run == Run(
        id=run.id, step=Step.MERGE, status=Status.COMPLETED, started_at=NOW, ended_at=NOW,
        by="me", schedule="nightly", counts={"looked_at": 2 * PAIRS, "merge": PAIRS}, batches=6,
    )  # fmt: skip
    assert paired(store) == PAIRS
    assert sum(r.origin == "sleep" for _, r in store.archive.scan("t")) == PAIRS
    assert not any(one.rested_at for one in store.knowledge.claims(all_of("t")))
    assert sleep.log() == [run]
    assert only(sleep.run("merge")).counts == {"looked_at": 0}
    assert healthy(store)


def test_the_journal_holds_no_text(store: Store) -> None:
    sleeper(store).run("merge")
    documents = [one for one, _ in store.documents.scan("t") if one.address.shelf == Shelf.RUN]
    assert len(documents) == 3
    told = json.dumps([dict(one.value) for one in documents])
    for word in ("left", "right", "both of", "Ána"):
        assert word not in told
    assert {one.expires_at for one in documents} == {
        None, NOW + timedelta(days=90), NOW + timedelta(days=91),
    }  # fmt: skip


def test_undo_gives_back_what_was(store: Store) -> None:
    before, sleep = state_of(store), batches_of(sleeper(store), 6)
    run = only(sleep.run("merge"))
    assert state_of(store) != before
    undone = sleep.undo(run.id)
    assert undone.status is Status.UNDONE
    told = {"restored": 2 * PAIRS, "withdrawn": PAIRS}
    assert undone.counts == {"looked_at": 2 * PAIRS, "merge": PAIRS, **told}
    assert state_of(store) == before
    with pytest.raises(Conflict, match="undone already"):
        sleep.undo(run.id)
    assert state_of(store) == before
    assert healthy(store)
    assert only(sleep.run("merge")).counts["merge"] == PAIRS  # a new night decides anew


def test_undoing_does_not_lengthen_a_run(store: Store) -> None:
    run = only(sleeper(store).run("merge"))
    undone = sleeper(store, clock=FixedClock(NOW + HOUR)).undo(run.id)
    assert (undone.status, undone.ended_at, undone.seconds) == (Status.UNDONE, NOW, 0)


def test_undo_leaves_what_somebody_changed_since(store: Store) -> None:
    sleep = sleeper(store)
    run = only(sleep.run("merge"))
    shown = sleep.show(run.id)
    assert all(one.stands for one in shown.changes)
    merged = [one for one in shown.changes if one.verb == "merged"]
    first, third = merged[0], merged[-1]
    second = next(one for one in shown.changes if one.verb == "added")
    revise(store, first.id, importance=0.5)
    revise(store, second.id, pinned=True)
    write(store, Remove(id=third.id))
    assert sum(not one.stands for one in sleep.show(run.id).changes) == 3
    undone = sleep.undo(run.id)
    assert undone.counts["left"] == 3
    assert undone.counts["restored"] == 2 * PAIRS - 2
    assert undone.counts["withdrawn"] == PAIRS - 1
    kept = {one.id: one for one in store.archive.get("t", [first.id, second.id])}
    assert kept[first.id].importance == 0.5
    assert kept[second.id].state == State.ACTIVE
    assert not any(one.stands for one in sleep.show(run.id).changes)


def test_a_memory_that_changed_after_the_plan_is_overtaken_alone(store: Store) -> None:
    a, b, c, d = [record for _, record in store.archive.scan("t")][:8:2]

    def meanwhile() -> None:
        revise(store, a.id, importance=0.3)
        write(store, Remove(id=b.id))

    def doubled(deeds: list[Deed]) -> list[Deed]:
        return [*deeds, deeds[-1]]

    run = only(sleeper(store, Pairing(store, planned=meanwhile, spoil=doubled)).run("merge"))
    assert (run.status, run.counts["overtaken"], run.counts["merge"]) == (
        Status.COMPLETED, 3, PAIRS - 2,
    )  # fmt: skip
    assert store.archive.get("t", [a.id])[0].importance == 0.3
    assert store.archive.get("t", [c.id])[0].importance == 0.9
    assert d.version == 1


def test_what_is_derived_from_a_memory_that_changed_is_overtaken(store: Store) -> None:
    a = next(record for _, record in store.archive.scan("t"))

    def inserts_only(deeds: list[Deed]) -> list[Deed]:
        new = [one for one in deeds[0].actions if isinstance(one, Insert)]
        links = deeds[0].links[1:]
        return [replace(deeds[0], actions=tuple(new), links=links, moved=()), *deeds[1:]]

    def meanwhile() -> None:
        revise(store, a.id, text="something else")

    planner = Pairing(store, planned=meanwhile, spoil=inserts_only)
    run = only(sleeper(store, planner).run("merge"))
    assert (run.counts["overtaken"], run.counts["merge"]) == (1, PAIRS - 1)
    assert store.links.pointing("t", [a.id], "summarises") == []


@pytest.mark.parametrize("bad", [
    {"changes": {"importance": 7.0}}, {"changes": {"tenant": "u"}}, {"changes": {"nothing": 1}},
], ids=str)  # fmt: skip
def test_a_deed_that_violates_leaves_everything_as_it_was(
    store: Store, bad: dict[str, Any]
) -> None:
    def spoil(deeds: list[Deed]) -> list[Deed]:
        action = deeds[-1].actions[0]
        assert isinstance(action, Revise)
        actions = (replace(action, **bad), *deeds[-1].actions[1:])
        return [*deeds[:-1], replace(deeds[-1], actions=actions)]

    before, told = state_of(store), list[Run]()
    sleep = batches_of(sleeper(store, Pairing(store, spoil=spoil), tell=told.append), 6)
    run = only(sleep.run("merge"))
    assert run.status is Status.FAILED
    assert run.error is not None
    assert run.error.startswith("InvalidInput: ")
    assert run.batches == 5
    assert state_of(store) == before
    assert told == [run]
    assert sleep.log(status="failed") == [run]
    with pytest.raises(Conflict, match="failed"):
        sleep.undo(run.id)
    assert healthy(store)


def test_a_planner_that_fails_does_not_stop_the_next_step(store: Store) -> None:
    def fail() -> None:
        raise LanguageModelError("left of 3 is what it said")

    before = state_of(store)
    sleep = sleeper(store, Pairing(store, planned=fail), Noting(store))
    merge, upkeep = sleep.run()
    assert merge.error == (
        "LanguageModelError: The language model did not answer as it should; the message says "
        "what to check."
    )
    assert (merge.status, upkeep.status) == (Status.FAILED, Status.COMPLETED)
    sleep.undo(upkeep.id)
    assert len(state_of(store)["records"]) == len(before["records"]) + 1  # no origin: archived


def test_an_unexpected_error_is_named_and_not_quoted(store: Store) -> None:
    def fail() -> None:
        raise ZeroDivisionError("left of 3")

    run = only(sleeper(store, Pairing(store, planned=fail)).run("merge"))
    assert run.error is not None
    assert run.error.startswith("ZeroDivisionError: ")
    assert "left" not in run.error


def test_a_listener_that_fails_harms_nobody(store: Store) -> None:
    def tell(run: Run) -> None:
        raise ValueError(run.id)

    run = only(sleeper(store, Pairing(store, takes=1), tell=tell).run("merge"))
    assert run.alarm is not None


def test_the_cap_cuts_a_run_and_sounds_the_alarm(store: Store) -> None:
    told: list[Run] = []
    policy = SleepPolicy(cap=0.1)  # of 24: 3
    sleep = batches_of(sleeper(store, Pairing(store, takes=1), policy=policy, tell=told.append), 1)
    assert len(sleep.plan("merge")[0].deeds) == 3
    run = only(sleep.run("merge"))
    assert (run.status, run.counts["taken"]) == (Status.COMPLETED, 3)
    assert run.alarm is not None
    assert told == [run]
    assert paired(store) == 3
    assert only(sleep.run("merge", policy=SleepPolicy(cap=0.0))).counts == {"looked_at": 18}
    free = only(sleep.run("merge", policy=SleepPolicy(cap=1.0)))
    assert (free.alarm, free.counts["taken"]) == (None, 9)


def test_the_cap_is_for_a_day_however_many_runs_it_has(store: Store) -> None:
    clock, policy = FixedClock(NOW), SleepPolicy(cap=0.1)  # of 24: 3
    sleep = sleeper(store, Pairing(store, takes=1), policy=policy, clock=clock)
    first = only(sleep.run("merge"))
    for _ in range(3):
        clock.at += HOUR
        again = only(sleep.run("merge"))
        assert (again.counts.get("taken"), bool(again.alarm)) == (None, True)
    assert sleep.plan("merge")[0].takes == 0
    sleep.undo(first.id)
    assert only(sleep.run("merge")).counts["taken"] == 3
    clock.at += timedelta(days=1)
    assert only(sleep.run("merge")).counts["taken"] == 3
    clock.at -= timedelta(days=300)  # what a clock ahead took does not count for ever
    assert only(sleep.run("merge")).counts["taken"] == 3


def test_what_one_user_lost_today_is_no_other_users(store: Store) -> None:
    sleep = sleeper(store, Pairing(store, takes=1), policy=SleepPolicy(cap=0.1))
    assert only(sleep.run("merge", user_id="ana")).counts["taken"] == 2  # of 12
    assert only(sleep.run("merge", user_id="ana")).counts.get("taken") is None
    assert only(sleep.run("merge")).counts["taken"] == 1


@pytest.mark.parametrize(("memories", "room"), [(1, 0), (2, 1), (20, 1), (51, 2)])
def test_no_cap_but_a_whole_one_takes_all(memories: int, room: int) -> None:
    store = SqliteStore(":memory:")
    add(store, *[memory(str(n)) for n in range(memories)])
    reach, engine = Reach(tenant="t", all_users=True), sleeper(store)._engine
    assert engine.room(Night(reach=reach, now=NOW, policy=SleepPolicy())) == room
    assert engine.room(Night(reach=reach, now=NOW, policy=SleepPolicy(cap=1))) == memories
    store.close()


def test_what_takes_nothing_stays_in_a_plan_that_is_cut() -> None:
    deeds = tuple(
        Deed(what=str(n), why="", about=(), actions=(), takes=takes)
        for n, takes in enumerate((1, 2, 0, 1, 0))
    )
    plan = Plan(step=Step.FORGET, deeds=deeds)
    assert [one.what for one in cut(plan, 2, 0.02).deeds] == ["0", "2", "4"]
    assert cut(plan, 4, 0.02) == plan


def test_a_run_that_is_cancelled_stops_before_its_next_batch(store: Store) -> None:
    before, sleep = state_of(store), batches_of(sleeper(store), 6)
    seen: list[int] = []

    def progress(done: int, total: int) -> None:
        seen.append(done)
        if len(seen) == 3:  # planning has told once
            running = only(sleep.log(status="running"))
            assert sleep.cancel(running.id).status is Status.RUNNING

    run = only(sleep.run("merge", progress=progress))
    assert (run.status, run.batches, run.counts["merge"]) == (Status.CANCELLED, 2, 4)
    assert paired(store) == 4
    with pytest.raises(Conflict, match="has ended"):
        sleep.cancel(run.id)
    assert sleep.undo(run.id).counts["restored"] == 8
    assert state_of(store) == before


def test_a_chore_is_stopped_at_its_next_sign_of_life(store: Store) -> None:
    clock = FixedClock(NOW)

    def work(progress: Any) -> None:
        sleep.cancel(only(sleep.log()).id)
        clock.at += timedelta(minutes=1)
        progress(1, 2)

    sleep = sleeper(store, Noting(store, work=work), clock=clock)
    assert only(sleep.run("upkeep")).status is Status.CANCELLED
    assert not any(record.text == "a note" for _, record in store.archive.scan("t"))


def test_a_chore_is_undone_by_itself_and_by_what_it_made(store: Store) -> None:
    chore = Noting(store)
    sleep = sleeper(store, chore)
    run = only(sleep.run("upkeep"))
    assert (run.counts, run.batches) == ({"noted": 1}, 1)
    [made] = sleep.show(run.id).changes
    assert (made.verb, made.version, made.stands) == ("added", 1, True)
    undone = sleep.undo(run.id)
    assert undone.counts == {"noted": 1, "withdrawn": 1, "taken_back": 1}
    assert store.archive.get("t", [made.id])[0].state == State.ARCHIVED
    assert chore.notes == 0


def test_a_chore_that_was_done_when_it_was_cancelled_is_done(store: Store) -> None:
    def work(progress: Any) -> None:
        sleep.cancel(only(sleep.log()).id)

    sleep = sleeper(store, Noting(store, work=work))
    run = only(sleep.run("upkeep"))
    assert (run.status, len(sleep.show(run.id).changes)) == (Status.COMPLETED, 1)


def test_a_chore_that_fails_is_failed(store: Store) -> None:
    def work(progress: Any) -> None:
        raise NotFound("left of 3")

    run = only(sleeper(store, Noting(store, work=work)).run("upkeep"))
    assert (run.status, run.batches) == (Status.FAILED, 0)
    assert run.error is not None
    assert run.error.startswith("NotFound: No such memory")


def cut_off(store: Store, at: int, clock: FixedClock, **how: Any) -> Sleep:
    """A run that died before a batch, without a chance to say so."""
    sleep = batches_of(sleeper(store, clock=clock, by="the dead", **how), 6)
    writes = iter(range(100))
    real = store.archive.write

    def dying(batch: Any) -> Any:
        if batch.documents and next(writes) == at:
            raise Died
        return real(batch)

    store.archive.write = dying  # type: ignore[method-assign]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("remanence.consolidation.run_leases.HeldRun.release", lambda self: None)
        with pytest.raises(Died):
            sleep.run("merge")
    store.archive.write = real  # type: ignore[method-assign]
    return sleep


class Died(BaseException):
    """As a kill, but here."""


def test_a_run_that_was_cut_off_is_resumed_under_its_id(store: Store) -> None:
    clock = FixedClock(NOW)
    cut_off(store, 2, clock)
    sleep = batches_of(sleeper(store, clock=clock), 6)
    dead = only(sleep.log())
    assert (dead.status, dead.batches) == (Status.RUNNING, 2)
    with pytest.raises(Conflict, match="the dead is at it"):
        sleep.run("merge")
    assert sleep.resume() == []
    clock.at += HOUR
    run = only(sleep.resume())
    assert (run.id, run.status, run.batches) == (dead.id, Status.COMPLETED, 6)
    assert run.counts == {"looked_at": 2 * PAIRS, "merge": PAIRS}
    assert sleep.resume() == []
    sleep.undo(run.id)


def test_the_next_night_goes_on_with_what_was_cut_off(store: Store) -> None:
    clock = FixedClock(NOW)
    before = state_of(store)
    cut_off(store, 2, clock)
    clock.at += HOUR
    sleep = sleeper(store, clock=clock)
    dead = only(sleep.log())
    assert only(sleep.run("merge")).id == dead.id
    assert paired(store) == PAIRS
    sleep.undo(dead.id)
    assert state_of(store) == before


def test_a_night_for_another_user_comes_after_what_was_cut_off(store: Store) -> None:
    clock = FixedClock(NOW)
    cut_off(store, 2, clock)
    clock.at += HOUR
    dead, mine = sleeper(store, clock=clock).run("merge", user_id="ana")
    assert (dead.user_id, mine.user_id) == (None, "ana")
    assert {dead.status, mine.status} == {Status.COMPLETED}


def test_what_was_cut_off_can_be_cancelled_or_undone(store: Store) -> None:
    clock, before = FixedClock(NOW), state_of(store)
    cut_off(store, 2, clock)
    sleep = sleeper(store, clock=clock)
    dead = only(sleep.log())
    with pytest.raises(Conflict, match="under way"):
        sleep.undo(dead.id)
    clock.at += HOUR
    assert sleep.cancel(dead.id).status is Status.CANCELLED
    assert sleep.undo(dead.id).counts["restored"] == 8
    assert state_of(store) == before
    cut_off(store, 1, clock)
    clock.at += HOUR
    assert sleep.undo(only(sleep.log(status="running")).id).status is Status.UNDONE
    assert state_of(store) == before


def test_the_room_of_a_run_is_not_renewed_by_resuming_it(store: Store) -> None:
    clock, policy = FixedClock(NOW), SleepPolicy(cap=0.25)  # of 24: 6
    planner = Pairing(store, takes=1)
    sleep = batches_of(sleeper(store, planner, clock=clock, policy=policy), 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("remanence.consolidation.run_leases.HeldRun.release", lambda self: None)

        def progress(done: int, total: int) -> None:
            if done == 4 and total == 6:
                raise Died

        with pytest.raises(Died):
            sleep.run("merge", progress=progress)
    clock.at += HOUR
    run = only(sleep.resume())
    assert (run.counts["taken"], paired(store)) == (6, 6)


def test_an_interrupt_gives_the_run_back_at_once(store: Store) -> None:
    def progress(done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    sleep = batches_of(sleeper(store), 6)
    with pytest.raises(KeyboardInterrupt):
        sleep.run("merge", progress=progress)
    assert only(sleep.log()).status is Status.RUNNING
    run = only(sleep.run("merge"))
    assert (run.status, paired(store)) == (Status.COMPLETED, PAIRS)


def test_a_store_that_goes_away_leaves_a_run_to_be_resumed(store: Store) -> None:
    clock, before = FixedClock(NOW), state_of(store)
    sleep = batches_of(sleeper(store, clock=clock), 6)
    real = store.archive.write, store.documents.put

    def gone(*given: Any) -> Any:
        raise StoreUnavailable("It does not answer.")

    refused: Any = gone

    def progress(done: int, total: int) -> None:
        if done == 4:
            store.archive.write, store.documents.put = refused, refused  # type: ignore[method-assign]

    with pytest.raises(StoreUnavailable):
        sleep.run("merge", progress=progress)
    store.archive.write, store.documents.put = real  # type: ignore[method-assign]
    assert (only(sleep.log()).status, paired(store)) == (Status.RUNNING, 4)
    clock.at += HOUR
    run = only(sleep.resume())
    assert (run.status, run.error, paired(store)) == (Status.COMPLETED, None, PAIRS)
    sleep.undo(run.id)
    assert state_of(store) == before


def test_who_lost_the_lease_stops_without_harm(store: Store) -> None:
    clock = FixedClock(NOW)
    slow = batches_of(sleeper(store, clock=clock), 6)
    fast = sleeper(store, clock=clock)

    def progress(done: int, total: int) -> None:
        if done == 4:
            clock.at += HOUR
            assert only(fast.run("merge")).status is Status.COMPLETED

    with pytest.raises(Conflict, match="went on with the run"):
        slow.run("merge", progress=progress)
    assert only(slow.log()).status is Status.COMPLETED
    assert paired(store) == PAIRS


def test_users_are_kept_apart(store: Store) -> None:
    add(store, *[memory("x", tenant="u", metadata={"pair": 1}) for _ in range(2)])
    run = only(sleeper(store).run("merge", user_id="ana"))
    assert (run.user_id, run.counts["merge"]) == ("ana", PAIRS // 2)
    assert {r.state for _, r in store.archive.scan("u")} == {State.ACTIVE}
    assert {r.user_id for _, r in store.archive.scan("t") if r.origin == "sleep"} == {"ana"}


@pytest.mark.parametrize("steps", ["nap", ["merge", "nap"], [3], "learn", b"merge", 7], ids=str)
def test_unknown_steps_are_refused_with_those_there_are(store: Store, steps: Any) -> None:
    with pytest.raises(InvalidInput, match=r"merge, upkeep, consolidate|must be a list"):
        sleeper(store, Pairing(store), Noting(store)).run(steps)


def test_names_of_steps(store: Store) -> None:
    sleep = sleeper(store, Noting(store), Pairing(store), Noting(store, step=Step.ERASE))
    assert [plan.step for plan in sleep.plan("consolidate")] == [Step.MERGE]
    assert [plan.step for plan in sleep.plan(["upkeep", "merge"])] == [Step.MERGE, Step.UPKEEP]
    assert [plan.step for plan in sleep.plan()] == [Step.MERGE, Step.UPKEEP]
    erasing = SleepPolicy(forget=ForgetPolicy(erase_after_days=30))
    steps = [plan.step for plan in sleep.plan(policy=erasing)]
    assert steps == [Step.MERGE, Step.ERASE, Step.UPKEEP]
    with pytest.raises(InvalidInput, match="erase_after_days"):
        sleep.run("erase")
    assert sleep.run([]) == []


@pytest.mark.parametrize("given", [
    {"user_id": ""}, {"user_id": 3}, {"model": 1}, {"now": "soon"}, {"now": datetime(2026, 1, 1)},
    {"policy": {"cap": 1}}, {"schedule": ""},
], ids=str)  # fmt: skip
def test_values_are_checked_before_anything_happens(store: Store, given: dict[str, Any]) -> None:
    sleep = sleeper(store)
    with pytest.raises(InvalidInput):
        sleep.run(**given)
    assert sleep.log() == []


def test_a_clock_that_is_not_believed_runs_nothing(store: Store) -> None:
    def doubted() -> datetime:
        raise InvalidInput("The clock may be wrong.")

    sleep = sleeper(store)
    sleep.believed = doubted
    with pytest.raises(InvalidInput, match="clock"):
        sleep.run()
    assert only(sleep.run("merge", now="2026-03-01T13:00:00Z")).status is Status.COMPLETED


def test_the_log_is_filtered_and_bounded(store: Store) -> None:
    clock = FixedClock(NOW)
    sleep = sleeper(store, Pairing(store), Noting(store), clock=clock)
    runs = []
    for _ in range(3):
        runs += sleep.run()
        clock.at += HOUR
    assert sleep.log() == sorted(runs, key=lambda run: (run.started_at, run.id), reverse=True)
    assert {run.step for run in sleep.log(step="upkeep")} == {Step.UPKEEP}
    assert len(sleep.log(limit=2)) == 2
    refused: list[dict[str, Any]] = [
        {"limit": 0},
        {"limit": True},
        {"step": "nap"},
        {"status": "odd"},
    ]
    for bad in refused:
        with pytest.raises(InvalidInput):
            sleep.log(**bad)


@pytest.mark.parametrize("id", ["nobody", "step/merge", "x/000001", "'; --"])
def test_runs_that_are_not_there_are_not_found(store: Store, id: str) -> None:
    sleep = sleeper(store)
    sleep.run("merge")
    for verb in (sleep.show, sleep.undo, sleep.cancel):
        with pytest.raises(NotFound, match=r"sleep.log"):
            verb(id)
    with pytest.raises(InvalidInput):
        sleep.show("")


def test_documents_that_are_no_journal_are_passed_over(store: Store) -> None:
    sleep = sleeper(store)
    run = only(sleep.run("merge"))
    fill_documents(store, "t")
    assert sleep.log() == [run]
    page = next(one for one, _ in store.documents.scan("t") if one.address.name.endswith("/000001"))
    put(store, page.address, {"inserted": [7]})
    assert sleep.show(run.id).changes == ()
    with pytest.raises(NotFound, match="journal"):
        sleep.undo(run.id)
    assert (only(sleep.log()), sleep.resume()) == (run, [])


def test_undoing_that_was_cut_off_can_be_given_up_and_taken_up(store: Store) -> None:
    clock, before = FixedClock(NOW), state_of(store)
    sleep = batches_of(sleeper(store, clock=clock), 6)
    run = only(sleep.run("merge"))
    real, writes = store.archive.write, iter(range(10))

    def dying(batch: Any) -> Any:
        if next(writes) == 2:
            with pytest.raises(Conflict, match="being undone"):
                sleep.cancel(run.id)
            raise Died
        return real(batch)

    store.archive.write = dying  # type: ignore[method-assign]
    with pytest.raises(Died):
        sleep.undo(run.id)
    store.archive.write = real  # type: ignore[method-assign]
    assert sleep.cancel(run.id).status is Status.CANCELLED
    assert sleep.resume() == []
    undone = sleep.undo(run.id)
    assert (undone.status, undone.counts["restored"]) == (Status.UNDONE, 2 * PAIRS)
    assert state_of(store) == before


def test_a_present_that_is_to_come_takes_no_account_away(store: Store) -> None:
    sleep = sleeper(store, Pairing(store), Noting(store))
    run = only(sleep.run("merge"))
    later = sleep.run(now=NOW + timedelta(days=400))
    assert [one.status for one in later] == [Status.COMPLETED] * 2
    assert len(sleep.log()) == 3
    assert sleep.undo(run.id).status is Status.UNDONE


def test_what_is_done_late_is_stamped_when_it_is_done(store: Store) -> None:
    clock, new = FixedClock(NOW), NOW + 72 * HOUR
    known = {record.id for _, record in store.archive.scan("t")}
    cut_off(store, 2, clock)
    early = {record.id for _, record in store.archive.scan("t")} - known
    clock.at = new
    run = only(batches_of(sleeper(store, clock=clock), 6).resume())
    late = [one for one in store.archive.get("t", [r.id for _, r in store.archive.scan("t")])
            if one.origin == "sleep" and one.id not in early]  # fmt: skip
    assert {(one.created_at, one.updated_at) for one in late} == {(new, new)}
    verbs = [
        past for id in known for past in store.archive.history("t", id) if past.verb == "merged"
    ]
    assert {past.at for past in verbs} == {NOW, new}
    assert {link.created_at for link in store.links.scan("t")} == {NOW, new}
    assert run.status is Status.COMPLETED


def test_a_lease_of_a_clock_that_was_ahead_is_over(store: Store) -> None:
    clock = FixedClock(NOW + timedelta(days=300))
    cut_off(store, 2, clock)
    clock.at = NOW
    planned: list[datetime] = []
    pairing = Pairing(store)
    plan = pairing.plan
    pairing.plan = lambda night, *rest: planned.append(night.now) or plan(night, *rest)  # type: ignore[method-assign,func-returns-value]
    run = only(sleeper(store, pairing, clock=clock).run("merge"))
    assert (run.status, run.counts["merge"], planned) == (Status.COMPLETED, PAIRS, [NOW])


def test_a_machine_whose_clock_is_a_little_ahead_keeps_its_lease(store: Store) -> None:
    clock = FixedClock(NOW + timedelta(minutes=5))
    cut_off(store, 2, clock)
    clock.at = NOW
    with pytest.raises(Conflict, match="the dead is at it"):
        sleeper(store, clock=clock).run("merge")


def test_a_policy_without_end_is_kept_in_the_account(store: Store) -> None:
    clock, never = FixedClock(NOW), float("inf")
    policy = SleepPolicy(days_apart=never, forget=ForgetPolicy(older_than_days=never))
    cut_off(store, 2, clock, policy=policy)
    clock.at += HOUR
    sleep = sleeper(store, clock=clock)
    assert only(sleep.resume()).status is Status.COMPLETED
    assert sleep._journal.account(only(sleep.log()).id).night.policy == policy


@pytest.mark.parametrize("wrong", [
    {"forget": None}, {"forget": {}}, {"cap": True}, {"cap": 2}, {"alike": "0.9"},
    {"days_apart": None}, {"cool_after_days": float("nan")}, {"cold_after_days": -1},
], ids=str)  # fmt: skip
def test_what_makes_no_policy_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        SleepPolicy(**wrong)


@pytest.mark.parametrize("wrong", [
    {"active_days": "no"}, {"older_than_days": None}, {"uses_below": None}, {"daily": None},
    {"erase_after_days": True}, {"erase_after_days": "3"},
], ids=str)  # fmt: skip
def test_what_makes_no_policy_of_forgetting_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        ForgetPolicy(**wrong)


def test_accounts_go_when_their_time_has_run_out(store: Store) -> None:
    clock = FixedClock(NOW)
    sleep = sleeper(store, clock=clock)
    run = only(sleep.run("merge"))
    clock.at += timedelta(days=95)
    sleep.run("merge")
    with pytest.raises(NotFound):
        sleep.undo(run.id)
    assert len(sleep.log()) == 1
