"""The rules of sessions: the store is the truth, the cache a copy that may be old or gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID

from remanence.errors import Conflict, InvalidInput, NotFound, StoreError
from remanence.layers.sessions.storage import SessionStorage, address_of, changed, expired, trusted
from remanence.model.clock import Clock, IdMaker
from remanence.model.document import Address, Discard, Shelf
from remanence.model.memory import MemoryRecord, State
from remanence.model.ports.cache import CacheStats
from remanence.model.ports.session_cache import (
    LISTED,
    UNKNOWN,
    Listed,
    SessionCache,
    SessionCopy,
    SessionKey,
)
from remanence.model.ports.store import Store
from remanence.model.query import check_limit
from remanence.model.scope import Reach
from remanence.model.session import MAX_DATA, Session, check_size, data_of, later, ttl_of
from remanence.model.validation import moment_of

Recent = Callable[..., list[MemoryRecord]]


class Nowhere:
    """Keeps nothing and gives nothing, like a server that is down."""

    def _passed_over(self, *given: Any, **named: Any) -> None:
        return None

    load = touch = keep = remove = fill = push = forget = close = _passed_over

    def used(self, keys: Sequence[SessionKey]) -> list[datetime | None]:
        """Not known of any."""
        return [None] * len(keys)

    def sweep(self, store: str, tenant: str) -> int:
        """None."""
        return 0

    def last(self, key: SessionKey, limit: int) -> Listed:
        """Not known."""
        return Listed()

    def stats(self) -> CacheStats:
        """Empty and well."""
        return CacheStats(kind="none", healthy=True, entries=0, bytes_used=0, hits=0, misses=0)


class Sessions:
    """Sessions of one tenant. They belong to a user, or to none.

    Every use starts a session's time to live anew. The store is written for that only when the
    stored end would move by more than 1 % of the time to live, so a session may run out so much
    early; in the cache the time always starts anew. A copy in the cache is believed for 30 seconds
    after it was last compared with the store. `recent(session_id, user_id=, limit=)` gives the last
    messages of a session from the store, oldest first.
    """

    def __init__(
        self,
        store: Store,
        tenant: str,
        clock: Clock,
        ttl_s: float,
        cache: SessionCache | None,
        recent: Recent,
        *,
        new_id: Callable[[], UUID] | None = None,
        erased: Callable[[Address], object] | None = None,
    ) -> None:
        """`erased` hears of a session that is removed for good, there or not."""
        self._store = store
        self._tenant = tenant
        self._clock = clock
        self._ttl_s = ttl_of(ttl_s, 0.0)
        self._cache: SessionCache = cache or Nowhere()
        self._recent = recent
        self._new_id = new_id or IdMaker()
        self._erased = erased
        self._kept = SessionStorage(store, tenant, clock, self._cache)

    def create(
        self,
        session_id: str | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        data: Mapping[str, Any] | None = None,
        ttl_s: float | None = None,
    ) -> Session:
        """Begin a session; without an id, one is made."""
        name = str(self._new_id()) if session_id is None else session_id
        address, now = address_of(name, user_id), self._clock.now()
        life = ttl_of(ttl_s, self._ttl_s)
        session = Session(
            id=name,
            user_id=user_id,
            agent_id=agent_id,
            data=data_of("data", data),
            version=1,
            created_at=now,
            active_at=now,
            expires_at=later(now, life),
        )
        run = str(self._new_id())
        new = SessionCopy(session=session, run=run, edition=0, ttl_s=life, verified=now)
        return self._kept.begin(address, new)

    def get(self, session_id: str, *, user_id: str | None = None) -> Session:
        """The session, whose time to live starts anew; `NotFound` if it is not there or ran out."""
        return self._kept.used(address_of(session_id, user_id)).session

    def update(
        self,
        session_id: str,
        changes: Mapping[str, Any],
        *,
        user_id: str | None = None,
        version: int | None = None,
    ) -> Session:
        """Merge changes into the data, key by key; None removes a key."""
        if not isinstance(changes, Mapping):
            raise InvalidInput(f"changes must be a mapping, not {type(changes).__name__}.")
        wanted = data_of("changes", changes)
        _check_version(version)
        return self._kept.change(
            address_of(session_id, user_id),
            "updated",
            lambda copy: _merged(copy, wanted, version),
        )

    def end(self, session_id: str, *, user_id: str | None = None) -> Session:
        """End the session; one that has ended stays as it is. `NotFound` as in `get`."""
        now = self._clock.now()
        return self._kept.change(
            address_of(session_id, user_id),
            "ended",
            lambda copy: (
                None
                if copy.session.ended_at is not None
                else changed(copy, ended_at=now, version=copy.session.version + 1)
            ),
        )

    def erase(self, session_id: str, *, user_id: str | None = None) -> bool:
        """Remove the session and its copies for good; whether it was there. Its messages stay."""
        address = address_of(session_id, user_id)
        there = self._kept.stored(address) is not None
        if there:
            self._store.documents.put(self._tenant, [Discard(address=address)])
        self._cache.remove([self._kept.key(address)])
        if self._erased is not None:
            self._erased(address)
        return there

    def active(
        self,
        *,
        user_id: str | None = None,
        all_users: bool = False,
        since: datetime | None = None,
        limit: int = 100,
    ) -> list[Session]:
        """Sessions that have neither ended nor run out, the one last used first."""
        check_limit(limit)
        after = None if since is None else moment_of("since", since)
        reach = Reach(tenant=self._tenant, user_id=user_id, all_users=all_users)
        found: list[Session] = []
        for page in self._kept.living(reach, after):
            found += [one for one in page if after is None or one.active_at >= after]
            if len(found) >= limit:
                break
        return sorted(found, key=lambda one: one.active_at, reverse=True)[:limit]

    def cleanup(self, *, now: datetime | None = None) -> int:
        """Remove the sessions that have run out; how many."""
        removed = 0
        for gone in expired(
            self._store.documents, self._tenant, Shelf.SESSION, now, self._clock.now()
        ):
            self._cache.remove([self._kept.key(address) for address in gone])
            removed += len(gone)
        self._cache.sweep(self._store.upkeep.identity, self._tenant)
        return removed

    def recent(
        self, session_id: str, *, user_id: str | None = None, limit: int = 100
    ) -> list[MemoryRecord]:
        """The last messages with this session id, oldest first; none if there are none."""
        check_limit(limit)
        key, now = self._kept.key(address_of(session_id, user_id)), self._clock.now()
        if limit > LISTED:
            return self._recent(session_id, user_id=user_id, limit=limit)
        listed = self._cache.last(key, limit)
        if listed.messages is not None and trusted(listed.verified, now):
            return list(listed.messages)
        found = self._recent(session_id, user_id=user_id, limit=LISTED)
        self._cache.fill(key, found, mark=listed.mark, ttl_s=self._ttl_s, at=now)
        return found[-limit:]

    def push(
        self, session_id: str, messages: Sequence[MemoryRecord], *, user_id: str | None = None
    ) -> None:
        """Messages of this session were stored: put them at hand, and count it as a use."""
        address = address_of(session_id, user_id)
        key, life = self._kept.key(address), self._ttl_s
        with suppress(NotFound, StoreError):  # the messages are stored, whatever the session is
            life = self._kept.used(address).ttl_s
        listed = self._cache.last(key, 1)
        sure = listed.messages is not None and self._is_stored(messages[-LISTED:])
        self._cache.push(key, messages, mark=listed.mark if sure else UNKNOWN, ttl_s=life)

    def renew(self, sessions: Iterable[tuple[str, str | None]]) -> None:
        """Sessions (id and user) were put back from elsewhere: the next read asks the store."""
        self._cache.remove([self._kept.key(address_of(name, user)) for name, user in sessions])

    def drop(self, messages: Iterable[MemoryRecord]) -> None:
        """Messages were changed or forgotten: no list at hand holds them any longer."""
        sessions = {
            (one.session_id, one.user_id): None for one in messages if one.session_id is not None
        }
        self._cache.forget([self._kept.key(address_of(name, user)) for name, user in sessions])

    def _is_stored(self, messages: Sequence[MemoryRecord]) -> bool:
        """Whether nobody has changed or erased them since they were stored."""
        with suppress(StoreError):
            found = self._store.archive.get(self._tenant, [one.id for one in messages])
            return [_edition(one) for one in found] == [_edition(one) for one in messages]
        return False


def _edition(message: MemoryRecord) -> tuple[str, int, State]:
    return message.id, message.version, message.state


def _merged(copy: SessionCopy, changes: Mapping[str, Any], version: int | None) -> SessionCopy:
    """The session with the changes in its data, if it may be changed."""
    session = copy.session
    if session.ended_at is not None:
        raise Conflict(
            f"The session {session.id!r:.80} ended on {session.ended_at:%Y-%m-%d %H:%M}; "
            "begin it anew with create."
        )
    if version is not None and version != session.version:
        raise Conflict(
            f"The session {session.id!r:.80} is at version {session.version}, not {version}; "
            "get it and decide again."
        )
    removed = {name for name, value in changes.items() if value is None}
    merged = {**session.data, **changes}
    data = {name: value for name, value in merged.items() if name not in removed}
    check_size(f"The data of session {session.id!r:.80}", data, MAX_DATA)
    return changed(copy, data=data, version=session.version + 1)


def _check_version(version: object) -> None:
    if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
        raise InvalidInput(f"version must be a whole number, not {str(version)[:40]!r}.")
