"""The whole memory asked as it was: texts, states and blocks of an earlier moment."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remanence import Memory
from remanence.clock import FixedClock
from remanence.errors import InvalidInput, NotFound

MAY = datetime(2024, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(MAY)


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", clock=clock) as opened:
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
