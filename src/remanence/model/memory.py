"""A memory, its kinds and states, and the history of its changes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeAlias

from remanence.errors import InvalidInput

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Metadata: TypeAlias = Mapping[str, Any]

EMPTY: Metadata = MappingProxyType({})


class Kind(StrEnum):
    """What sort of memory it is."""

    MESSAGE = "message"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    REFLECTION = "reflection"
    SUMMARY = "summary"


class State(StrEnum):
    """Whether it takes part in recall. Only `active` memories are found unless asked otherwise."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    SUPERSEDED = "superseded"
    QUARANTINED = "quarantined"


# What is trusted less than by half is marked where it is shown, and takes nothing from the rest.
HALF = 0.5
# The levels of trust that what is made of memories is made at, the highest first.
LEVELS = tuple(tenth / 10 for tenth in range(10, -1, -1))
# What somebody wrote who may not speak for the user, the assistant or the system.
GUEST = "guest"


def unit_interval(what: str, value: float) -> float:
    """The value as a float between 0 and 1, or `InvalidInput`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{what} must be a number from 0 to 1, not {value!r}.")
    if not 0 <= value <= 1:
        raise InvalidInput(f"{what} must lie between 0 and 1; got {value!r:.40}.")
    return float(value)


def level_of(trust: float) -> float:
    """The level of trust that something trusted so far belongs to."""
    return next(level for level in LEVELS if trust >= level)


def same_json(one: Metadata, other: Metadata) -> bool:
    """Whether two mappings are the same JSON, whatever the order of their keys."""
    return json.dumps(dict(one), sort_keys=True) == json.dumps(dict(other), sort_keys=True)


def aware(what: str, value: object) -> datetime:
    """The datetime itself if it carries a time zone, or `InvalidInput`."""
    if not isinstance(value, datetime):
        raise InvalidInput(f"{what} must be a datetime, not {type(value).__name__}.")
    if value.utcoffset() is None:
        raise InvalidInput(
            f"{what} has no time zone; write {value.isoformat()}Z, or pass a datetime with "
            "tzinfo=timezone.utc."
        )
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecord:
    """One memory, as stored. `id` is a UUID; `external_id` is the caller's own id, if one came."""

    id: str
    text: str
    tenant: str
    happened_at: datetime
    created_at: datetime
    updated_at: datetime
    kind: Kind = Kind.EPISODIC
    state: State = State.ACTIVE
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    external_id: str | None = None
    role: str | None = None
    speaker: str | None = None
    importance: float = 0.5
    pinned: bool = False
    source: str | None = None
    actor: str | None = None
    origin: str | None = None
    trust: float = 1.0
    metadata: Metadata = field(default_factory=lambda: EMPTY)
    superseded_by: str | None = None
    version: int = 1
    uses: int = 0
    used_at: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("happened_at", "created_at", "updated_at"):
            aware(name, getattr(self, name))
        unit_interval("importance", self.importance)
        unit_interval("trust", self.trust)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One change in a memory's history: what was done, by whom, and the values it had before."""

    version: int
    verb: str
    at: datetime
    actor: str | None = None
    reason: str | None = None
    before: Metadata = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Whether a memory helped, once: which memory, to what question, when."""

    id: str
    useful: bool
    query: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """A typed, directed link between two memories, as strong as `strength` (0 to 1)."""

    source: str
    target: str
    type: str
    strength: float
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """A memory reached over an association; `outgoing` when the link starts at the one asked.

    `since` is when the link was made, or last strengthened.
    """

    memory: MemoryRecord
    type: str
    strength: float
    outgoing: bool
    since: datetime


def at_version(
    record: MemoryRecord, history: Sequence[Revision], version: int
) -> MemoryRecord | None:
    """The record with the fields it had then; None if it never had that version.

    Each change in the history knows the values it replaced; they are put back, newest first.
    """
    if version > record.version:
        return None
    values: dict[str, Any] = {}
    for revision in sorted(history, key=lambda one: one.version, reverse=True):
        if version < revision.version <= record.version:
            values |= revision.before
    return replace(record, **values, version=version)


def as_known(
    record: MemoryRecord, history: Sequence[Revision], moment: datetime
) -> MemoryRecord | None:
    """The record with the fields it had at that moment; None if it was not there yet."""
    if record.created_at > moment:
        return None
    known = [revision for revision in history if revision.at <= moment]
    if not known:
        return replace(record, updated_at=min(record.updated_at, moment))
    then = at_version(record, history, max(one.version for one in known))
    return None if then is None else replace(then, updated_at=max(one.at for one in known))
