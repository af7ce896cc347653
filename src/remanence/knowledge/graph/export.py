"""The graph for other programs, JSON, GraphML or Mermaid, and as a picture laid out by springs."""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

from remanence.errors import ConfigError, InvalidInput
from remanence.model.graph import Node, Relation, Subgraph
from remanence.model.knowledge import EntityType

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rustworkx import PyGraph

TOGETHER = "spoken of together"

GRAPHML = "http://graphml.graphdrawing.org/xmlns"

# What XML 1.0 cannot hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_KEYS = (
    ("name", "node", "string"),
    ("type", "node", "string"),
    ("aliases", "node", "string"),
    ("observations", "node", "string"),
    ("mentions", "node", "int"),
    ("relation", "edge", "string"),
    ("confidence", "edge", "double"),
    ("standing", "edge", "string"),
    ("valid_from", "edge", "string"),
    ("valid_to", "edge", "string"),
    ("fact", "edge", "string"),
    ("sources", "edge", "string"),
    ("memories", "edge", "int"),
)
Place = tuple[float, float]
SEED = 7
STEPS = 300
GAP = 1.0  # between parts, where neighbours in a part lie about 1 apart
PICTURES = (".png", ".svg")
LONGEST = 28  # characters of a name or predicate that are drawn
# Okabe and Ito's palette, told apart by colour-blind eyes too.
COLOURS: dict[str, str] = {
    EntityType.PERSON: "#E69F00",
    EntityType.ANIMAL: "#D55E00",
    EntityType.PLACE: "#56B4E9",
    EntityType.ORGANISATION: "#009E73",
    EntityType.EVENT: "#CC79A7",
    EntityType.TOPIC: "#F0E442",
}
GREY = "#BBBBBB"


def exported(part: Subgraph, format: str) -> str:
    """A part of the graph in that format; `InvalidInput` names those there are."""
    write = FORMATS.get(format) if isinstance(format, str) else None
    if write is None:
        known = ", ".join(FORMATS)
        raise InvalidInput(f"Unknown format {str(format)[:40]!r}; known: {known}.")
    return write(part)


def to_json(part: Subgraph) -> str:
    """Entities with their observations, relations from and to them; keys as in MCP's server."""
    relations = [_relation(one) for one in part.edges]
    value: dict[str, Any] = {"entities": [_entity(one) for one in part.nodes]}
    value["relations"] = relations
    if part.together:
        value["together"] = [
            {"a": one.a, "b": one.b, "memories": one.memories} for one in part.together
        ]
    return json.dumps(value, ensure_ascii=False, indent=2)


def to_graphml(part: Subgraph) -> str:
    """GraphML; characters that XML cannot hold are replaced by U+FFFD."""
    root = Xml.Element("graphml", xmlns=GRAPHML)
    for name, place, type in _KEYS:
        attributes = {"id": f"{place}_{name}", "for": place}
        Xml.SubElement(root, "key", attributes | {"attr.name": name, "attr.type": type})
    graph = Xml.SubElement(root, "graph", id="memory", edgedefault="directed")
    numbers = {node.id: f"n{number}" for number, node in enumerate(part.nodes)}
    for node in part.nodes:
        _put(Xml.SubElement(graph, "node", id=numbers[node.id]), "node", _node_data(node))
    for number, (source, target, data) in enumerate(_edge_data(part)):
        ends = {"id": f"e{number}", "source": numbers[source], "target": numbers[target]}
        weak = {} if "fact" in data else {"directed": "false"}
        _put(Xml.SubElement(graph, "edge", ends | weak), "edge", data)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode")


def to_mermaid(part: Subgraph) -> str:
    """A Mermaid flowchart; weak edges are dotted."""
    numbers = {node.id: f"n{number}" for number, node in enumerate(part.nodes)}
    lines = ["flowchart LR"]
    lines += [f'  {numbers[node.id]}["{mermaid_text(node.name)}"]' for node in part.nodes]
    lines += [
        f'  {numbers[one.source_id]} -->|"{mermaid_text(one.relation)}"| {numbers[one.target_id]}'
        for one in part.edges
    ]
    lines += [f"  {numbers[one.a_id]} -.- {numbers[one.b_id]}" for one in part.together]
    return "\n".join(lines) + "\n"


def mermaid_text(text: str) -> str:
    """A text that Mermaid shows as it is, whatever is in it; line breaks become spaces.

    All but letters, digits and commas are written by their code: quotes, brackets and backticks
    end a label, `%%` begins a comment, a colon a style, "1." a list.
    """
    spaced = " ".join(text.split())
    return "".join(c if c.isalnum() or c in " ," else f"#{ord(c)};" for c in spaced) or " "


FORMATS: Mapping[str, Callable[[Subgraph], str]] = {
    "json": to_json,
    "graphml": to_graphml,
    "mermaid": to_mermaid,
}


def _entity(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "entityType": node.type,
        "observations": [one.text for one in node.observations],
        "aliases": list(node.aliases),
        "facts": [{"predicate": one.predicate, "value": one.object} for one in node.facts],
        "mentions": node.mentions,
        "firstMention": _iso(node.first_mention),
        "lastMention": _iso(node.last_mention),
    }


def _relation(edge: Relation) -> dict[str, Any]:
    return {
        "from": edge.source,
        "to": edge.target,
        "relationType": edge.relation,
        "confidence": edge.confidence,
        "standing": edge.standing.value,
        "validFrom": _iso(edge.valid_from),
        "validTo": _iso(edge.valid_to),
        "fact": edge.id,
        "sources": list(edge.sources),
    }


def _node_data(node: Node) -> dict[str, str]:
    return {
        "name": node.name,
        "type": node.type,
        "aliases": "\n".join(node.aliases),
        "observations": "\n".join(one.text for one in node.observations),
        "mentions": str(node.mentions),
    }


def _edge_data(part: Subgraph) -> Iterator[tuple[str, str, dict[str, str]]]:
    for edge in part.edges:
        data = {"relation": edge.relation, "confidence": repr(edge.confidence)}
        data |= {"standing": edge.standing.value, "fact": edge.id}
        data |= {"valid_from": _iso(edge.valid_from) or "", "valid_to": _iso(edge.valid_to) or ""}
        yield edge.source_id, edge.target_id, data | {"sources": "\n".join(edge.sources)}
    for pair in part.together:
        yield pair.a_id, pair.b_id, {"relation": TOGETHER, "memories": str(pair.memories)}


def _put(element: Xml.Element, place: str, data: Mapping[str, str]) -> None:
    for name, value in data.items():
        if value:
            Xml.SubElement(element, "data", key=f"{place}_{name}").text = _NOT_XML.sub("�", value)


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def places_of(part: Subgraph) -> dict[str, Place]:
    """A place for each node, the same each time; large parts first, lone nodes last."""
    graph, ids = _graph(part)
    laid = [_laid(graph, nodes) for nodes in _parts(graph)]
    width = max(math.sqrt(sum(_size(one)[0] * _size(one)[1] for one in laid)), 1.0) * 1.3
    return {ids[node]: place for node, place in _packed(laid, width).items()}


def _graph(part: Subgraph) -> tuple[PyGraph[str, None], list[str]]:
    import rustworkx

    ids = [node.id for node in part.nodes]
    numbers = {id: number for number, id in enumerate(ids)}
    graph: PyGraph[str, None] = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(ids)
    strong = [(numbers[one.source_id], numbers[one.target_id], None) for one in part.edges]
    weak = [(numbers[one.a_id], numbers[one.b_id], None) for one in part.together]
    graph.add_edges_from(strong + weak)
    return graph, ids


def _parts(graph: PyGraph[str, None]) -> list[list[int]]:
    import rustworkx

    found = [sorted(nodes) for nodes in rustworkx.connected_components(graph)]
    return sorted(found, key=lambda nodes: (-len(nodes), nodes))


def _laid(graph: PyGraph[str, None], nodes: Sequence[int]) -> dict[int, Place]:
    """A connected part by springs, its corner at the origin."""
    import rustworkx

    inner = graph.subgraph(list(nodes))
    found = rustworkx.spring_layout(inner, seed=SEED, num_iter=STEPS)
    xs, ys = ([found[n][axis] for n in range(len(nodes))] for axis in (0, 1))
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    scale = math.sqrt(len(nodes)) * 1.2 / (max(wide, high) or 1.0)
    return {
        node: (float(xs[n] - min(xs)) * scale, float(ys[n] - min(ys)) * scale)
        for n, node in enumerate(nodes)
    }


def _size(laid: dict[int, Place]) -> Place:
    width = max(x for x, _ in laid.values()) + GAP
    return width, max(y for _, y in laid.values()) + GAP


def _packed(laid: Sequence[dict[int, Place]], width: float) -> dict[int, Place]:
    """The parts in rows, from the top left, none wider than `width` unless one part is."""
    places: dict[int, Place] = {}
    left, top, row = 0.0, 0.0, 0.0
    for one in laid:
        wide, high = _size(one)
        if left > 0 and left + wide > width:
            left, top, row = 0.0, top + row, 0.0
        places |= {node: (left + x, -(top + y)) for node, (x, y) in one.items()}
        left, row = left + wide, max(row, high)
    return places


def check_picture(path: object) -> Path:
    """The path to draw to; `InvalidInput` unless it ends in .png or .svg."""
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise InvalidInput(f"path must be a path, not {str(path)[:40]!r}.")
    given = Path(path)
    if given.suffix.lower() not in PICTURES:
        raise InvalidInput(f"A picture's path must end in .png or .svg; got {given.name[:60]!r}.")
    return given


def draw(part: Subgraph, path: Path) -> None:
    """Draw nodes and edges to a file, in place of what was there."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError(
            f"Plotting needs an extra: run `pip install 'remanence[plot]'` ({error})."
        ) from error
    side = min(30.0, 6.0 + 0.25 * len(part.nodes))
    figure = Figure(figsize=(side, side), dpi=120)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.margins(0.12)
    places = places_of(part)
    axes.update_datalim(list(places.values()))  # texts do not count for it
    axes.autoscale_view()
    _draw_on(axes, part, places)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        _save(figure, path)


def shown(text: str) -> str:
    """A text as it is drawn: one line, short, nothing that cannot be printed."""
    spaced = "".join(c if c.isprintable() else "�" for c in " ".join(text.split()))
    return spaced if len(spaced) <= LONGEST else spaced[: LONGEST - 1] + "…"


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, format=path.suffix[1:].lower())
    except OSError as error:
        raise InvalidInput(f"Cannot write {path}: {error.strerror}; give another path.") from error


def _draw_on(axes: Axes, part: Subgraph, places: Mapping[str, Place]) -> None:
    for pair in part.together:
        (ax, ay), (bx, by) = places[pair.a_id], places[pair.b_id]
        axes.plot([ax, bx], [ay, by], color="#DDDDDD", linewidth=0.8, linestyle=":", zorder=1)
    for edge in part.edges:
        _arrow(axes, places[edge.source_id], places[edge.target_id], edge.relation)
    for node in part.nodes:
        colour = COLOURS.get(node.type, GREY)
        box = {"boxstyle": "round", "facecolor": colour, "edgecolor": "white"}
        _write(axes, places[node.id], node.name, fontsize=8, zorder=4, bbox=box)


def _arrow(axes: Axes, a: Place, b: Place, label: str) -> None:
    line = {"arrowstyle": "-|>", "color": "#777777", "linewidth": 0.9, "shrinkA": 9, "shrinkB": 12}
    axes.annotate("", xy=b, xytext=a, arrowprops=line, zorder=2)
    middle = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
    box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    _write(axes, middle, label, fontsize=6, color="#555555", zorder=3, bbox=box)


def _write(axes: Axes, at: Place, text: str, **style: Any) -> None:
    # A name with dollar signs is no formula.
    axes.text(*at, shown(text), ha="center", va="center", parse_math=False, **style)
