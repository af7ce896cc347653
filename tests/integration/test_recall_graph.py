"""Recall through what is known: a name in a question reaches memories two steps away."""

from __future__ import annotations

from pathlib import Path

import pytest

from remanence import Memory

SAID = (
    "I work with Clara at Northwind now.",
    "The weather is fine today.",
    "Northwind has an office in Tromso.",
    "We ate soup at home.",
)


def test_a_name_reaches_two_steps_and_shows_in_the_signals(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": text, "name": "Bob"} for text in SAID]
    with Memory(tmp_path / "memory.db") as memory:
        memory.add_messages(turns, user_id="u")
        hits = memory.search("Which town does Clara travel to?", user_id="u", limit=4)
    graph = {hit.memory.text: hit.signals["graph"] for hit in hits}
    near, aside, far, other = (graph[text] for text in SAID)
    assert near > far > 0 > aside == other
    for hit in hits:
        assert sum(hit.signals.values()) == pytest.approx(hit.score, abs=1e-4)


def test_without_names_there_is_nothing_to_follow(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        for text in SAID:
            memory.add(text, user_id="u")
        hits = memory.search("Which soup was it?", user_id="u", limit=4)
    assert len({hit.signals["graph"] for hit in hits}) == 1
