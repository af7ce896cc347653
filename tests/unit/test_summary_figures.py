"""How summaries are measured, on a conversation made here."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from remanence.cli.app import app
from remanence.tools.evaluation.datasets import Corpus, Probe, Turn
from remanence.tools.evaluation.summaries import (
    items_of,
    kept,
    name_words,
    repeated,
    summaries_report,
)

AT = datetime(2023, 5, 8, tzinfo=UTC)
SAID = [
    ("Ida", "Hey Uwe! Great to hear from you after such a long time, how are you doing?"),
    ("Uwe", "Hi Ida! All is well here, thanks so much. It is nice to talk to you again, Ida!"),
    ("Ida", "So nice! I met Clara in Porto two weeks ago, and we bought five kites at the fair."),
    ("Uwe", "Wow, that sounds like an amazing time! I'm really glad that you had so much fun."),
    ("Ida", "Yes, it was so good! By the way, what do you think of all of this, my dear Uwe?"),
]


def corpus() -> Corpus:
    turns = tuple(
        Turn(id=f"D1:{n}", session="D1", text=text, at=AT, speaker=speaker)
        for n, (speaker, text) in enumerate(SAID)
    )
    gold = frozenset(["D1:2"])
    probe = Probe(question="?", category="x", now=AT, turns=gold, sessions=frozenset(["D1"]))
    return Corpus(dataset="made up", name="one", turns=turns, probes=(probe,))


def test_names_are_words_that_keep_their_capital() -> None:
    named = name_words(["I saw Clara. Clara saw me", "the Great day was great, great. Great!"])
    assert named == {"clara"}


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("Clara met me two weeks ago", {"clara", "2 weeks ago"}),
        ("We paid 1,200 euros on 7 May 2023", {"1200", "7 may 2023"}),
        ("Clara Wolf's dog, last Friday", {"clara wolf", "last friday"}),
        ("I may march on", set()),
        ("Five of Wolf, Clara", {"5", "wolf", "clara"}),
    ],
)
def test_items(text: str, items: set[str]) -> None:
    assert items_of(text, frozenset(["clara", "wolf"])) == items


def test_an_item_is_kept_where_its_words_stand_side_by_side() -> None:
    items = frozenset(["2 weeks ago", "clara wolf"])
    assert kept(items, "two weeks ago: Clara, the Wolf") == 1
    assert kept(items, "Two WEEKS ago Clara Wolf's") == 2


def test_repeated_runs_of_words() -> None:
    assert repeated("red kite flew high") == 0
    assert repeated("red kite flew high red kite flew high") == pytest.approx(1 / 5)


def test_ours_beside_the_simple_ways() -> None:
    figures = summaries_report([corpus()]).figures["made up"]
    assert list(figures) == ["ours", "first sentences", "lead turns", "random sentences"]
    assert figures["ours"].questions == 1
    assert figures["ours"].items == 4
    assert figures["ours"].kept_by_question == 1.0
    assert figures["first sentences"].kept_by_question == 0.0
    assert all(found.length <= 0.2 for found in figures.values())


def test_the_command(tmp_path: Path) -> None:
    conversation = {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": who, "dia_id": f"D1:{n}", "text": text}
            for n, (who, text) in enumerate(SAID)
        ],
    }
    entry = {
        "conversation": conversation,
        "qa": [{"question": "?", "evidence": ["D1:2"], "category": 4}],
    }
    file = tmp_path / "set.json"
    file.write_text(json.dumps([entry]))
    told = CliRunner().invoke(app, ["bench", "summaries", "--data", str(file), "--json"])
    assert json.loads(told.stdout)["data"]["figures"]["locomo"]["ours"]["kept_by_question"] == 1.0
    shown = CliRunner().invoke(app, ["bench", "summaries", "--data", str(file)])
    assert "first sentences" in shown.stdout
    assert "Clara" in shown.stdout
