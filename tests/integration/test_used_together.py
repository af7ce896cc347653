"""Memories that serve one purpose draw closer; what is used together no more fades."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remanence import Memory
from remanence.layers.usage import DAILY, GAIN, TOGETHER
from remanence.model.clock import FixedClock

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", clock=clock) as opened:
        yield opened


def _links(memory: Memory, id: str) -> dict[str, float]:
    memory.stats()  # writes what is queued
    return {one.memory.id: one.strength for one in memory.related(id, type=TOGETHER)}


def test_a_prompt_draws_what_it_shows_closer(memory: Memory) -> None:
    a = memory.add("Ana flies to Lisbon on Monday", user_id="ana")
    b = memory.add("The flight to Lisbon leaves at nine", user_id="ana")
    memory.context("when does the flight to Lisbon leave?", user_id="ana")
    assert _links(memory, a.id) == {b.id: pytest.approx(GAIN)}
    memory.context("the flight to Lisbon", user_id="ana")
    assert _links(memory, b.id) == {a.id: pytest.approx(GAIN + (1 - GAIN) * GAIN)}


def test_what_helped_with_one_question_belongs_together(memory: Memory) -> None:
    a, b, c = memory.add_many(["one", "two", "three"], user_id="ana")
    for one in (a, b):
        memory.feedback(one.id, useful=True, query="which?")
    memory.feedback(c.id, useful=False, query="which?")
    memory.feedback(c.id, useful=True, query="another?")
    assert set(_links(memory, a.id)) == {b.id}
    assert not _links(memory, c.id)


def test_links_fade_by_the_day_and_others_do_not(memory: Memory, clock: FixedClock) -> None:
    a, b = memory.add_many(["one", "two"], user_id="ana")
    memory.associate(a.id, b.id, "about", strength=0.5)
    for one in (a, b):
        memory.feedback(one.id, useful=True, query="which?")
    assert _links(memory, a.id) == {b.id: pytest.approx(GAIN)}
    clock.at = NOW + timedelta(days=10)
    assert _links(memory, a.id) == {b.id: pytest.approx(GAIN * DAILY**10)}
    clock.at = NOW + timedelta(days=100)
    assert not _links(memory, a.id)
    assert [one.strength for one in memory.related(a.id)] == [0.5]


def test_a_search_alone_links_nothing(memory: Memory) -> None:
    a, _ = memory.add_many(["the red boat", "the red car"], user_id="ana")
    memory.search("red", user_id="ana")
    assert not _links(memory, a.id)


def test_what_was_erased_meanwhile_is_passed_over(memory: Memory) -> None:
    a, b = memory.add_many(["one", "two"], user_id="ana")
    for one in (a, b):
        memory.feedback(one.id, useful=True, query="which?")
    memory.forget(b.id, erase=True)
    assert not _links(memory, a.id)
