"""Exports and pictures: whatever the names hold, other programs can read them."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as Xml

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from remanence.errors import ConfigError, InvalidInput
from remanence.knowledge.graph.export import (
    FORMATS,
    GRAPHML,
    check_picture,
    draw,
    exported,
    mermaid_text,
    shown,
)
from remanence.model.graph import CoOccurrence, Node, Observation, Relation, Subgraph
from remanence.model.knowledge import Standing

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
SPACE = f"{{{GRAPHML}}}"
HOSTILE = [
    'Ana "the boss" Silva',
    "Bob <b>&amp;</b> ]]>",
    "a\nb\r\nc\td",
    "]; n0 --> n1; click n0 call alert()",
    "%%{init: {}}%%",
    "$\\frac{1}{0$ $$ x^",
    "\x01\x08\x1f\x7f bell",
    "日本 Ελλάδα العربية 🐘👩‍👩‍👧",
    "`code` | pipe #35; #quot; style a:b#c;",
    "--><!-- -- \\ ' /",
    "end",
    "x" * 1024,
]


def node(id: str, name: str, *notes: str, type: str = "person") -> Node:
    observations = tuple(Observation(text=text, recorded_at=NOW) for text in notes)
    return Node(id=id, name=name, type=type, created_at=NOW, observations=observations)


def edge(a: Node, relation: str, b: Node) -> Relation:
    return Relation(
        id=f"{a.id}{b.id}",
        source=a.name,
        source_id=a.id,
        relation=relation,
        target=b.name,
        target_id=b.id,
        confidence=0.75,
        trust=1.0,
        standing=Standing.HOLDS,
        recorded_at=NOW,
        valid_from=NOW,
        sources=("m1", "m2"),
    )


def hostile() -> Subgraph:
    nodes = [node(str(n), name, name, type=name[:5]) for n, name in enumerate(HOSTILE)]
    edges = [edge(a, a.name, b) for a, b in pairwise(nodes)]
    weak = CoOccurrence(a=HOSTILE[0], a_id="0", b=HOSTILE[4], b_id="4", memories=3)
    edges.append(edge(nodes[0], "is", nodes[0]))
    return Subgraph(nodes=tuple(nodes), edges=tuple(edges), together=(weak,))


def small() -> Subgraph:
    ana, acme = node("1", "Ana", "likes tea"), node("2", "Acme", type="organisation")
    return Subgraph(nodes=(ana, acme), edges=(edge(ana, "works at", acme),))


class TestJson:
    def test_the_shape_is_the_reference_memory_servers(self) -> None:
        read = json.loads(exported(small(), "json"))
        shapes = [(one["name"], one["entityType"], one["observations"]) for one in read["entities"]]
        assert shapes == [("Ana", "person", ["likes tea"]), ("Acme", "organisation", [])]
        (relation,) = read["relations"]
        assert (relation["from"], relation["relationType"], relation["to"]) == (
            "Ana",
            "works at",
            "Acme",
        )
        assert relation["validFrom"] == NOW.isoformat()
        assert relation["sources"] == ["m1", "m2"]

    def test_hostile_names_come_back_as_they_were(self) -> None:
        read = json.loads(exported(hostile(), "json"))
        assert [one["name"] for one in read["entities"]] == HOSTILE
        assert read["together"] == [{"a": HOSTILE[0], "b": HOSTILE[4], "memories": 3}]


class TestGraphml:
    def test_it_parses_and_says_everything(self) -> None:
        root = Xml.fromstring(exported(small(), "graphml"))
        declared = {key.get("id") for key in root.iter(f"{SPACE}key")}
        nodes = {one.get("id"): data(one) for one in root.iter(f"{SPACE}node")}
        assert nodes["n0"] == {
            "node_name": "Ana",
            "node_type": "person",
            "node_observations": "likes tea",
            "node_mentions": "0",
        }
        (found,) = root.iter(f"{SPACE}edge")
        assert (found.get("source"), found.get("target")) == ("n0", "n1")
        assert data(found)["edge_relation"] == "works at"
        assert data(found)["edge_confidence"] == "0.75"
        assert {one.get("key") for one in root.iter(f"{SPACE}data")} <= declared

    def test_hostile_names(self) -> None:
        root = Xml.fromstring(exported(hostile(), "graphml"))
        names = [data(one)["node_name"] for one in root.iter(f"{SPACE}node")]
        written = [re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "\ufffd", name) for name in HOSTILE]
        assert names == [name.replace("\r\n", "\n") for name in written]  # as XML reads them
        assert len(list(root.iter(f"{SPACE}edge"))) == len(HOSTILE) + 1
        weak = [one for one in root.iter(f"{SPACE}edge") if one.get("directed") == "false"]
        assert [data(one)["edge_memories"] for one in weak] == ["3"]

    @given(st.text(st.characters(exclude_categories=["Cs"])))
    def test_any_name_makes_valid_xml(self, name: str) -> None:
        one = node("1", name)
        part = Subgraph(nodes=(one,), edges=(edge(one, name, one),))
        root = Xml.fromstring(exported(part, "graphml"))
        assert len(list(root.iter(f"{SPACE}node"))) == 1


class TestMermaid:
    LABEL = r'"[^"\[\]{}|<>`%:\n]*"'
    LINE = re.compile(rf"  n\d+(\[{LABEL}\]| -->\|{LABEL}\| n\d+| -\.- n\d+)$")

    def test_each_line_is_a_node_or_an_edge(self) -> None:
        first, *lines = exported(hostile(), "mermaid").splitlines()
        assert first == "flowchart LR"
        assert len(lines) == 2 * len(HOSTILE) + 1
        assert [line for line in lines if not self.LINE.match(line)] == []

    @given(st.text(st.characters(exclude_categories=["Cs"])))
    def test_a_label_says_the_name_and_nothing_else(self, name: str) -> None:
        written = mermaid_text(name)
        assert "\n" not in written
        decoded = re.sub(r"#(\d+);", lambda code: chr(int(code[1])), written)
        assert decoded.split() == name.split()


class TestPictures:
    @pytest.mark.slow
    def test_png_and_svg(self, tmp_path: Path) -> None:
        for name in ("graph.png", "graph.SVG"):
            draw(hostile(), check_picture(tmp_path / name))
        head = (tmp_path / "graph.png").read_bytes()
        assert head.startswith(b"\x89PNG\r\n\x1a\n")
        assert head.rstrip().endswith(b"IEND\xaeB`\x82")
        assert len(head) > 10_000
        root = Xml.parse(tmp_path / "graph.SVG").getroot()
        assert root.tag.endswith("svg")
        assert sum(1 for _ in root.iter()) > 100

    def test_every_name_is_in_the_picture(self, tmp_path: Path) -> None:
        people = [node(str(n), f"Person {n}") for n in range(6)]
        edges = tuple(edge(people[0], "knows", one) for one in people[1:])
        draw(Subgraph(nodes=tuple(people), edges=edges), tmp_path / "graph.png")
        drawn = imread(tmp_path / "graph.png")[:, :, :3]
        orange = np.abs(drawn - np.array([0xE6, 0x9F, 0x00]) / 255).max(axis=2) < 0.02
        rows = np.flatnonzero(orange.any(axis=1))
        columns = np.flatnonzero(orange.any(axis=0))
        assert orange.sum() > 6 * 500
        assert np.ptp(rows) > drawn.shape[0] / 2
        assert np.ptp(columns) > drawn.shape[1] / 2

    @pytest.mark.slow
    def test_the_same_graph_is_drawn_alike(self, tmp_path: Path) -> None:
        for name in ("a.png", "b.png"):
            draw(hostile(), tmp_path / name)
        assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()

    def test_an_empty_graph_and_a_lone_node(self, tmp_path: Path) -> None:
        draw(Subgraph(), tmp_path / "none.png")
        draw(Subgraph(nodes=(node("1", "Ana"),)), tmp_path / "one.svg")
        assert (tmp_path / "none.png").stat().st_size > 100
        assert "<svg" in (tmp_path / "one.svg").read_text()

    @pytest.mark.parametrize("path", ["a.pdf", "a", "", ".png", "a\0.png", 5, None, "a.png.exe"])
    def test_other_paths_are_refused(self, path: object) -> None:
        with pytest.raises(InvalidInput):
            check_picture(path)

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="another path"):
            draw(Subgraph(), tmp_path / "no" / "graph.png")

    def test_without_matplotlib_the_extra_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        with pytest.raises(ConfigError, match=r"remanence\[plot\]"):
            draw(Subgraph(), tmp_path / "graph.png")

    def test_what_is_drawn_is_short_and_printable(self) -> None:
        assert all(shown(name).isprintable() and len(shown(name)) <= 28 for name in HOSTILE)


@pytest.mark.parametrize("format", ["xml", "", "JSON", None, 3, ["json"]])
def test_other_formats_are_refused(format: str) -> None:
    with pytest.raises(InvalidInput, match="json, graphml, mermaid"):
        exported(Subgraph(), format)


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_nothing_is_exported_too(format: str) -> None:
    assert exported(Subgraph(), format)


def data(element: Xml.Element) -> dict[str | None, str | None]:
    return {one.get("key"): one.text for one in element.iter(f"{SPACE}data")}
