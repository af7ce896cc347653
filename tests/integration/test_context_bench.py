"""`rem bench context` on a question set made here."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from remanence.tools.evaluation.contexts import COLUMNS, context_report, held, packed
from remanence.tools.evaluation.datasets import Probe, Turn

TURNS = [
    {
        "speaker": "Ida",
        "dia_id": f"D1:{n}",
        "text": f"On day {n} the weather over the sea was calm.",
    }
    for n in range(1, 120)
]
KITE = {"speaker": "Ida", "dia_id": "D1:120", "text": "I bought a red kite at the harbour."}
ENTRY = {
    "sample_id": "made-up",
    "conversation": {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [KITE, *TURNS],
    },
    "qa": [{"question": "What did Ida buy at the harbour?", "evidence": ["D1:120"], "category": 4}],
}


def test_ours_and_the_top_hits_are_held_to_the_gold(tmp_path: Path) -> None:
    data = tmp_path / "set.json"
    data.write_text(json.dumps([ENTRY]), encoding="utf-8")
    figures = context_report(data, tmp_path / "work", budgets=(300,))
    assert set(figures) == {"locomo, 300 tokens", "locomo, 300 tokens · single-hop"}
    systems = figures["locomo, 300 tokens"]
    assert set(systems) == {"remanence", "top hits"}
    assert systems["remanence"]["gold"] == 1
    assert systems["top hits"]["gold"] == 1
    assert all(0.9 <= found["used"] <= 1 for found in systems.values())
    assert all(column in found for found in systems.values() for column in COLUMNS)


def probe(question: str, answer: str) -> Probe:
    return Probe(
        question=question,
        category="c",
        now=datetime(2024, 1, 1, tzinfo=UTC),
        turns=frozenset(["1"]),
        sessions=frozenset(["s"]),
        answer=answer,
    )


def test_a_piece_counts_as_far_as_it_holds_the_answer() -> None:
    text = "I was at the harbour all day. I bought a red kite. It rained in the evening."
    asked = probe("What did Ida buy?", "a red kite")
    assert held(text, asked, "Ida: I bought a red kite.") == 1
    assert held(text, asked, "Ida: I was at the harbour all day.") == 0
    unknown = probe("What did Ida buy?", "")
    assert 0 < held(text, unknown, "Ida: I bought a red kite.") < 1
    assert held(text, unknown, text) == 1


def test_the_top_hits_are_packed_as_they_come() -> None:
    turns = [
        Turn(id=str(n), session="s", text=text, at=datetime(2024, 1, 1, tzinfo=UTC))
        for n, text in enumerate(["one two three", "word " * 200, "four five six"])
    ]
    assert packed(turns, 40).turns == ["0", "2"]
