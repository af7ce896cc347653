"""Schedules of a tenant: listed, set, removed, reset."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from remanence.consolidation.schedules.claims import Claims, Due, address_of
from remanence.consolidation.schedules.schedules import Schedules
from remanence.errors import InvalidInput, NotFound
from remanence.model.clock import FixedClock
from remanence.model.sleep import CONSOLIDATE, Step
from remanence.store.sqlite import SqliteStore

BEGIN = datetime(2026, 1, 1, 0, 30, tzinfo=UTC)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(BEGIN)


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    store = SqliteStore(":memory:")
    yield store
    store.close()


@pytest.fixture
def schedules(store: SqliteStore, clock: FixedClock) -> Schedules:
    return Schedules(store, "t", clock)


def names(schedules: Schedules) -> list[str]:
    return [one.schedule.name for one in schedules.list()]


def test_there_are_three_to_begin_with(schedules: Schedules) -> None:
    assert names(schedules) == ["hourly", "daily", "weekly"]
    hourly = schedules.get("hourly")
    assert hourly.next_due is not None
    assert timedelta() <= hourly.next_due - BEGIN.replace(hour=1, minute=0) < timedelta(minutes=1)
    assert (hourly.served, hourly.owner, hourly.error) == (None, None, None)


def test_each_is_switched_off_alone(schedules: Schedules) -> None:
    schedules.set("daily", enabled=False)
    assert [one.schedule.enabled for one in schedules.list()] == [True, False, True]
    assert schedules.get("daily").next_due is None
    assert schedules.get("daily").schedule.after_new == 100


def test_one_of_ones_own(schedules: Schedules) -> None:
    made = schedules.set("mine", cron="0 9 * * 1", zone="Asia/Tokyo", steps=["consolidate"])
    assert made.schedule.steps == CONSOLIDATE
    assert made.next_due == datetime(2026, 1, 5, tzinfo=UTC)
    assert names(schedules)[-1] == "mine"
    schedules.set("mine", steps=["upkeep"], after_new=3)
    assert schedules.get("mine").schedule.steps == (Step.UPKEEP,)
    schedules.remove("mine")
    with pytest.raises(NotFound, match="no schedule 'mine'"):
        schedules.get("mine")
    with pytest.raises(NotFound):
        schedules.remove("mine")


def test_what_cannot_be_is_refused_and_changes_nothing(schedules: Schedules) -> None:
    before = schedules.list()
    for wrong in (
        {"cron": "whenever"},
        {"steps": ["dream"]},
        {"jitter_s": "long"},
        {"enabled": "yes"},
    ):
        with pytest.raises(InvalidInput):
            schedules.set("daily", **wrong)
    with pytest.raises(InvalidInput, match="cron and steps"):
        schedules.set("new", enabled=True)
    with pytest.raises(InvalidInput):
        schedules.set("", cron="0 0 * * *", steps=["merge"])
    assert schedules.list() == before


def test_a_default_that_was_removed_comes_back_with_reset(schedules: Schedules) -> None:
    schedules.remove("weekly")
    assert names(schedules) == ["hourly", "daily"]
    with pytest.raises(NotFound):
        schedules.remove("weekly")
    schedules.set("mine", cron="0 9 * * 1", steps=["upkeep"])
    assert [one.schedule.name for one in schedules.reset()] == ["hourly", "daily", "weekly"]


def test_a_new_cron_makes_up_for_nothing(schedules: Schedules, clock: FixedClock) -> None:
    schedules.set("daily", jitter_s=0)
    clock.at = BEGIN + timedelta(days=40)
    moved = schedules.set("daily", cron="0 12 * * *")
    assert moved.next_due == clock.at.replace(hour=12, minute=0)


def test_who_is_at_it_is_told_and_keeps_it_when_the_plan_is_set(
    schedules: Schedules, store: SqliteStore, clock: FixedClock
) -> None:
    claims = Claims(store.documents, "t", clock, "worker 1", lease_s=60)
    claimed = claims.claim(claims.enter("daily"), Due(moment=BEGIN))
    assert claimed is not None
    assert claims.claim(claimed.__class__(name="daily", since=BEGIN), Due(moment=BEGIN)) is None
    schedules.set("daily", enabled=False)
    assert schedules.get("daily").owner == "worker 1"
    assert claims._leases.renew(address_of("daily"))
    assert claims.serve("daily") is not None
    standing = schedules.get("daily")
    assert (standing.owner, standing.served, standing.schedule.enabled) == (None, BEGIN, False)


def test_tenants_have_schedules_of_their_own(store: SqliteStore, clock: FixedClock) -> None:
    Schedules(store, "a", clock).set("daily", enabled=False)
    assert Schedules(store, "b", clock).get("daily").schedule.enabled
