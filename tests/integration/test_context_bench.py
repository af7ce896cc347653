"""`rem bench context` on a question set made here."""

from __future__ import annotations

import json
from pathlib import Path

from remanence.tools.evaluation.contexts import COLUMNS, context_report

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
    "qa": [{"question": "What did Ida buy?", "evidence": ["D1:120"], "category": 4}],
}


def test_ours_finds_what_the_last_turns_do_not_hold(tmp_path: Path) -> None:
    data = tmp_path / "set.json"
    data.write_text(json.dumps([ENTRY]), encoding="utf-8")
    figures = context_report(data, tmp_path / "work", budgets=(300,))
    assert set(figures) == {"locomo, 300 tokens", "locomo, 300 tokens · single-hop"}
    systems = figures["locomo, 300 tokens"]
    assert set(systems) == {"remanence", "last turns", "dense"}
    assert systems["remanence"]["gold"] == 1
    assert systems["last turns"]["gold"] == 0
    assert all(0.9 <= found["used"] <= 1 for found in systems.values())
    assert all(column in found for found in systems.values() for column in COLUMNS)
