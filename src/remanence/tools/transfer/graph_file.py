"""A knowledge graph out of the file that the reference MCP memory server keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from remanence.api.memory import Memory
from remanence.errors import InvalidInput, NotFound
from remanence.tools.transfer.lines import NumberedLine, read_lines

ENTITY, RELATION = "entity", "relation"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphImported:
    """How much was new."""

    entities: int
    observations: int
    relations: int


def import_graph(
    memory: Memory,
    file: BinaryIO,
    *,
    user_id: str | None = None,
    agent_id: str | None = None,
    clean: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> GraphImported:
    """Read entities and relations, a JSON line each; what is here already is passed over.

    `InvalidInput` names the first line that is neither, and nothing is written then. `clean` takes
    out of each what is not to be kept.
    """
    lines = [clean(dict(_checked(line))) for line in read_lines(file)]
    graph = _Graph(memory, {"user_id": user_id, "agent_id": agent_id})
    made = [graph.entity(line) for line in lines if line["type"] == ENTITY]
    related = [graph.relation(line) for line in lines if line["type"] == RELATION]
    return GraphImported(
        entities=sum(new for new, _ in made),
        observations=sum(noted for _, noted in made),
        relations=sum(related),
    )


@dataclass(frozen=True, slots=True)
class _Graph:
    memory: Memory
    scope: Mapping[str, Any]

    def entity(self, line: Mapping[str, Any]) -> tuple[bool, int]:
        """Whether it is new, and how many observations are."""
        try:
            known = self.memory.graph.get(line["name"], **self.scope)
            here = {one.text for one in known.observations}
        except NotFound:
            known, here = None, set()
        fresh = [text for text in dict.fromkeys(line["observations"]) if text not in here]
        if known is None or fresh:
            self.memory.graph.add(
                line["name"], line["entityType"], observations=fresh, **self.scope
            )
        return known is None, len(fresh)

    def relation(self, line: Mapping[str, Any]) -> bool:
        """Whether it is new."""
        try:
            known = self.memory.graph.get(line["from"], **self.scope).relations
        except NotFound:
            known = ()
        made = self.memory.graph.relate(
            line["from"], line["relationType"], line["to"], **self.scope
        )
        return all(
            (one.source, one.relation, one.target) != (made.source, made.relation, made.target)
            for one in known
        )


_FIELDS: Mapping[str, Mapping[str, type]] = {
    ENTITY: {"name": str, "entityType": str, "observations": list},
    RELATION: {"from": str, "to": str, "relationType": str},
}


def _checked(line: NumberedLine) -> Mapping[str, Any]:
    content = line.content
    wanted = _FIELDS.get(str(content.get("type")))
    if wanted is None:
        raise InvalidInput(f"Line {line.number} is neither an entity nor a relation.")
    for name, kind in wanted.items():
        value = content.get(name)
        if not isinstance(value, kind) or not (value or kind is list):
            raise InvalidInput(f"Line {line.number} has no {name} that could be one.")
    if not all(isinstance(text, str) for text in content.get("observations", ())):
        raise InvalidInput(f"Line {line.number} has an observation that is no text.")
    return content
