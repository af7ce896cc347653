"""What operations of facts and of the graph answer when the verb's own value is a bare list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from remanence.knowledge.extract.statement import Named, Statement
from remanence.model.graph import Community, Likeness, Moment, Node, Route
from remanence.model.knowledge import Fact, Mention


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Several facts."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """Facts that contradict each other, group by group."""

    conflicts: tuple[tuple[Fact, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a text says, whom and what it names, and how often something was refused and why."""

    statements: tuple[Statement, ...]
    names: tuple[Named, ...]
    refused: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """How often something was refused, by reason."""

    reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Several entities."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Ways from one entity to another, the shortest first."""

    paths: tuple[Route, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """What happened to an entity's facts, in order of time."""

    moments: tuple[Moment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """The memories that speak of an entity, the latest first."""

    mentions: tuple[Mention, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Communities:
    """Groups of entities that belong together."""

    communities: tuple[Community, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Likenesses:
    """Pairs that may be one, the most alike first."""

    likenesses: tuple[Likeness, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A file that was drawn."""

    path: str
