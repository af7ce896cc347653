"""What is taken back: an erasure with its receipt, and a purge of what somebody brought in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from remanence.errors import InvalidInput
from remanence.model.memory import MemoryRecord, aware
from remanence.model.scope import Reach
from remanence.model.validation import label_of, moment_of

LABELS = ("source", "actor", "origin")
SCOPE = ("user_id", "agent_id", "session_id", "all_users")


class By(StrEnum):
    """How it was said what to erase."""

    IDS = "ids"
    FILTERS = "filters"
    SCOPE = "scope"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureRequest:
    """What was asked to be erased. Filters are named, never told: their values may be a text.

    By scope, all that it holds goes: memories, documents, knowledge.
    """

    by: By
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    all_users: bool = False
    filters: tuple[str, ...] = ()

    def reach(self, tenant: str) -> Reach:
        """The scope, of a tenant."""
        return Reach(tenant=tenant, **{name: getattr(self, name) for name in SCOPE})


def asked_for(reach: Reach, *, ids: bool, filters: Mapping[str, Any] | None) -> ErasureRequest:
    """What was asked for, by ids or else in a reach, with filters or without."""
    if ids:
        return ErasureRequest(by=By.IDS)
    return ErasureRequest(
        by=By.FILTERS if filters else By.SCOPE,
        filters=tuple(sorted(filters or ())),
        **{name: getattr(reach, name) for name in SCOPE},
    )


class Stage(StrEnum):
    """How far an erasure is. One that was cut off is completed at the next opening or erasure."""

    BEGUN = "begun"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The receipt of an erasure; it holds ids, names and counts, never a text.

    `counts` are by part: memories asked for, derived, merged, versions, vectors and so on.
    `remains` says where bytes may stay and until when. `signature` is of the store, over all the
    rest.
    """

    id: str
    at: datetime
    tenant: str
    asked: ErasureRequest
    store: str
    identity: str
    status: Stage = Stage.COMPLETED
    counts: Mapping[str, int] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()
    signature: str | None = None

    def __post_init__(self) -> None:
        aware("at", self.at)


class Forgotten(list[MemoryRecord]):
    """The memories that were forgotten. Where they were erased, `receipt` tells of it."""

    def __init__(
        self, records: Iterable[MemoryRecord] = (), *, receipt: Erasure | None = None
    ) -> None:
        super().__init__(records)
        self.receipt = receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """Whose doing it was, and when: all that is given must hold; from `since`, before `until`."""

    source: str | None = None
    actor: str | None = None
    origin: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        for name in LABELS:
            object.__setattr__(self, name, label_of(name, getattr(self, name)))
        for name in ("since", "until"):
            at = getattr(self, name)
            object.__setattr__(self, name, None if at is None else moment_of(name, at))
        if not self.labels and self.since is None:
            raise InvalidInput("Say what to take back: a source, an actor, an origin, or since.")
        if self.since is not None and self.until is not None and self.until <= self.since:
            raise InvalidInput("until must be later than since; swap them.")

    @property
    def labels(self) -> dict[str, str]:
        """The labels that are given."""
        return {name: getattr(self, name) for name in LABELS if getattr(self, name) is not None}

    def during(self, at: datetime) -> bool:
        """Whether a moment lies in the span."""
        begun = self.since is None or self.since <= at
        return begun and (self.until is None or at < self.until)

    def did(self, at: datetime, actor: str | None) -> bool:
        """Whether a change is meant: changes tell who made them, never a source or an origin."""
        known = self.source is None and self.origin is None
        return known and self.during(at) and self.actor in (None, actor)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockReturn:
    """A block that goes back to a version; to 0 where there was none, and it is deleted."""

    label: str
    version: int
    user_id: str | None = None
    agent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptChange:
    """What was changed again by somebody else: a field of a memory by id, or a block by label."""

    what: str
    id: str
    field: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeResult:
    """What a purge took back, or would (`dry_run`), by ids.

    `removed` memories are in quarantine, or `erased` with the `receipt`. `reverted` have the values
    they had before, `returned` are active again too. `claims` that callers stated and
    `links` (source, target, type) that they made are gone.
    """

    dry_run: bool
    erased: bool
    removed: tuple[str, ...] = ()
    reverted: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    blocks: tuple[BlockReturn, ...] = ()
    claims: tuple[str, ...] = ()
    links: tuple[tuple[str, str, str], ...] = ()
    kept: tuple[KeptChange, ...] = ()
    receipt: Erasure | None = None

    @property
    def count(self) -> int:
        """How many things it concerns."""
        done = (self.removed, self.reverted, self.returned, self.blocks)
        return sum(map(len, (*done, self.claims, self.links)))
