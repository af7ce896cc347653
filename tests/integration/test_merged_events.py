"""What was done again some days later was done twice; what is so is so however often it is said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from remanence import Memory

START = datetime(2026, 5, 4, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "days", "left"),
    [
        ("Nora baked a sourdough loaf", 7, 2),
        ("Nora baked a sourdough loaf", 0.2, 1),
        ("Nora went to the climbing hall", 5, 2),
        ("Nora bakes sourdough at home", 7, 1),
        ("Nora moved to Ghent in April 2021", 7, 1),
    ],
)
def test_an_event_is_told_for_each_time_it_happened(text: str, days: float, left: int) -> None:
    with Memory(":memory:") as memory:
        memory.add(text, user_id="nora", happened_at=START)
        memory.add(text, user_id="nora", happened_at=START + timedelta(days=days))
        memory.sleep.run("merge")
        assert memory.count(user_id="nora") == left


def test_a_night_is_taken_back_as_a_whole() -> None:
    with Memory(":memory:") as memory:
        for _ in range(3):
            memory.add("Nora bakes sourdough at home", user_id="nora", happened_at=START)
        memory.sleep.run(["merge", "forget"])
        memory.sleep.run(["merge", "compress"])
        assert memory.count(user_id="nora") == 1
        undone = memory.sleep.undo_night()
        assert [run.step for run in undone] == ["compress", "merge"]
        assert memory.count(user_id="nora") == 1  # the night before stands
        assert memory.sleep.undo_night() == []
