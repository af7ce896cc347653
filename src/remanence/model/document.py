"""A document: a named, versioned value that a layer keeps, such as a block or a session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from remanence.errors import InvalidInput
from remanence.model.memory import Metadata, aware
from remanence.model.scope import check_name


class Shelf(StrEnum):
    """Which layer a document belongs to."""

    ADAPTER = "adapter"
    ANSWER = "answer"
    AUDIT = "audit"
    BLOCK = "block"
    CONVERSATION = "conversation"
    ERASURE = "erasure"
    JOB = "job"
    KEY = "key"
    RUN = "run"
    SCHEDULE = "schedule"
    SEAL = "seal"
    SESSION = "session"
    SNAPSHOT = "snapshot"
    USER = "user"
    WORKER = "worker"
    WORKING = "working"


# Who may come in and what was done there: not even a copy of the whole store takes it along.
OF_A_SERVER = frozenset({Shelf.ANSWER, Shelf.AUDIT, Shelf.JOB, Shelf.KEY, Shelf.SEAL, Shelf.WORKER})
# What these hold is about one store: its runs and receipts, when it sleeps, what was trained on it.
OF_A_STORE = OF_A_SERVER | {Shelf.ADAPTER, Shelf.ERASURE, Shelf.RUN, Shelf.SCHEDULE}
PORTABLE = tuple(shelf for shelf in Shelf if shelf not in OF_A_STORE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a document stands inside a tenant: its shelf, whom it belongs to, its name."""

    shelf: Shelf
    name: str
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None

    def __post_init__(self) -> None:
        if self.name is None:
            raise InvalidInput(f"A {self.shelf} needs a name.")
        for name in ("name", "user_id", "agent_id", "session_id"):
            check_name(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as it stands. `value` is JSON; `version` counts every put, from 1."""

    address: Address
    value: Metadata
    version: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("created_at", "updated_at"):
            aware(name, getattr(self, name))
        if self.expires_at is not None:
            aware("expires_at", self.expires_at)

    def alive(self, now: datetime) -> bool:
        """Whether its time has not run out."""
        return self.expires_at is None or now < self.expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """One version of a document: what was done, when, by whom and why, and the value it gave."""

    version: int
    verb: str
    at: datetime
    value: Metadata
    author: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A new value for a document, which may be new itself.

    `expected` is the version it must have now, 0 for a document that must not exist, None for any.
    With `keep` the value becomes an edition that stays; without, only the newest one is known.
    """

    address: Address
    value: Metadata
    at: datetime
    verb: str = "put"
    author: str | None = None
    reason: str | None = None
    expected: int | None = None
    expires_at: datetime | None = None
    keep: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard:
    """Erase a document with all its editions; one that is not there is passed over.

    `expected` as in `Put`, except that a document that is gone conflicts with any number but 0.
    """

    address: Address
    expected: int | None = None


Shelving: TypeAlias = Put | Discard
