"""The graph as text for other programs: JSON, GraphML, Mermaid."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any
from xml.etree import ElementTree as Xml

from remanence.errors import InvalidInput
from remanence.model.graph import Node, Relation, Subgraph, Together

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
        yield pair.a_id, pair.b_id, _weak_data(pair)


def _weak_data(pair: Together) -> dict[str, str]:
    return {"relation": TOGETHER, "memories": str(pair.memories)}


def _put(element: Xml.Element, place: str, data: Mapping[str, str]) -> None:
    for name, value in data.items():
        if value:
            Xml.SubElement(element, "data", key=f"{place}_{name}").text = _NOT_XML.sub("�", value)


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
