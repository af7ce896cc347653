"""Recall through links: what is linked with the best finds is raised a little, and may be found."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remanence import Memory
from remanence.layers import usage
from remanence.model.clock import FixedClock
from remanence.recall import links

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)
QUESTION = "Where is the spare key?"
KEY = "The spare key hangs behind the boiler."
CODE = "Yellow four, blue nine."


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", clock=clock) as opened:
        yield opened


def _graph(memory: Memory, id: str) -> float:
    hits = memory.search(QUESTION, user_id="ana", limit=400)
    return next(hit.signals["graph"] for hit in hits if hit.memory.id == id)


def test_what_was_used_together_is_raised_and_fades(memory: Memory, clock: FixedClock) -> None:
    key, code = memory.add_many([KEY, CODE], user_id="ana")
    before = _graph(memory, code.id)
    for _ in range(3):
        for one in (key, code):
            memory.feedback(one.id, useful=True, query=QUESTION)
    memory.stats()  # writes what is queued
    fresh = _graph(memory, code.id)
    assert fresh > before
    clock.at = NOW + timedelta(days=60)
    assert before < _graph(memory, code.id) < fresh


def test_a_stronger_link_raises_more_in_either_direction(memory: Memory) -> None:
    key, code, other, none = memory.add_many([KEY, CODE, "Lid.", "Owl."], user_id="ana")
    memory.associate(key.id, code.id, "about", strength=0.9)
    memory.associate(other.id, key.id, "about", strength=0.3)
    assert _graph(memory, code.id) > _graph(memory, other.id) > _graph(memory, none.id)


def test_a_linked_memory_comes_into_the_pool(memory: Memory) -> None:
    key = memory.add(KEY, user_id="ana")
    memory.add_many([f"A spare lamp stands in room {n}" for n in range(400)], user_id="ana")
    code = memory.add(CODE, user_id="ana")
    assert memory.why_not(QUESTION, code.id, user_id="ana").stage in {"candidates", "pool"}
    memory.associate(key.id, code.id, "about")
    assert memory.why_not(QUESTION, code.id, user_id="ana").stage in {"rank", "returned"}


def test_conditions_hold_for_what_is_linked(memory: Memory) -> None:
    key, code = memory.add_many([KEY, CODE], user_id="ana")
    other = memory.add(CODE, user_id="ben")
    for one in (code, other):
        memory.associate(key.id, one.id, "about")
    filtered = memory.search(QUESTION, user_id="ana", filters={"text": {"contains": "key"}})
    assert [hit.memory.id for hit in filtered] == [key.id]
    found = memory.search(QUESTION, user_id="ana")
    assert {hit.memory.id for hit in found} == {key.id, code.id}


def test_links_fade_here_as_where_they_are_made() -> None:
    assert (links.TOGETHER, links.DAILY) == (usage.TOGETHER, usage.DAILY)
