"""The verbs of the graph: entities, observations, relations, merges; walked, drawn, exported."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from remanence.model.graph import Node, Relation, Resolved, Subgraph
from remanence.operations.facts import ABOUT_TIME
from remanence.operations.knowledge_responses import (
    Communities,
    Likenesses,
    Mentions,
    Moments,
    Nodes,
    Paths,
    Picture,
)
from remanence.operations.layer_responses import Wording
from remanence.operations.operation import (
    Answer,
    Group,
    Scoping,
    always,
    given,
    of_layer,
    where_erasing,
)
from remanence.operations.responses import Count
from remanence.operations.scopes import ABOUT_TRUST, Place

NAME = "a name; an alias will do"
TYPE = "person, place, organisation, thing, event, topic or your own word"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Place):
    """Whose graph, and as of when."""

    include_shared: bool = given("also see what belongs to no user", False)
    min_trust: float | None = given(ABOUT_TRUST)
    as_of: datetime | None = given("what was true then")
    known_at: datetime | None = given("by what was known then")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named(Asked):
    """One entity."""

    name: str = given(NAME, ..., positional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Add(Place):
    """An entity."""

    name: str = given("its name", ..., positional=True)
    type: str = given(TYPE, "thing", positional=True)
    observations: tuple[str, ...] = given("what to note about it", (), flag="--note")
    actor: str | None = given("who notes it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observe(Place):
    """Something to note."""

    name: str = given(NAME, ..., positional=True)
    observations: tuple[str, ...] = given("what to note about it", ..., positional=True)
    source: str | None = given("the id of the memory it comes from")
    actor: str | None = given("who notes it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unobserve(Place):
    """Notes to take back."""

    name: str = given(NAME, ..., positional=True)
    observations: tuple[str, ...] = given("the notes, word by word", ..., positional=True)
    erase: bool = given("remove them for good", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relate(Place):
    """How two entities are related."""

    source: str = given("from whom or what", ..., positional=True)
    relation: str = given("such as works at, sister, reports to", ..., positional=True)
    target: str = given("to whom or what", ..., positional=True)
    valid_from: str | None = given(f"since when: {ABOUT_TIME}")
    valid_to: str | None = given(f"until when: {ABOUT_TIME}")
    confidence: float = given("0 to 1: how sure it is", 1.0)
    trust: float = given("0 to 1: how far whoever says so is trusted", 1.0)
    source_memory: str | None = given("the id of the memory that says so")
    actor: str | None = given("who states it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrelate(Place):
    """A relation to take back."""

    source: str = given("from whom or what", ..., positional=True)
    relation: str = given("the relation", ..., positional=True)
    target: str = given("to whom or what", ..., positional=True)
    erase: bool = given("remove it for good", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """An entity of a user's."""

    name: str = given(NAME, ..., positional=True)
    user_id: str | None = given("the user whose graph it is", short="-u")


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(Owned):
    """Two names for one thing."""

    into: str = given("the name it goes by from now on", ..., positional=True)
    reason: str | None = given("why; kept with the merge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmerge(Owned):
    """A merge to undo."""

    reason: str | None = given("why; kept with the merge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """Whose entities to merge."""

    user_id: str | None = given("the user whose graph it is", short="-u")
    threshold: float = given("0 to 1: how sure it must be", 0.9)
    dry_run: bool = given("only say what would be merged", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entities(Asked):
    """Which entities."""

    text: str | None = given("with this in name, alias, type or note", positional=True)
    type: str | None = given(TYPE)
    limit: int = given("how many at most", 100, short="-k")
    offset: int = given("leave out so many first", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentioned(Named):
    """Which mentions."""

    limit: int = given("how many at most", 100, short="-k")
    offset: int = given("leave out so many first", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Near(Named):
    """How far around."""

    depth: int = given("so many steps", 1)
    relations: tuple[str, ...] | None = given("only over these relations", flag="--relation")
    together: bool = given("also what is spoken of together", False)
    limit: int = given("how many at most", 50, short="-k")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways(Asked):
    """From where to where."""

    a: str = given("from whom or what", ..., positional=True)
    b: str = given("to whom or what", ..., positional=True)
    max_length: int = given("so many steps at most", 4)
    relations: tuple[str, ...] | None = given("only over these relations", flag="--relation")
    together: bool = given("also what is spoken of together", False)
    limit: int = given("how many at most", 5, short="-k")


@dataclass(frozen=True, slots=True, kw_only=True)
class History(Named):
    """Whose timeline."""

    limit: int = given("how many at most", 1000, short="-k")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped(Asked):
    """What counts as belonging together."""

    together: bool = given("count what is spoken of together", True)
    least: int = given("only groups of so many", 2)
    limit: int = given("how many at most", 50, short="-k")


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike(Place):
    """Whose entities to compare."""

    least: float = given("0 to 1: how alike at least", 0.5)
    as_of: datetime | None = given("what was true then")
    known_at: datetime | None = given("by what was known then")
    limit: int = given("how many at most", 20, short="-k")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Asked):
    """Which part of the graph."""

    about: str | None = given("only what lies around this entity")
    depth: int = given("so many steps around it", 2)
    together: bool = given("also what is spoken of together", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Export(Part):
    """The form."""

    format: str = given("json, graphml or mermaid", "json", positional=True)
    limit: int = given("how many entities at most", 10_000, short="-k")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot(Part):
    """The picture."""

    path: str = given("a .png or .svg file", ..., positional=True)
    limit: int = given("how many entities at most", 60, short="-k")


_operation = partial(of_layer, scope=Scoping.SCOPED, group=Group.GRAPH)
_reads = partial(_operation, writes=False)
_writes = partial(_operation, response=Node, writes=True)
_counts = partial(
    _operation,
    response=Count,
    writes=True,
    destructive=True,
    answers=Answer.FIGURES,
    wrap=lambda count: Count(count=count),
)

GRAPH = (
    _reads(
        "graph.entities",
        "List entities, or find them by a text.",
        request=Entities,
        response=Nodes,
        wrap=lambda found: Nodes(nodes=tuple(found)),
        listing="nodes",
        command="list",
    ),
    _reads("graph.get", "Show an entity.", request=Named, response=Node),
    _writes("graph.add", "Add an entity.", request=Add),
    _writes("graph.observe", "Note something about an entity.", request=Observe),
    _counts("graph.unobserve", "Take notes back.", request=Unobserve, erases=where_erasing),
    _operation(
        "graph.relate",
        "State how two entities are related.",
        request=Relate,
        response=Relation,
        writes=True,
    ),
    _counts("graph.unrelate", "Take a relation back.", request=Unrelate, erases=where_erasing),
    _counts(
        "graph.erase", "Erase an entity and all that is said of it.", request=Owned, erases=always
    ),
    _writes("graph.merge", "Say that two names mean one thing.", request=Merge),
    _writes("graph.unmerge", "Undo a merge.", request=Unmerge),
    _operation(
        "graph.resolve",
        "Merge the entities that are surely one, or say which are.",
        request=Resolve,
        response=Resolved,
        writes=True,
    ),
    _reads(
        "graph.alike",
        "Show entities that may be one.",
        request=Alike,
        response=Likenesses,
        wrap=lambda found: Likenesses(likenesses=tuple(found)),
        listing="likenesses",
    ),
    _reads(
        "graph.mentions",
        "Show the memories that speak of an entity.",
        request=Mentioned,
        response=Mentions,
        wrap=lambda found: Mentions(mentions=tuple(found)),
        listing="mentions",
        answers=Answer.FIGURES,
    ),
    _reads("graph.neighbours", "Show what lies around an entity.", request=Near, response=Subgraph),
    _reads(
        "graph.paths",
        "Show how two entities are connected.",
        request=Ways,
        response=Paths,
        wrap=lambda found: Paths(paths=tuple(found)),
        listing="paths",
    ),
    _reads(
        "graph.timeline",
        "Show what began and ended for an entity.",
        request=History,
        response=Moments,
        wrap=lambda found: Moments(moments=tuple(found)),
        listing="moments",
    ),
    _reads(
        "graph.communities",
        "Show groups of entities that belong together.",
        request=Grouped,
        response=Communities,
        wrap=lambda found: Communities(communities=tuple(found)),
        listing="communities",
    ),
    _reads(
        "graph.export",
        "Write the graph as JSON, GraphML or Mermaid.",
        request=Export,
        response=Wording,
        wrap=lambda text: Wording(text=text),
    ),
    _reads(
        "graph.plot",
        "Draw the graph to a PNG or SVG file.",
        request=Plot,
        response=Picture,
        wrap=lambda path: Picture(path=str(path)),
        answers=Answer.FIGURES,
    ),
)
