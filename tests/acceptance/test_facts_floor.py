"""The floor under facts: what the rules alone reach on the judged sets that ship."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from remanence.cli.app import app
from remanence.tools.evaluation.facts import IN_ALL, Report, facts_report
from remanence.tools.evaluation.judged_facts import load_judged


@pytest.fixture(scope="module")
def report() -> Report:
    return facts_report(load_judged(), slips=True)


def test_sentences_are_read_rightly_or_not_at_all(report: Report) -> None:
    for split, sorts in report.sentences.items():
        found = sorts[IN_ALL]
        assert found.precision >= 0.90, (split, found)
        assert found.recall >= 0.60, (split, found)


def test_facts_stay_true_over_time(report: Report) -> None:
    for split, told in report.updates.items():
        assert told.current >= 0.95, (split, told)
        assert told.past >= 0.90, (split, told)
        assert told.retired == 0, (split, told)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A sentence and a scenario."""
    home = {"subject": "Ana", "predicate": "lives in", "object": "Porto"}
    when = {"at": "2024-01-10T12:00:00+00:00", "speaker": "Ana"}
    first = when | {"text": "I live in Porto.", "id": "s1", "split": "own", "sort": "home"}
    told = [when | {"text": text} for text in ("I live in Porto.", "Good morning!", "I like tea.")]
    second = {"id": "u1", "split": "own", "statements": told, "now": [home]}
    rows = [first | {"facts": [home]}, second | {"past": [], "untouched": [home]}]
    file = tmp_path / "own.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


def test_the_command_prints_the_tables(small: Path) -> None:
    done = CliRunner().invoke(app, ["bench", "facts", "--data", str(small), "--slips"])
    assert done.exit_code == 0, done.output
    assert "sentences, own" in done.output
    assert all(word in done.output for word in ("precision", "recall", "current", "retired"))


def test_the_command_answers_with_json(small: Path) -> None:
    done = CliRunner().invoke(app, ["bench", "facts", "--data", str(small), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)["data"]
    assert told["sentences"]["own"][IN_ALL]["recall"] == 1
    assert told["updates"]["own"]["current"] == 1
    assert told["updates"]["own"]["retired"] == told["updates"]["own"]["unknown"] == 0


def test_the_command_tells_what_each_rule_gives(small: Path) -> None:
    asked = ["bench", "facts", "--data", str(small), "--rules"]
    done = CliRunner().invoke(app, [*asked, "--json"])
    assert done.exit_code == 0, done.output
    rules = json.loads(done.stdout)["data"]["rules"]
    [fired] = (one for one in rules if one["right"])
    assert fired == {"rule": "home live 1", "right": 1, "wrong": 0}
    assert fired["rule"] in CliRunner().invoke(app, asked).output
