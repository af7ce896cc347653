"""A clock that jumps prunes nothing, loses nothing and never repeats an id."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remanence import Memory
from remanence.errors import InvalidInput
from remanence.model.clock import FixedClock

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)
DECADE = timedelta(days=3653)


def _filled(path: Path, clock: FixedClock) -> Memory:
    memory = Memory(path / "memory.db", clock=clock)
    for days in (25, 20, 10, 0):
        clock.at = NOW - timedelta(days=days)
        memory.add(f"slight note, {days} days ago", importance=0.05)
    return memory


@pytest.mark.parametrize("jump", [DECADE, -DECADE])
@pytest.mark.parametrize("writes", [0, 1, 5])
def test_a_jump_prunes_nothing(tmp_path: Path, jump: timedelta, writes: int) -> None:
    clock = FixedClock(NOW)
    with _filled(tmp_path, clock) as memory:
        clock.at = NOW + jump
        for n in range(writes):
            clock.at += timedelta(days=1)
            memory.add(f"written in the wrong decade {n}", importance=0.05)
        if jump > timedelta(0):
            with pytest.raises(InvalidInput, match="giving now"):
                memory.cleanup(dry_run=False)
        else:
            assert memory.cleanup(dry_run=False).count == 0
        assert memory.count() == 4 + writes


def test_who_knows_the_clock_is_right_can_say_so(tmp_path: Path) -> None:
    clock = FixedClock(NOW)
    with _filled(tmp_path, clock) as memory:
        clock.at = NOW + DECADE
        assert memory.cleanup(dry_run=False, now=clock.at).count == 4


def test_years_of_use_are_no_jump(tmp_path: Path) -> None:
    clock = FixedClock(NOW)
    with Memory(tmp_path / "memory.db", clock=clock) as memory:
        for month in range(40):
            clock.at = NOW + timedelta(days=30 * month)
            memory.add(f"slight note of month {month}", importance=0.05)
            memory.cleanup(max_age_days=365, dry_run=False)
        assert memory.count() == 13
        assert memory.count(states="any") == 40


def test_another_user_shows_that_the_clock_is_right(tmp_path: Path) -> None:
    clock = FixedClock(NOW)
    with Memory(tmp_path / "memory.db", clock=clock) as memory:
        memory.add("slight", user_id="away for years", importance=0.05)
        for month in range(36):
            clock.at = NOW + timedelta(days=30 * month)
            memory.add("busy", user_id="here")
        assert memory.cleanup(user_id="away for years", dry_run=False).count == 1


def test_ids_stay_unique_and_everything_is_found_after_a_jump_back(tmp_path: Path) -> None:
    clock = FixedClock(NOW + DECADE)
    with Memory(tmp_path / "memory.db", clock=clock) as memory:
        later = memory.add("the comet will pass")
        clock.at = NOW
        earlier = memory.add("the comet passed")
        assert later.id != earlier.id
        found = memory.search("comet")
        assert {hit.memory.id for hit in found} == {later.id, earlier.id}
        changed = memory.update(later.id, text="the comet has passed")
        assert [revision.version for revision in memory.history(later.id)] == [1, 2]
        assert changed.version == 2


@pytest.mark.parametrize("year", [1, 9999])
def test_a_clock_at_the_end_of_time_still_answers(tmp_path: Path, year: int) -> None:
    clock = FixedClock(NOW)
    with _filled(tmp_path, clock) as memory:
        clock.at = datetime(year, 1, 1, tzinfo=UTC)
        for question in ("slight note", "what did I note yesterday?", "what happens next year?"):
            assert len(memory.search(question)) == 4
        memory.add("written at the end of time")
        assert memory.count() == 5
