"""Questions about a time: the named person's answer of that day comes before whoever asked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from remanence import Memory

NOW = datetime(2026, 3, 10, tzinfo=UTC)
THEN = "2025-05-19T18:00:00Z"
LATER = "2025-09-02T18:00:00Z"
TALK = (
    ("Nina", "Just back from the fjords, four days of walking.", THEN),
    ("Olaf", "That is on my list. Did you see any birds?", THEN),
    ("Nina", "Two puffins and an eagle, right over the tent.", THEN),
    ("Olaf", "Lucky you. And what did you cook out there?", THEN),
    ("Nina", "Mostly lentils with smoked trout.", THEN),
    ("Olaf", "I could not cook in the rain.", THEN),
    ("Nina", "The tram was late again today.", LATER),
    ("Olaf", "Did you see the parade from the tram?", LATER),
    ("Nina", "Only the brass band, they played beautifully.", LATER),
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What animals did Nina see last May?", "Two puffins"),
        ("What birds did Nina see in May 2025?", "Two puffins"),
        ("What did Nina cook last May?", "Mostly lentils"),
        ("What did Nina see last September?", "Only the brass band"),
    ],
)
def test_who_asks_does_not_outrank_who_answers(tmp_path: Path, question: str, answer: str) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        for day in (THEN, LATER):
            turns = [
                {"role": "user", "name": name, "content": text, "at": at}
                for name, text, at in TALK
                if at == day
            ]
            memory.add_messages(turns, user_id="u", session_id=day)
        hits = memory.search(question, user_id="u", limit=9, now=NOW)
    order = [hit.memory.text for hit in hits]
    texts = [text for _, text, _ in TALK]
    told = next(n for n, text in enumerate(texts) if text.startswith(answer))
    assert texts[told - 1].endswith("?")
    assert order.index(texts[told]) < order.index(texts[told - 1])
