"""Undoing random plans, whole, cut off or failed: the state before comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.model.clock import FixedClock
from remanence.model.document import Shelf
from remanence.model.memory import Association, Kind, MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.sleep import Deed, Night, Plan, Status, Step
from remanence.model.write import Action, Insert, Moved, Revise
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import NOW, memory, revise
from support.pairing import batches_of, fill_pairs, only, sleeper, state_of

PAIRS = 4
HOUR = timedelta(hours=1)

places = st.integers(0, 2 * PAIRS - 1)
changes = st.fixed_dictionaries(
    {},
    optional={
        "importance": st.sampled_from([0.0, 0.5, 1.0]),
        "state": st.sampled_from(list(State)),
        "kind": st.sampled_from(list(Kind)),
        "pinned": st.booleans(),
        "text": st.sampled_from(["tea", "coffee and tea", "left of 0"]),
        "metadata": st.sampled_from([{}, {"n": 1}, {"pair": {"deep": [None, True, 1.5]}}]),
        "happened_at": st.sampled_from([NOW, NOW - HOUR]),
        "trust": st.sampled_from([0.1, 1.0]),
    },
)
deeds = st.fixed_dictionaries(
    {
        "revised": st.lists(st.tuples(places, changes), max_size=3),
        "inserted": st.booleans(),
        "links": st.lists(
            st.tuples(places, places, st.sampled_from(["about", "merged_into"])), max_size=3
        ),
        "moved": st.lists(
            st.tuples(places, st.integers(-4, 4), st.sampled_from([None, -60, 0, 7, 3600])),
            max_size=3,
        ),
    }
)


class Died(BaseException):
    """As a kill, but here."""


@dataclass
class Listed:
    """A planner that plans these deeds, once."""

    deeds: Sequence[Deed]
    step: Step = Step.DISTIL

    def plan(self, night: Night, progress: Progress | None = None) -> Plan:
        deeds, self.deeds = self.deeds, ()
        return Plan(step=self.step, deeds=tuple(deeds))


def deed_of(told: dict[str, Any], records: Sequence[MemoryRecord]) -> Deed:
    actions: list[Action] = []
    links = [(records[a].id, records[b].id, type) for a, b, type in told["links"]]
    for n, new in told["revised"]:
        actions.append(Revise(id=records[n].id, changes=new, verb="changed", at=NOW))
    if told["inserted"]:
        made = memory("made", origin="sleep")
        raised = {"importance": 0.125}
        actions.append(Insert(record=made))
        actions.append(Revise(id=made.id, changes=raised, verb="raised", at=NOW, expected=1))
        links.append((made.id, records[0].id, "summarises"))
    return Deed(
        what="change",
        why="at random",
        about=(),
        actions=tuple(actions),
        links=tuple(
            Association(source=a, target=b, type=type, strength=0.5, created_at=NOW)
            for a, b, type in links
        ),
        moved=tuple(
            Moved(
                id=records[n].id,
                uses=uses,
                used_at=None if at is None else NOW + timedelta(seconds=at),
            )
            for n, uses, at in told["moved"]
        ),
    )


@contextmanager
def filled() -> Iterator[tuple[Store, list[MemoryRecord]]]:
    store = SqliteStore(":memory:")
    try:
        fill_pairs(store, PAIRS)
        records = [record for _, record in store.archive.scan("t")]
        first = Association(
            source=records[0].id, target=records[1].id, type="about", strength=0.25, created_at=NOW
        )
        store.links.associate("t", first)
        yield store, records
    finally:
        store.close()


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(told=st.lists(deeds, min_size=1, max_size=8), most=st.sampled_from([1, 6, 200]))
def test_any_plan_undone_is_the_state_before(told: list[dict[str, Any]], most: int) -> None:
    with filled() as (store, records):
        before = state_of(store)
        planner = Listed([deed_of(one, records) for one in told])
        sleep = batches_of(sleeper(store, planner), most)
        run = only(sleep.run("distil"))
        assert (run.status, run.counts.get("change")) == (Status.COMPLETED, len(told))
        undone = sleep.undo(run.id)
        assert undone.counts.get("left") is None
        assert state_of(store) == before


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    told=st.lists(deeds, min_size=2, max_size=6),
    at=st.integers(1, 12),
    again=st.integers(1, 12),
    fails=st.booleans(),
)
def test_cut_off_anywhere_and_undone_cut_off_anywhere(
    told: list[dict[str, Any]], at: int, again: int, fails: bool
) -> None:
    with filled() as (store, records):
        before, clock = state_of(store), FixedClock(NOW)
        planned = [deed_of(one, records) for one in told]
        if fails:
            bad = Revise(id=records[0].id, changes={"trust": 9.0}, verb="x", at=NOW)
            planned.append(replace(planned[-1], actions=(bad,)))
        sleep = batches_of(sleeper(store, Listed(planned), clock=clock), 1)
        with dying(store, at):
            sleep.run("distil")
        clock.at += HOUR
        run = only(sleep.log())
        if run.status is not Status.FAILED:
            with dying(store, again):
                sleep.undo(run.id)
            clock.at += HOUR
            if only(sleep.log()).status not in (Status.UNDONE, Status.FAILED):
                assert only(sleep.resume()).id == run.id
        assert only(sleep.log()).status in (Status.UNDONE, Status.FAILED)
        assert state_of(store) == before


@contextmanager
def dying(store: Store, at: int) -> Iterator[None]:
    """Inside, the process is as good as dead from that write on."""
    real, puts, count = store.archive.write, store.documents.put, iter(range(10_000))

    def counted(do: Any) -> Any:
        def done(*given: Any) -> Any:
            if next(count) >= at:
                raise Died
            return do(*given)

        return done

    store.archive.write, store.documents.put = counted(real), counted(puts)  # type: ignore[method-assign]
    try:
        yield
    except Died:
        pass
    finally:
        store.archive.write, store.documents.put = real, puts  # type: ignore[method-assign]


def test_changes_of_two_runs_are_undone_in_any_order() -> None:
    with filled() as (store, records):
        before = state_of(store)
        one = {"revised": [(0, {"importance": 0.5})], "inserted": False, "links": [], "moved": []}
        two = one | {"revised": [(0, {"importance": 1.0, "pinned": True})]}
        planner = Listed([deed_of(one, records)])
        sleep = sleeper(store, planner)
        first = only(sleep.run("distil"))
        planner.deeds = [deed_of(two, records)]
        second = only(sleep.run("distil"))
        assert sleep.undo(first.id).counts["left"] == 1
        sleep.undo(second.id)
        assert state_of(store) == before


def test_what_an_undone_run_made_and_a_later_one_changed_goes_with_that() -> None:
    with filled() as (store, records):
        before = state_of(store)
        made = {"revised": [], "inserted": True, "links": [], "moved": []}
        planner = Listed([deed_of(made, records)])
        sleep = sleeper(store, planner)
        first = only(sleep.run("distil"))
        [new] = [one for one in first_made(store) if one.state == State.ACTIVE]
        gone = {"state": State.ARCHIVED, "superseded_by": records[0].id}
        change = Revise(id=new.id, changes=gone, verb="superseded", at=NOW)
        planner.deeds = [replace(deed_of(made, records), actions=(change,), links=())]
        second = only(sleep.run("distil"))
        sleep.undo(first.id)
        sleep.undo(second.id)
        assert [(one.state, one.superseded_by) for one in first_made(store)] == [
            (State.ARCHIVED, None)
        ]
        assert state_of(store) == before


def test_what_somebody_built_on_an_undone_run_is_his() -> None:
    with filled() as (store, records):
        one = {"revised": [(0, {"importance": 0.5})], "inserted": False, "links": [], "moved": []}
        planner = Listed([deed_of(one, records)])
        sleep = sleeper(store, planner)
        first = only(sleep.run("distil"))
        revise(store, records[0].id, pinned=True)
        planner.deeds = [deed_of(one | {"revised": [(0, {"importance": 1.0})]}, records)]
        second = only(sleep.run("distil"))
        sleep.undo(first.id)
        sleep.undo(second.id)
        now = store.archive.get("t", [records[0].id])[0]
        assert (now.importance, now.pinned) == (0.5, True)


def first_made(store: Store) -> list[MemoryRecord]:
    return [record for _, record in store.archive.scan("t") if record.origin == "sleep"]


def test_a_journal_that_is_gone_is_said_so() -> None:
    with filled() as (store, records):
        one = {"revised": [(0, {"importance": 0.5})], "inserted": False, "links": [], "moved": []}
        sleep = sleeper(store, Listed([deed_of(one, records)]))
        run = only(sleep.run("distil"))
        store.documents.expire("t", Shelf.RUN, NOW + timedelta(days=400), limit=10)
        with pytest.raises(LookupError):
            sleep.undo(run.id)
        assert revise(store, records[0].id, importance=0.75).importance == 0.75
