"""Facts of a conversation compared with labels that hold none of its text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from remanence.cli.app import app
from remanence.errors import InvalidInput
from remanence.tools.evaluation.datasets import load_corpora
from remanence.tools.evaluation.real_facts import digest, real_report, statements

SAID = ["I live in Porto.", "I work at Acme as a nurse.", "We met at the harbour.", "Good night!"]


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A conversation in the form of LoCoMo."""
    turns = [
        {"speaker": "Ana", "dia_id": f"D1:{place}", "text": text}
        for place, text in enumerate(SAID, start=1)
    ]
    said = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    file = tmp_path / "talk.json"
    whole = [{"sample_id": "talk-1", "conversation": said, "qa": []}]
    file.write_text(json.dumps(whole), encoding="utf-8")
    return file


@pytest.fixture
def judged(tmp_path: Path, talk: Path) -> Path:
    """Labels: of what is read, the home is wrong, the trade of no use; a friend is missed."""
    verdicts = {"lives in": 0, "works at": 2, "works as": 1}
    rows = [
        {"set": told.key[0], "conversation": told.key[1], "turn": told.key[2],
         "said": digest(told.statement), "verdict": verdicts[told.statement.predicate]}
        for told in statements(load_corpora(talk), {}, all=True)
        if told.statement.predicate in verdicts
    ]  # fmt: skip
    where = {"set": "locomo", "conversation": "talk-1"}
    job = {"subject": "Ana", "predicate": "works at", "object": ["Acme", "hospital"]}
    pet = {"subject": "Ana", "predicate": "pet", "object": "cat Miso"}
    other = {"set": "locomo", "conversation": "talk-2", "turn": "D1:1"}
    turns = [
        where | {"turn": "D1:2", "facts": [job | {"optional": False}, pet | {"optional": True}]},
        where | {"turn": "D1:4", "facts": [pet | {"optional": False}]},
        other | {"facts": [job | {"optional": False}]},
    ]
    folder = tmp_path / "judged"
    folder.mkdir()
    for name, ones in (("statements", rows), ("turns", turns)):
        lines = "\n".join(map(json.dumps, ones))
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def test_precision_and_recall_are_those_of_the_labels(talk: Path, judged: Path) -> None:
    report = real_report(load_corpora(talk), judged)
    states = report.precision["states of a person"]
    assert (states.stated, states.judged) == (3, 3)
    assert states.useful == pytest.approx(1 / 3, abs=1e-3)
    assert states.right == pytest.approx(2 / 3, abs=1e-3)
    assert report.rules["home live 1"].right == 0
    assert {name: (one.wanted, one.found) for name, one in report.recall.items()} == {
        "works at": (1, 1),
        "pet": (1, 0),
    }


def test_the_command_prints_them(talk: Path, judged: Path) -> None:
    asked = ["bench", "facts", "--data", str(talk), "--judged", str(judged), "--rules"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert all(word in done.output for word in ("states of a person", "home live 1", "wanted"))
    told = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)["data"]
    assert told["precision"]["works at"]["right"] == 1


def test_labels_without_a_conversation_are_refused(judged: Path) -> None:
    done = CliRunner().invoke(app, ["bench", "facts", "--judged", str(judged)])
    assert done.exit_code == 2
    assert "--data" in done.output


def test_labels_that_are_none_are_refused(talk: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="labels"):
        real_report(load_corpora(talk), tmp_path / "nowhere")
