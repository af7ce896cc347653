"""A purge: whose doing is taken back, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from remanence.errors import InvalidInput
from remanence.model.accept import label_of, moment_of
from remanence.model.erasure import Erasure

LABELS = ("source", "actor", "origin")


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
class Kept:
    """What was changed again by somebody else: a field of a memory by id, or a block by label."""

    what: str
    id: str
    field: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
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
    kept: tuple[Kept, ...] = ()
    receipt: Erasure | None = None

    @property
    def count(self) -> int:
        """How many things it concerns."""
        done = (self.removed, self.reverted, self.returned, self.blocks)
        return sum(map(len, (*done, self.claims, self.links)))
