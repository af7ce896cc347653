"""The reference memory server's file is read by one command, as often as one likes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from remanence import InvalidInput, Memory
from remanence.cli.app import app
from remanence.tools.transfer import GraphImported, import_graph

LINES = [
    {
        "type": "entity",
        "name": "Marta",
        "entityType": "person",
        "observations": ["Plays the cello", "Has two cats"],
    },
    {"type": "entity", "name": "Harbour Choir", "entityType": "organisation", "observations": []},
    {"type": "relation", "from": "Marta", "to": "Harbour Choir", "relationType": "sings in"},
]


def written(*lines: object) -> io.BytesIO:
    return io.BytesIO("\n".join(json.dumps(line) for line in lines).encode())


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db") as opened:
        yield opened


def test_it_is_read_once(memory: Memory) -> None:
    done = import_graph(memory, written(*LINES), user_id="ana")
    assert done == GraphImported(entities=2, observations=2, relations=1)
    marta = memory.graph.get("Marta", user_id="ana")
    assert {one.text for one in marta.observations} == {"Plays the cello", "Has two cats"}
    assert [(one.relation, one.target) for one in marta.relations] == [
        ("sings in", "Harbour Choir")
    ]
    again = import_graph(memory, written(*LINES), user_id="ana")
    assert again == GraphImported(entities=0, observations=0, relations=0)
    assert memory.graph.get("Marta", user_id="ana").observations == marta.observations
    assert memory.graph.entities() == []


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"type": "note"},
        {"type": "entity", "name": "", "entityType": "x", "observations": []},
        {"type": "entity", "name": "A", "entityType": "x", "observations": "one"},
        {"type": "entity", "name": "A", "entityType": "x", "observations": [5]},
        {"type": "relation", "from": "A", "to": 5, "relationType": "x"},
        {"type": "relation", "from": "A", "to": "B"},
    ],
)
def test_a_line_that_is_neither_is_named_and_nothing_is_written(
    line: dict[str, object], memory: Memory
) -> None:
    with pytest.raises(InvalidInput, match="Line 4"):
        import_graph(memory, written(*LINES, line))
    assert memory.graph.entities() == []


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "memory.jsonl").write_bytes(written(*LINES).getvalue())
    database = str(tmp_path / "memory.db")
    told = CliRunner().invoke(
        app, ["import", "graph", str(tmp_path / "memory.jsonl"), "-u", "ana", "--db", database]
    )
    assert told.exit_code == 0, told.output
    assert "2 entities, 2 observations and 1 relation read." in told.output
