"""The shapes of the reference memory server: what its nine tools take and give."""

from __future__ import annotations

from dataclasses import dataclass

from remanence.operations.operation import given

# How that server spells the fields; `from` cannot be the name of one here.
WIRE = {
    "entity_type": "entityType",
    "entity_name": "entityName",
    "entity_names": "entityNames",
    "relation_type": "relationType",
    "added_observations": "addedObservations",
    "source": "from",
    "target": "to",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A node of the graph."""

    name: str = given("the entity's name", ...)
    entity_type: str = given("what sort of thing it is: person, place, project …", ...)
    observations: tuple[str, ...] = given("what is known about it, a sentence each", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """An edge of the graph, in the active voice."""

    source: str = given("the name of the entity it starts at", ...)
    target: str = given("the name of the entity it points to", ...)
    relation_type: str = given("how they are related, such as works_at", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """What to note about an entity."""

    entity_name: str = given("the entity's name", ...)
    contents: tuple[str, ...] = given("what to note, a sentence each", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletions:
    """What to take back about an entity."""

    entity_name: str = given("the entity's name", ...)
    observations: tuple[str, ...] = given("the observations, word for word", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateEntities:
    """Arguments."""

    entities: tuple[Entity, ...] = given("the entities to add", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class SomeRelations:
    """Arguments."""

    relations: tuple[Relation, ...] = given("the relations", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddObservations:
    """Arguments."""

    observations: tuple[Additions, ...] = given("what to note about which entity", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteEntities:
    """Arguments."""

    entity_names: tuple[str, ...] = given("the names of the entities", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteObservations:
    """Arguments."""

    deletions: tuple[Deletions, ...] = given("what to take back about which entity", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything:
    """No arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchNodes:
    """Arguments."""

    query: str = given("a text to look for in names, types and observations", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenNodes:
    """Arguments."""

    names: tuple[str, ...] = given("the names of the entities", ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """The entities that were not there before."""

    entities: tuple[Entity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """The relations that were not there before."""

    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What was new about an entity."""

    entity_name: str
    added_observations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What was new."""

    results: tuple[Observed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """That it is done."""

    success: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeGraph:
    """Entities, and the relations that touch them."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
