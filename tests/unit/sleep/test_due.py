"""What is due: missed runs, quiet moments, counts, jitter, failures."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remanence.consolidation.schedules.claims import (
    Counts,
    Due,
    ScheduleEntry,
    ScheduleTurn,
    due,
    entry_of,
    entry_to_value,
    jitter_of,
    next_due,
)
from remanence.consolidation.schedules.plans import (
    DEFAULTS,
    Schedule,
)
from remanence.consolidation.steps import steps_of
from remanence.errors import InvalidInput
from remanence.model.sleep import CONSOLIDATE, Step

BEGIN = datetime(2026, 1, 1, 0, 30, tzinfo=UTC)
HOURLY = Schedule(name="hourly", cron="0 * * * *", steps=(Step.TALKS,))
FRESH = ScheduleEntry(name="hourly", since=BEGIN)


def at(hours: float) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hours)


def turn(until: datetime, owner: str = "a") -> ScheduleTurn:
    return ScheduleTurn(owner=owner, until=until, due=at(1), began=at(1))


def counts(memories: int = 0, messages: int = 0) -> Counts:
    return lambda since, of_messages: messages if of_messages else memories


def test_nothing_is_due_before_its_moment() -> None:
    assert due(HOURLY, FRESH, BEGIN) is None
    assert due(HOURLY, FRESH, at(1) - timedelta(microseconds=1)) is None
    assert due(HOURLY, FRESH, at(1)) == Due(moment=at(1))


def test_however_many_were_missed_are_made_up_for_by_one() -> None:
    found = due(HOURLY, FRESH, at(24 * 300) + timedelta(minutes=5))
    assert found == Due(moment=at(24 * 300))
    served = replace(FRESH, served=at(24 * 300))
    assert due(HOURLY, served, at(24 * 300) + timedelta(minutes=5)) is None
    assert due(HOURLY, served, at(24 * 300 + 1)) == Due(moment=at(24 * 300 + 1))


def test_a_clock_set_back_repeats_nothing() -> None:
    served = replace(FRESH, served=at(48))
    assert due(HOURLY, served, at(3)) is None


def test_who_is_active_is_waited_for_but_not_longer_than_a_period() -> None:
    assert due(HOURLY, FRESH, at(1.9), idle=False) is None
    assert due(HOURLY, FRESH, at(1.9), idle=True) == Due(moment=at(1))
    assert due(HOURLY, FRESH, at(2), idle=False) == Due(moment=at(2))
    late = replace(FRESH, served=at(2))
    assert due(HOURLY, late, at(3.9), idle=False) is None
    assert due(HOURLY, late, at(4), idle=False) == Due(moment=at(4))


def test_switched_off_or_removed_it_is_never_due() -> None:
    assert due(replace(HOURLY, enabled=False), FRESH, at(50)) is None
    assert due(HOURLY, replace(FRESH, removed=True), at(50)) is None
    assert next_due(replace(HOURLY, enabled=False), FRESH, at(50), timedelta()) is None


def test_enough_that_is_new_need_not_wait_for_the_hour() -> None:
    plan = replace(HOURLY, after_new=100, after_messages=1000)
    now = at(0.75)
    assert due(plan, FRESH, now, counts=counts(99, 999)) is None
    assert due(plan, FRESH, now, counts=counts(100)) == Due(moment=now, cause="memories")
    assert due(plan, FRESH, now, counts=counts(1, 1000)) == Due(moment=now, cause="messages")
    assert due(plan, FRESH, now, counts=counts(100), idle=False) is None


def test_what_is_new_is_counted_from_the_end_of_the_last_run() -> None:
    asked: list[datetime] = []

    def count(since: datetime, of_messages: bool) -> int:
        asked.append(since)
        return 0

    plan = replace(HOURLY, after_new=1)
    entry = replace(FRESH, served=at(1), ended_at=at(1.2))
    due(plan, entry, at(1.5), counts=count)
    assert asked == [at(1.2)]


def test_jitter_is_the_same_for_a_store_and_another_for_others() -> None:
    plan = replace(HOURLY, jitter_s=600)
    own = jitter_of(plan, "store", "t")
    assert own == jitter_of(plan, "store", "t")
    others = {jitter_of(plan, f"store {n}", "t") for n in range(200)}
    assert len(others) == 200
    assert all(timedelta() <= one < timedelta(seconds=600) for one in others)
    assert max(others) - min(others) > timedelta(seconds=500)
    assert due(plan, FRESH, at(1) + own - timedelta(microseconds=1), jitter=own) is None
    assert due(plan, FRESH, at(1) + own, jitter=own) == Due(moment=at(1))
    assert next_due(plan, FRESH, BEGIN, own) == at(1) + own


def test_jitter_never_reaches_the_next_moment() -> None:
    plan, huge = replace(HOURLY, jitter_s=9000), timedelta(seconds=9000)
    assert due(plan, FRESH, at(1.5), jitter=huge) == Due(moment=at(1))


def test_what_somebody_is_at_is_left_to_him_until_his_lease_ends() -> None:
    held = replace(FRESH, turn=turn(at(1.1)))
    assert due(HOURLY, held, at(1.05)) is None
    assert due(HOURLY, held, at(1.1)) == Due(moment=at(1))


def test_a_lease_of_a_clock_that_was_ahead_is_over() -> None:
    held = replace(FRESH, turn=turn(at(24 * 300)))
    assert due(HOURLY, held, at(2)) == Due(moment=at(1))
    near = replace(FRESH, turn=turn(at(2.1)))
    assert due(HOURLY, near, at(2)) is None


def test_a_failure_is_tried_again_after_a_pause() -> None:
    failed = replace(FRESH, turn=turn(at(1), owner=""), tries=1, again_at=at(1.2))
    assert due(HOURLY, failed, at(1.1)) is None
    assert due(HOURLY, failed, at(1.2)) == Due(moment=at(1))
    assert next_due(HOURLY, failed, at(1.1), timedelta()) == at(1.2)


def test_entries_and_plans_come_back_as_they_were_written() -> None:
    plan = Schedule(name="n", cron="1 2 3 * *", steps=(Step.MERGE,), zone="Asia/Tokyo", after_new=5)
    whole = ScheduleEntry(
        name="n",
        since=BEGIN,
        plan=plan,
        served=at(1),
        ended_at=at(2),
        turn=replace(turn(at(2)), cause="memories"),
        tries=2,
        again_at=at(3),
        error="it failed",
        version=7,
    )
    for entry in (FRESH, whole):
        assert entry_of(entry.name, entry_to_value(entry), entry.version) == entry
    entry = ScheduleEntry(name="n", since=at(1), plan=plan)
    value = entry_to_value(entry)
    value["plan"]["of a newer version"] = 1
    assert entry_of("n", value, 0) == entry


def test_the_defaults_are_what_is_promised() -> None:
    assert list(DEFAULTS) == ["hourly", "daily", "weekly"]
    assert DEFAULTS["hourly"].steps == (Step.TALKS,)
    assert DEFAULTS["hourly"].after_messages == 1000
    assert set(DEFAULTS["daily"].steps) == {*CONSOLIDATE, Step.FORGET, Step.LEARN}
    assert DEFAULTS["daily"].after_new == 100
    assert set(DEFAULTS["weekly"].steps) == {Step.COMPRESS, Step.UPKEEP, Step.ERASE}


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"cron": "soon"},
        {"zone": "Nowhere"},
        {"zone": None},
        {"enabled": 1},
        {"steps": ()},
        {"steps": ("merge",)},
        {"after_new": 0},
        {"after_messages": True},
        {"idle_s": -1},
        {"jitter_s": float("nan")},
        {"jitter_s": float("inf")},
        {"idle_s": 1e300},
    ],
)
def test_what_makes_no_schedule_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        replace(HOURLY, **wrong)


def test_steps_are_named_in_any_order_and_done_in_theirs() -> None:
    assert steps_of(["upkeep", "consolidate", "merge"]) == (*CONSOLIDATE, Step.UPKEEP)
    with pytest.raises(InvalidInput, match="known: talks"):
        steps_of(["dream"])
