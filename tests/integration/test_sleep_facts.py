"""Facts across a night: merging takes no evidence away, and no reflection outlives its facts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.model.clock import IdMaker
from remanence.model.sleep import Status

THEN = datetime(2026, 5, 4, 9, tzinfo=UTC)
DAY = timedelta(days=1)
ANA: dict[str, Any] = {"user_id": "ana"}


@pytest.fixture(params=["file", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    on_file = request.param == "file"
    place = tmp_path / "memory.db" if on_file else request.getfixturevalue("postgres_database")
    with Memory(place, tenant=str(IdMaker()())) as memory:
        yield memory


def lived(memory: Memory, *said: tuple[str, int, float]) -> list[str]:
    return [
        memory.add(text, importance=weight, happened_at=THEN + day * DAY, **ANA).id
        for text, day, weight in said
    ]


def facts(memory: Memory) -> list[tuple[Any, ...]]:
    now = memory.facts.about("Ana", **ANA)
    then = memory.facts.about("Ana", as_of=THEN + 5 * DAY, **ANA)
    return [
        tuple((f.object, f.standing, f.valid_from, f.valid_to, len(f.sources)) for f in found)
        for found in (now, then)
    ]


PORTO, LISBON = "Ana lives in Porto.", "Ana lives in Lisbon."


@pytest.mark.parametrize(
    "said",
    [
        [(PORTO, 0, 0.5), (LISBON, 6, 0.5), (PORTO, 16, 0.5)],
        [(PORTO, 0, 0.5), (PORTO, 20, 0.7)],
        [(PORTO, 0, 0.7), (PORTO, 20, 0.5)],
    ],
    ids=["there and back", "the later stays", "the earlier stays"],
)
def test_merging_changes_no_fact(memory: Memory, said: list[tuple[str, int, float]]) -> None:
    ids = lived(memory, *said)
    before, known = facts(memory), datetime.now(UTC)
    first = memory.sleep.run("merge")[0]
    assert first.counts.get("merge") == (1 if len(said) == 2 else None)
    assert facts(memory) == before
    assert memory.sleep.undo(first.id).status is Status.UNDONE
    assert facts(memory) == before
    assert [f.object for f in memory.facts.about("Ana", known_at=known, **ANA)] == [
        one[0] for one in before[0]
    ]
    memory.sleep.run("merge")
    memory.forget(ids, erase=True)
    assert facts(memory) == [(), ()]


def test_no_reflection_tells_of_a_fact_that_no_memory_says(memory: Memory) -> None:
    stated = memory.facts.add("Ana", "lives in", "Secretville", valid_from=THEN, **ANA)
    lived(memory, (LISBON, 30, 0.5))
    memory.sleep.run("reflect")
    told = [one.text for one in memory.find(kinds="reflection", **ANA)]
    assert not any("Secretville" in text for text in told)
    memory.facts.retract(stated.id, erase=True)


def test_a_change_that_memories_tell_of_is_reflected_on(memory: Memory) -> None:
    twice = [(text, day + more, 0.5) for text, day in ((PORTO, 0), (LISBON, 30)) for more in (0, 1)]
    ids = lived(memory, *twice)
    memory.sleep.run("reflect")
    [told] = memory.find(kinds="reflection", **ANA)
    assert "Porto" in told.text
    memory.forget(ids[0], erase=True)
    assert not memory.find(kinds="reflection", states=["active", "archived"], **ANA)
