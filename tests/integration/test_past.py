"""The whole memory asked as it was: texts, states and blocks of an earlier moment."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.errors import InvalidInput, NotFound
from remanence.model.clock import FixedClock

MAY = datetime(2024, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(MAY)


@pytest.fixture
def memory(
    kept_in: str, tmp_path: Path, clock: FixedClock, request: pytest.FixtureRequest
) -> Iterator[Memory]:
    where = tmp_path / "m.db" if kept_in == "sqlite" else request.getfixturevalue("postgres_url")
    with Memory(where, clock=clock) as opened:
        yield opened


def test_search_gives_the_text_of_then(memory: Memory, clock: FixedClock) -> None:
    made = memory.add("The meeting is in room 4", user_id="ana")
    clock.at = MAY + 2 * DAY
    memory.update(made.id, text="The meeting is in room 9")
    [then] = memory.search("where is the meeting?", user_id="ana", known_at=MAY + DAY)
    assert (then.memory.text, then.passage) == ("The meeting is in room 4",) * 2
    assert then.memory.version == 1
    [now] = memory.search("where is the meeting?", user_id="ana")
    assert now.memory.text == "The meeting is in room 9"


def test_search_finds_what_was_forgotten_since_and_not_what_was_forgotten_then(
    memory: Memory, clock: FixedClock
) -> None:
    kept = memory.add("The spare key is under the pot", user_id="ana")
    clock.at = MAY + 2 * DAY
    memory.forget(kept.id)
    clock.at = MAY + 4 * DAY
    asked = {"user_id": "ana", "limit": 5}
    assert [h.memory.id for h in memory.search("spare key", known_at=MAY + DAY, **asked)] == [
        kept.id
    ]
    assert not memory.search("spare key", known_at=MAY + 3 * DAY, **asked)
    memory.update(kept.id, state="active")
    assert not memory.search("spare key", known_at=MAY + 3 * DAY, **asked)
    assert memory.search("spare key", **asked)


def test_what_was_erased_is_gone_from_the_past_too(memory: Memory, clock: FixedClock) -> None:
    kept = memory.add("The spare key is under the pot", user_id="ana")
    clock.at = MAY + 2 * DAY
    memory.forget(kept.id, erase=True)
    assert not memory.search("spare key", user_id="ana", known_at=MAY + DAY)


def test_limit_counts_what_fits_then(memory: Memory, clock: FixedClock) -> None:
    notes = memory.add_many([f"Note {n} about the garden" for n in range(6)], user_id="ana")
    clock.at = MAY + 2 * DAY
    memory.forget([note.id for note in notes[:3]])
    found = memory.search("garden", user_id="ana", known_at=MAY + 3 * DAY, limit=3)
    assert {hit.memory.id for hit in found} == {note.id for note in notes[3:]}
    assert len(memory.search("garden", user_id="ana", known_at=MAY, limit=4)) == 4


def test_blocks_as_they_were(memory: Memory, clock: FixedClock) -> None:
    memory.blocks.append("human", "Ana, Lisbon", user_id="ana")
    clock.at = MAY + 2 * DAY
    memory.blocks.replace("human", "Lisbon", "Porto", user_id="ana")
    memory.blocks.create("project", "the harbour", user_id="ana")
    clock.at = MAY + 4 * DAY
    memory.blocks.delete("project", user_id="ana")
    blocks, ana = memory.blocks, {"user_id": "ana"}
    assert blocks.get("human", **ana, as_of=MAY + DAY).value == "Ana, Lisbon"
    assert blocks.get("human", **ana, known_at=MAY + 3 * DAY).value == "Ana, Porto"
    assert blocks.get("human", **ana, known_at=MAY - DAY).value == ""
    labels = [
        [one.label for one in blocks.list(**ana, known_at=MAY + n * DAY) if one.value]
        for n in range(5)
    ]
    assert labels == [["human"], ["human"], ["human", "project"], ["human", "project"], ["human"]]
    assert "Lisbon" in blocks.render(**ana, as_of=MAY)
    assert blocks.get("project", **ana, as_of=MAY + 3 * DAY).value == "the harbour"
    with pytest.raises(NotFound):
        blocks.get("project", **ana, as_of=MAY + DAY)


def test_the_earlier_of_two_moments_counts_for_a_block(memory: Memory, clock: FixedClock) -> None:
    memory.blocks.append("human", "one")
    clock.at = MAY + 2 * DAY
    memory.blocks.append("human", "two")
    seen = memory.blocks.get("human", as_of=MAY + 3 * DAY, known_at=MAY + DAY)
    assert seen.value == "one"
    with pytest.raises(InvalidInput, match="as_of"):
        memory.blocks.get("human", as_of="yesterday")  # type: ignore[arg-type]


def test_search_goes_by_the_fields_of_then(memory: Memory, clock: FixedClock) -> None:
    ana = {"user_id": "ana", "filters": {"team": "sales"}}
    made = [memory.add(f"note {n}", user_id="ana", metadata={"team": "sales"}) for n in range(6)]
    clock.at = MAY + 2 * DAY
    for one in made:
        memory.update(one.id, metadata={"team": "works"}, importance=0.9, speaker="Bo")
    found = memory.search("note", known_at=MAY + DAY, limit=6, **ana)
    assert {hit.memory.metadata["team"] for hit in found} == {"sales"}
    assert len(found) == 6
    assert len({hit.memory.importance for hit in found} - {0.9}) == 1
    assert not memory.search("note", **ana)


def test_search_goes_by_the_words_of_then(memory: Memory, clock: FixedClock) -> None:
    memory.add_many([f"boat {n} lies in the harbour" for n in range(100)], user_id="ana")
    made = memory.add("The violin lesson is on Monday", user_id="ana")
    clock.at = MAY + 2 * DAY
    memory.update(made.id, text="boat 100 lies in the harbour")
    asked: dict[str, Any] = {"user_id": "ana", "known_at": MAY + DAY}
    assert memory.search("when is the violin lesson?", **asked)[0].memory == made
    assert memory.why_not("violin lesson", made.id, **asked).stage == "returned"
    dropped = memory.why_not("violin lesson", made.id, **asked, states="archived")
    assert dropped.stage == "filter"


def test_what_rested_then_was_not_believed_and_not_in_the_graph(
    memory: Memory, clock: FixedClock
) -> None:
    made = memory.add("I live in Lisbon.", user_id="ana", role="user")
    ana = {"user_id": "ana"}
    for day, change in enumerate(
        [{"text": "I live in Porto."}, {"state": "archived"}, {"state": "active"}], start=1
    ):
        clock.at = MAY + 2 * day * DAY
        memory.update(made.id, **change)
    known = [
        [one.object for one in memory.facts.find(**ana, known_at=MAY + n * DAY)]
        for n in (1, 3, 5, 7)
    ]
    assert known == [["Lisbon"], ["Porto"], [], ["Porto"]]
    first = {one.name for one in memory.graph.entities(**ana, known_at=MAY + DAY)}
    assert "Porto" not in first
    assert not memory.graph.mentions("Porto", **ana, known_at=MAY + 5 * DAY)
    assert memory.graph.mentions("Porto", **ana, known_at=MAY + 7 * DAY)
