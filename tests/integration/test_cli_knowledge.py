"""Facts and the graph on the command line, in process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from remanence import Memory
from remanence.cli.app import app

Rem = Callable[..., Any]
ANA = ("-u", "ana")


@pytest.fixture
def rem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rem:
    """Run `rem` on a database in which Ana has said a few things."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REMANENCE_DATABASE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("COLUMNS", "200")
    with Memory(tmp_path / "memory.db") as memory:
        said = ["I live in Lisbon.", "My brother Tom lives in Porto."]
        memory.add_messages([{"name": "Ana", "content": text} for text in said], user_id="ana")

    def call(*arguments: str, stdin: str | None = None) -> Any:
        return CliRunner().invoke(app, list(arguments), input=stdin)

    return call


def _data(result: Any) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["data"]


def test_a_fact_from_beginning_to_end(rem: Rem) -> None:
    made = _data(
        rem("facts", "add", "Ana", "works_at", "Acme", *ANA, "--valid-from", "2024-03", "--json")
    )
    assert (made["predicate"], made["valid_from"][:10]) == ("works at", "2024-03-01")
    shown = rem("facts", "about", "Ana", "works at", *ANA)
    assert "Ana works at Acme" in shown.stdout
    assert "since 2024-03" in shown.stdout
    right = _data(rem("facts", "correct", made["id"], "Globex", "--json"))
    assert right["object"] == "Globex"
    assert _data(rem("facts", "confirm", right["id"], "--json"))["standing"] == "holds"
    assert "Globex" in rem("facts", "timeline", "Ana", *ANA).stdout
    gone = rem("facts", "retract", right["id"], "--yes")
    assert "retracted" in gone.stdout
    assert _data(rem("facts", "about", "Ana", "works at", *ANA, "--json"))["facts"] == []
    past = ("--history", "--json")
    assert len(_data(rem("facts", "about", "Ana", "works at", *ANA, *past))["facts"]) == 2


def test_the_past_on_a_command_line(rem: Rem) -> None:
    for year, place in (("2020", "Rome"), ("2022", "Bern")):
        rem("facts", "add", "Eva", "lives in", place, *ANA, "--valid-from", year)
    then = _data(rem("facts", "about", "Eva", *ANA, "--as-of", "2021-05-01", "--json"))
    assert [one["object"] for one in then["facts"]] == ["Rome"]
    early = ("--known-at", "2001-01-01", "--json")
    assert _data(rem("facts", "about", "Eva", *ANA, *early))["facts"] == []


def test_conflicts_and_lists(rem: Rem) -> None:
    for place in ("Faro", "Braga"):
        rem("facts", "add", "Tom", "born in", place, *ANA)
    shown = rem("facts", "conflicts", *ANA).stdout
    assert "Faro" in shown
    assert "Braga" in shown
    lines = rem("facts", "list", *ANA, "--ndjson").stdout.splitlines()
    assert {json.loads(line)["predicate"] for line in lines} >= {"lives in", "brother", "born in"}
    assert "Nothing contradicts" in rem("facts", "conflicts").stderr


def test_reading_and_learning(rem: Rem) -> None:
    shown = rem("facts", "extract", stdin="I live in Oslo. Do you?")
    assert "lives in Oslo" in shown.stdout
    assert "refused: question, 1" in shown.stderr
    assert _data(rem("facts", "learn", *ANA, "--json")) == {"count": 3}
    assert "Nothing was refused" in rem("facts", "refused").stderr


def test_the_graph_in_a_shell(rem: Rem, tmp_path: Path) -> None:
    assert "Lisbon" in rem("graph", "list", *ANA).stdout
    assert "brother" in rem("graph", "get", "tom", *ANA).stdout
    assert "–brother–" in rem("graph", "paths", "Ana", "Porto", *ANA).stdout
    assert "Porto" in rem("graph", "neighbours", "Tom", *ANA).stdout
    assert "Tom" in rem("graph", "communities", *ANA).stdout
    assert "lives in" in rem("graph", "timeline", "Tom", *ANA).stdout
    [mention] = _data(rem("graph", "mentions", "Porto", *ANA, "--json"))["mentions"]
    assert mention["memory"] in rem("graph", "mentions", "Porto", *ANA).stdout
    assert rem("graph", "plot", "graph.svg", *ANA).exit_code == 0
    assert (tmp_path / "graph.svg").read_text().lstrip().startswith("<?xml")


def test_the_graph_is_changed_and_changed_back(rem: Rem) -> None:
    rem("graph", "add", "Acme", "organisation", "--note", "makes anvils", *ANA)
    rem("graph", "observe", "Acme", "founded 1920", "sells by post", *ANA)
    rem("graph", "relate", "Ana", "works at", "Acme", *ANA)
    node = _data(rem("graph", "get", "Acme", *ANA, "--json"))
    assert len(node["observations"]) == 3
    assert [one["relation"] for one in node["relations"]] == ["works at"]
    rem("graph", "add", "ACME Inc", *ANA)
    rem("graph", "merge", "ACME Inc", "Acme", *ANA)
    assert "also ACME Inc" in rem("graph", "get", "Acme", *ANA).stdout
    rem("graph", "unmerge", "ACME Inc", *ANA)
    assert "also" not in rem("graph", "get", "Acme", *ANA).stdout
    assert "ACME Inc" not in rem("graph", "alike", *ANA).stdout  # said to be two
    rem("graph", "add", "Acme Limited", "organisation", *ANA)
    assert "Acme Limited" in rem("graph", "alike", *ANA).stdout
    assert "would be merged" in rem("graph", "resolve", *ANA).stderr
    assert rem("graph", "unrelate", "Ana", "works at", "Acme", *ANA, "--yes").exit_code == 0
    assert rem("graph", "erase", "Acme", *ANA, "--yes").exit_code == 0
    gone = rem("graph", "get", "Acme", *ANA)
    assert gone.exit_code == 1
    assert "There is no entity 'Acme' here" in gone.stderr


def test_exports_can_be_piped(rem: Rem) -> None:
    rem("graph", "add", "A <b> & \"c\" 'd'", *ANA)
    tree = ElementTree.fromstring(rem("graph", "export", "graphml", *ANA).stdout)
    assert "Tom" in ElementTree.tostring(tree, encoding="unicode")
    assert json.loads(rem("graph", "export", *ANA).stdout)["entities"]
    assert rem("graph", "export", "mermaid", *ANA).stdout.startswith("flowchart")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("facts", "add", "Ana", "likes", " "), "object"),
        (("facts", "add", "Ana", "likes", "tea", "--valid-from", "2024-13"), "valid_from"),
        (("facts", "add", "Ana", "likes", "tea", "--confidence", "2"), "confidence"),
        (("facts", "add", "Ana", "same as", "Tom"), "graph.merge"),
        (("facts", "get", "nonsense"), "no fact"),
        (("facts", "correct", "01890000-0000-7000-8000-000000000000", "x"), "no fact"),
        (("facts", "about", "Ana", "--standing", "odd"), "standing"),
        (("facts", "learn", "--model"), "llm_url"),
        (("graph", "get", "Nobody"), "no entity"),
        (("graph", "merge", "Nobody", "Else"), "no entity"),
        (("graph", "plot", "picture.bmp"), ".png or .svg"),
        (("graph", "export", "dot"), "json"),
        (("graph", "neighbours", "Ana", "-u", "ana", "--depth", "99"), "depth"),
    ],
)
def test_bad_input_is_refused_in_one_line(rem: Rem, arguments: tuple[str, ...], told: str) -> None:
    result = rem(*arguments)
    assert result.exit_code == 1
    assert told in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.output
