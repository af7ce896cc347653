"""The SessionCache ports: copies of sessions and of their last messages, near the callers.

The store is the truth; a copy may be old or gone at any time. Nothing here raises for want of a
server: one that is down gives nothing and keeps nothing, within its time-out. A copy never goes
back in time by itself: of two writers that come in the wrong order, the older one is passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from remanence.model.memory import MemoryRecord
from remanence.model.ports.cache import CacheStats
from remanence.model.session import Session

LISTED = 100  # messages of a session that are kept at hand
UNKNOWN = -1  # the mark of a list of which nothing is known; no list ever has it


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionKey:
    """Which session: `store` parts the sessions of one store from those of another."""

    store: str
    tenant: str
    session_id: str
    user_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCopy:
    """A session as the store had it when the copy was `verified`.

    `run` names one life of the session, from its creation to its end; `edition` is the version of
    the store's document, so that two copies of one life can be told apart by age.
    """

    session: Session
    run: str
    edition: int
    ttl_s: float
    verified: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The last messages of a session, oldest first; None when they are not known.

    `mark` changes whenever a message is pushed or the list is dropped. `verified` is when the list
    was last filled from the store.
    """

    messages: tuple[MemoryRecord, ...] | None = None
    verified: datetime | None = None
    mark: int = 0


class SessionCopies(Protocol):
    """Copies of sessions, and who is active. Thread-safe."""

    def load(self, key: SessionKey) -> SessionCopy | None:
        """The copy of this session, if one is there and whole."""

    def touch(self, key: SessionKey, ttl_s: float, at: datetime) -> None:
        """The session was used: its copy and its messages live for `ttl_s` from now."""

    def keep(self, key: SessionKey, copy: SessionCopy, seen: SessionCopy | None = None) -> None:
        """Keep the copy, unless a newer one is there; `seen`, known to be wrong, gives way."""

    def remove(self, keys: Sequence[SessionKey]) -> None:
        """Drop sessions with their messages; copies on their way are passed over for a while."""

    def used(self, keys: Sequence[SessionKey]) -> list[datetime | None]:
        """When each of these sessions of one tenant was last used, as far as the cache knows."""

    def sweep(self, store: str, tenant: str) -> int:
        """Strike sessions whose copy is gone off the tenant's lists of who is active; how many."""


class MessageLists(Protocol):
    """The last `LISTED` messages of sessions. Thread-safe."""

    def last(self, key: SessionKey, limit: int) -> Listed:
        """The last `limit` messages, at most `LISTED`."""

    def fill(
        self,
        key: SessionKey,
        messages: Sequence[MemoryRecord],
        *,
        mark: int,
        ttl_s: float,
        at: datetime,
    ) -> None:
        """Put the store's last messages, oldest first, in place of the list.

        `mark` is of a `last` before the store was read; if it has changed since, nothing is done.
        """

    def push(
        self, key: SessionKey, messages: Sequence[MemoryRecord], *, mark: int, ttl_s: float
    ) -> None:
        """Add messages to the list, if there is one; one that they do not follow on is dropped.

        `mark` is of a `last` before the store was asked whether they are there; if it has changed
        since, they may be erased by now, and the list is dropped too.
        """

    def forget(self, keys: Sequence[SessionKey]) -> None:
        """Drop the lists of these sessions."""


class SessionCache(SessionCopies, MessageLists, Protocol):
    """Both of the above: what a backend is."""

    def stats(self) -> CacheStats:
        """Size, health and use."""

    def close(self) -> None:
        """Release connections; safe to call twice."""
