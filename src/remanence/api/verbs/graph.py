"""The verbs of the graph: entities, observations, relations, merges; walked, drawn, exported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Self, Unpack

from remanence.api import answers
from remanence.api.answers import listed
from remanence.api.parameters import (
    LABEL,
    LIMIT,
    SHARE,
    TEXT,
    Actor,
    AsOf,
    Confidence,
    DryRun,
    KnownAt,
    Limit,
    Offset,
    Reason,
    ScopeArguments,
    SeenArguments,
    SourceMemory,
    Trust,
    UserId,
    ValidFrom,
    ValidTo,
)
from remanence.api.verb import F, Group, Holds, Layer, MemoryHere, Says, always, verb
from remanence.knowledge.claims import THING
from remanence.knowledge.graph.graph import CERTAIN
from remanence.knowledge.graph.queries import LEAST_LIKENESS
from remanence.model import graph
from remanence.model.knowledge import Mention
from remanence.model.query import MAX_LIMIT

Text = Annotated[str | None, Says("with this in name, alias, type or note", bounds=TEXT)]
EntitiesType = Annotated[
    str | None,
    Says(
        "person, place, organisation, thing, event, topic or your own word",
        bounds=TEXT,
        argument=False,
    ),
]
Name = Annotated[str, Says("a name; an alias will do", bounds=TEXT)]
AddType = Annotated[
    str, Says("person, place, organisation, thing, event, topic or your own word", bounds=TEXT)
]
Observations = Annotated[
    str | Sequence[str], Says("what to note about it", flag="--note", wire=tuple[str, ...])
]
UnobserveObservations = Annotated[
    str | Sequence[str], Says("the notes, word by word", wire=tuple[str, ...])
]
Erase = Annotated[bool, Says("remove them for good")]
Source = Annotated[str, Says("from whom or what", bounds=LABEL)]
RelateTarget = Annotated[str, Says("to whom or what", bounds=TEXT)]
Into = Annotated[str, Says("the name it goes by from now on", bounds=TEXT)]
Threshold = Annotated[float, Says("0 to 1: how sure it must be", bounds=SHARE)]
Relations = Annotated[
    str | Sequence[str] | None,
    Says("only over these relations", flag="--relation", wire=tuple[str, ...] | None),
]
Together = Annotated[bool, Says("also what is spoken of together")]
A = Annotated[str, Says("from whom or what", bounds=TEXT)]
MaxLength = Annotated[int, Says("so many steps at most", bounds={"minimum": 1, "maximum": 8})]
ExportAbout = Annotated[str | None, Says("only what lies around this entity", bounds=TEXT)]
Depth = Annotated[int, Says("so many steps around it", bounds={"minimum": 1, "maximum": 6})]
ExportFormat = Annotated[
    str, Says("json, graphml or mermaid", bounds={"enum": ["json", "graphml", "mermaid"]})
]

Nodes = listed("Nodes", "Several entities.", nodes=graph.Node)
Paths = listed("Paths", "Ways from one entity to another, the shortest first.", paths=graph.Route)
Timeline = listed(
    "Timeline", "What happened to an entity's facts, in order of time.", moments=graph.TimelineEntry
)
Mentions = listed(
    "Mentions",
    "The memories that speak of an entity, the latest first.",
    Holds.FIGURES,
    mentions=Mention,
)
Communities = listed(
    "Communities", "Groups of entities that belong together.", communities=graph.Community
)
Likenesses = listed(
    "Likenesses", "Pairs that may be one, the most alike first.", likenesses=graph.Likeness
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture(answers.Wrapped, holds=Holds.FIGURES):
    """A file that was drawn."""

    path: str

    @classmethod
    def of(cls, value: Any, request: Any, memory: MemoryHere) -> Self:
        return cls(path=str(value))


class GraphThen(SeenArguments, total=False):
    """Whose graph is looked at, and as of when."""

    as_of: AsOf
    known_at: KnownAt


class Graph(Layer[F], layer="graph", group=Group.GRAPH):
    """Entities and relations that callers state and that were found in memories."""

    @verb("GET /v1/graph/entities", answer=Nodes, command="list")
    def entities(
        self,
        type: EntitiesType = None,
        text: Text = None,
        *,
        limit: Limit = 100,
        offset: Offset = 0,
        **where: Unpack[GraphThen],
    ) -> list[graph.Node]:
        """List entities, or find them by a text.

        What most is known of comes first. Case and accents do not count.
        """

    @verb("GET /v1/graph/get")
    def get(self, name: Name, **where: Unpack[GraphThen]) -> graph.Node:
        """Show an entity with its aliases, observations, relations and mentions."""

    @verb(
        "POST /v1/graph/entities", example={"name": "Marta", "type": "person", "user_id": "alice"}
    )
    def add(
        self,
        name: Annotated[str, Says("its name", bounds=TEXT)],
        type: AddType = THING,
        *,
        observations: Observations = (),
        actor: Actor = None,
        **where: Unpack[ScopeArguments],
    ) -> graph.Node:
        """Add an entity, or give one that is there its type and more observations.

        A purge finds what is observed by its `actor`.
        """

    @verb("POST /v1/graph/observe")
    def observe(
        self,
        name: Name,
        observations: Observations,
        *,
        source: SourceMemory = None,
        actor: Actor = None,
        **where: Unpack[ScopeArguments],
    ) -> graph.Node:
        """Note something about an entity that is there.

        A note with a source is erased with that memory; a purge finds it by its `actor`.
        """

    @verb("POST /v1/graph/unobserve", destructive=True)
    def unobserve(
        self,
        name: Name,
        observations: UnobserveObservations,
        *,
        erase: Erase = False,
        **where: Unpack[ScopeArguments],
    ) -> int:
        """Take notes back, given in all their words.

        Those that nobody made are passed over.
        """

    @verb(
        "POST /v1/graph/relations",
        example={"source": "Marta", "relation": "lives in", "target": "Porto", "user_id": "alice"},
    )
    def relate(
        self,
        source: Source,
        relation: Annotated[str, Says("such as works at, sister, reports to", bounds=TEXT)],
        target: RelateTarget,
        *,
        valid_from: ValidFrom = None,
        valid_to: ValidTo = None,
        confidence: Confidence = 1.0,
        trust: Trust = 1.0,
        source_memory: SourceMemory = None,
        actor: Actor = None,
        **where: Unpack[ScopeArguments],
    ) -> graph.Relation:
        """State how two entities are related.

        State that one entity is so related to another; both are added if they are not there.

        Said again, it is one relation with more evidence. With `source_memory`, the claim is
        erased with that memory; a purge finds it by its `actor`.
        """

    @verb("DELETE /v1/graph/relations", destructive=True)
    def unrelate(
        self,
        source: Source,
        relation: Annotated[str, Says("the relation", bounds=TEXT)],
        target: RelateTarget,
        *,
        erase: Erase = False,
        **where: Unpack[ScopeArguments],
    ) -> int:
        """Take a relation back.

        Take a relation back; how many claims said so. `NotFound` if none did.
        """

    @verb("DELETE /v1/graph/entities", destructive=True, erases=always)
    def erase(self, name: Name, *, user_id: UserId = None) -> int:
        """Erase an entity, its aliases, and all claims and mentions of it.

        The memories that speak of it stay: it comes back only when one of them is read anew.
        """

    @verb("POST /v1/graph/merge")
    def merge(
        self, name: Name, into: Into, *, reason: Reason = None, user_id: UserId = None
    ) -> graph.Node:
        """Say that two names mean one thing."""

    @verb("POST /v1/graph/unmerge")
    def unmerge(self, name: Name, *, reason: Reason = None, user_id: UserId = None) -> graph.Node:
        """Undo a merge: the name stands for itself again, with all that was said under it.

        What was merged into it before stays with it.
        """

    @verb("POST /v1/graph/resolve")
    def resolve(
        self, *, dry_run: DryRun = True, threshold: Threshold = CERTAIN, user_id: UserId = None
    ) -> graph.ResolveResult:
        """Merge the entities that are surely one, or say which are.

        A name that fits two others is left to a person, as `unsure`.
        """

    @verb("GET /v1/graph/alike", answer=Likenesses)
    def alike(
        self,
        *,
        least: Annotated[float, Says("0 to 1: how alike at least", bounds=SHARE)] = LEAST_LIKENESS,
        as_of: AsOf = None,
        known_at: KnownAt = None,
        limit: Limit = 20,
        **where: Unpack[ScopeArguments],
    ) -> list[graph.Likeness]:
        """Show entities that may be one, the likeliest first, with a score and the reasons.

        Those said to be apart (`unmerge`), joined by a relation or of two types never come.
        """

    @verb("GET /v1/graph/mentions", answer=Mentions)
    def mentions(
        self, name: Name, *, limit: Limit = 100, offset: Offset = 0, **where: Unpack[GraphThen]
    ) -> list[Mention]:
        """Show the memories that speak of an entity, each once, the latest first."""

    @verb("GET /v1/graph/neighbours")
    def neighbours(
        self,
        name: Name,
        *,
        depth: Depth = 1,
        relations: Relations = None,
        together: Together = False,
        limit: Limit = 50,
        **where: Unpack[GraphThen],
    ) -> graph.Subgraph:
        """Show what lies around an entity.

        The entity and what lies within `depth` steps, at most `limit` besides it.

        Edges are followed both ways; `relations` are the only ones wanted. `together` adds weak
        edges between entities that the same memories speak of.
        """

    @verb("GET /v1/graph/paths", answer=Paths)
    def paths(
        self,
        a: A,
        b: RelateTarget,
        *,
        max_length: MaxLength = 4,
        relations: Relations = None,
        together: Together = False,
        limit: Limit = 5,
        **where: Unpack[GraphThen],
    ) -> list[graph.Route]:
        """Show how two entities are connected, the shortest ways first."""

    @verb("GET /v1/graph/timeline", answer=Timeline)
    def timeline(
        self, name: Name, *, limit: Limit = 1000, **where: Unpack[GraphThen]
    ) -> list[graph.TimelineEntry]:
        """Show what began and ended for an entity.

        What began and ended for an entity, oldest first; up to `as_of` if that is given.

        Of more than `limit` moments the last ones come.
        """

    @verb("GET /v1/graph/communities", answer=Communities)
    def communities(
        self,
        *,
        together: Together = True,
        least: Annotated[int, Says("only groups of so many", bounds=LIMIT)] = 2,
        limit: Limit = 50,
        **where: Unpack[GraphThen],
    ) -> list[graph.Community]:
        """Show groups of entities that belong together, the largest first."""

    @verb("GET /v1/graph/export")
    def export(
        self,
        format: ExportFormat = "json",
        *,
        about: ExportAbout = None,
        depth: Depth = 2,
        together: Together = False,
        limit: Limit = MAX_LIMIT,
        **where: Unpack[GraphThen],
    ) -> str:
        """Write the graph, or what lies around an entity, as JSON, GraphML or Mermaid.

        At most `limit` entities, what most is known of first.
        """

    @verb(local="it writes a file; `graph.export` gives the graph itself", answer=Picture)
    def plot(
        self,
        path: Annotated[str | PathLike[str], Says("a .png or .svg file", wire=str)],
        *,
        about: ExportAbout = None,
        depth: Depth = 2,
        together: Together = False,
        limit: Limit = 60,
        **where: Unpack[GraphThen],
    ) -> Path:
        """Draw the graph, or what lies around an entity, to a PNG or SVG file."""
