"""What was noted by itself is found beside a chat in the same words."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from remanence import Memory

WORDS = """
garden kettle ladder window bicycle harbour pepper blanket candle drawer engine fountain
guitar hammer island jacket kitchen lantern market needle orchard pencil quilt ribbon
saddle teapot umbrella violin wagon yarn anchor basket copper dairy elbow feather
gravel honey ink jar knot lemon mirror nettle oven paint rope sail
timber velvet wheel zipper barn cellar deck fence gate hinge latch mill
"""
NOTES = 40


def sentences(seed: int, count: int) -> list[str]:
    """Made of one small pool of words, so that they share many."""
    rng = random.Random(seed)
    return [" ".join(rng.sample(WORDS.split(), 9)) for _ in range(count)]


@pytest.fixture(scope="module", params=["note", "document"])
def beside_a_chat(request: pytest.FixtureRequest) -> Iterator[tuple[Memory, list[str]]]:
    """Notes, or documents of several paragraphs, and then twenty messages of one session."""
    notes = sentences(1, NOTES)
    if request.param == "document":
        rest = iter(sentences(3, 2 * NOTES))
        notes = [f"{note}.\n\n{next(rest)}.\n\n{next(rest)}." for note in notes]
    with Memory(":memory:") as memory:
        for note in notes:
            memory.add(note, user_id="ana")
        said = [
            {"role": ("user", "assistant")[n % 2], "content": text}
            for n, text in enumerate(sentences(2, 20))
        ]
        memory.add_messages(said, user_id="ana", session_id="s1")
        yield memory, notes


def test_the_exact_text_comes_first(beside_a_chat: tuple[Memory, list[str]]) -> None:
    memory, notes = beside_a_chat
    first = [memory.search(note, user_id="ana", limit=3)[0].memory.text for note in notes]
    assert sum(found == note for found, note in zip(first, notes, strict=True)) >= NOTES - 2


def test_chat_turns_are_still_found_by_their_text(beside_a_chat: tuple[Memory, list[str]]) -> None:
    memory, _ = beside_a_chat
    said = sentences(2, 20)
    first = [memory.search(text, user_id="ana", limit=3)[0].memory.text for text in said]
    assert sum(found == text for found, text in zip(first, said, strict=True)) >= 18
