"""The graph of what is known: nodes, the relations between them, and what is found in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from remanence.model.knowledge import Fact, Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A fact whose object is an entity: an edge that points from `source` to `target`.

    `id` is the fact's, `sources` are the memories that say so. `valid_from` and `valid_to` say
    when it was true, None where nobody said; `when` says it as exactly as it is known.
    """

    id: str
    source: str
    source_id: str
    relation: str
    target: str
    target_id: str
    confidence: float
    trust: float
    standing: Standing
    recorded_at: datetime
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    when: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A sentence noted about an entity; `source` is the memory it came from, if one was named."""

    text: str
    recorded_at: datetime
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An entity with what is known of it.

    `relations` go out from it or come in; `facts` are those whose object is a plain value;
    `mentions` counts the memories that speak of it, from `first_mention` to `last_mention`.
    """

    id: str
    name: str
    type: str
    created_at: datetime
    aliases: tuple[str, ...] = ()
    observations: tuple[Observation, ...] = ()
    relations: tuple[Relation, ...] = ()
    facts: tuple[Fact, ...] = ()
    mentions: int = 0
    first_mention: datetime | None = None
    last_mention: datetime | None = None
    given: bool = False
    user_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoOccurrence:
    """Two entities that so many memories speak of at once: a weak edge without a direction."""

    a: str
    a_id: str
    b: str
    b_id: str
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgraph:
    """A part of the graph: some nodes, the relations between them, and the weak edges if asked."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Relation, ...] = ()
    together: tuple[CoOccurrence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A way from one entity to another: `edges[i]` joins `names[i]` and `names[i + 1]`.

    An edge may point either way.
    """

    names: tuple[str, ...]
    edges: tuple[Relation | CoOccurrence, ...]


class TimelineTurn(StrEnum):
    """What happened to a fact at a moment of a timeline."""

    BEGAN = "began"
    ENDED = "ended"
    NOTED = "noted"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """An entry of a timeline: a fact began or ended at that time, or was noted then."""

    at: datetime
    turn: TimelineTurn
    fact: Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Community:
    """Entities that belong together, the most central first; `terms` set it apart from others."""

    name: str
    members: tuple[str, ...]
    terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """Two entities that may be one: merging `name` into `into` is suggested, `why` in words."""

    name: str
    into: str
    score: float
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveResult:
    """What `resolve` merged, or would merge, and what it left for a person to decide."""

    merged: tuple[Likeness, ...] = ()
    unsure: tuple[Likeness, ...] = ()
    dry_run: bool = True
