"""Summaries stand behind what they were made of, in a search over a file and over a server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.memories.lineage import sources_of
from remanence.model.clock import FixedClock, IdMaker
from remanence.model.memory import Kind, MemoryRecord

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
MAY = datetime(2026, 5, 4, 9, tzinfo=UTC)
ANA: dict[str, Any] = {"user_id": "ana"}
QUESTION = "Which lighthouse did we visit in Portugal?"
TALK = (
    "We flew to Portugal on Monday.",
    "The lighthouse of Nazaré was our first visit.",
    "Carla drove the rented van along the coast.",
    "I lost my blue scarf on the beach of Aveiro.",
    "We ate grilled sardines with her cousins.",
    "Tomorrow we take the night train back home.",
)


@pytest.fixture(params=["file", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """A week of talk that has paused long ago."""
    on_file = request.param == "file"
    place = tmp_path / "memory.db" if on_file else request.getfixturevalue("postgres_database")
    with Memory(place, clock=FixedClock(MAY), window_messages=4, tenant=str(IdMaker()())) as opened:
        for session in range(3):
            told = [
                {"name": "Ana", "content": text, "at": MONDAY + timedelta(days=session, minutes=n)}
                for n, text in enumerate(TALK if session == 1 else _other(session))
            ]
            opened.conversations.append(told, session_id=f"s{session}", **ANA)
        yield opened


def _other(session: int) -> list[str]:
    return [f"On day {session} we painted wall number {n} of the old school." for n in range(6)]


def texts(memory: Memory, **more: Any) -> list[str]:
    return [hit.memory.text for hit in memory.search(QUESTION, limit=40, **ANA, **more)]


def told_of(memory: Memory, summary: MemoryRecord) -> list[str]:
    """The turns that a summary tells of, those of the summaries it was made of with them."""
    found = sources_of(memory.parts.store, summary)
    below = [id for one in found if one.kind is Kind.SUMMARY for id in told_of(memory, one)]
    return [*(one.id for one in found if one.kind is not Kind.SUMMARY), *below]


def test_no_summary_is_above_a_turn_that_it_tells_of(memory: Memory) -> None:
    before = texts(memory)
    memory.sleep.run("talks")
    found = [hit.memory for hit in memory.search(QUESTION, limit=40, **ANA)]
    places = {one.id: place for place, one in enumerate(found)}
    summaries = [one for one in found if one.kind is Kind.SUMMARY]
    assert {one.metadata["level"] for one in summaries} >= {"segment", "day", "week"}
    for one in summaries:
        assert all(places[id] < places[one.id] for id in told_of(memory, one))
    assert [one.text for one in found if one.kind is not Kind.SUMMARY] == before


def test_it_says_that_it_stands_behind(memory: Memory) -> None:
    memory.sleep.run("talks")
    hits = memory.search(QUESTION, limit=40, **ANA)
    for hit in hits:
        assert sum(hit.signals.values()) == pytest.approx(hit.score, abs=1e-3)
        assert (hit.signals["behind"] < 0) <= (hit.memory.kind is Kind.SUMMARY)
    assert min(hit.signals["behind"] for hit in hits) < 0
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_asked_for_alone_it_ranks_by_itself(memory: Memory) -> None:
    memory.sleep.run("talks")
    hits = memory.search(QUESTION, kinds=["summary"], **ANA)
    assert hits
    assert "Nazaré" in hits[0].memory.text
    assert {hit.signals["behind"] for hit in hits} == {0}


def test_a_summary_outdates_none_of_its_sources(memory: Memory) -> None:
    before = {
        hit.memory.text: hit.details["time.outdated"] for hit in memory.search(QUESTION, **ANA)
    }
    memory.sleep.run("talks")
    for hit in memory.search(QUESTION, **ANA):
        if hit.memory.text in before:
            assert hit.details["time.outdated"] == pytest.approx(before[hit.memory.text], abs=1e-6)


def test_through_a_summary_its_turns_come_back(memory: Memory) -> None:
    """The pool is small, and hundreds of turns say more of the question's words than these."""
    noise = [
        {"name": "Bo", "content": f"Which lighthouse to visit, number {n}?", "at": MAY}
        for n in range(200)
    ]
    memory.conversations.append(noise, session_id="noise", **ANA)
    memory.sleep.run("talks")
    summary = memory.search(QUESTION, kinds=["summary"], limit=1, **ANA)[0].memory
    asked = f"{summary.text} Which lighthouse?"
    [scarf] = [m for m in memory.find(limit=500, **ANA) if "blue scarf" in m.text and m.speaker]
    assert memory.why_not(asked, scarf.id, **ANA).stage in {"rank", "returned"}
