"""Working memory: what a session's task has in mind, key by key, until it runs out."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from hashlib import blake2b
from typing import Any

from remanence.errors import Conflict, InvalidInput, NotFound, StoreCorrupt, StoreError
from remanence.layers.sessions.storage import due, expired, puts, was_ahead
from remanence.model.clock import Clock
from remanence.model.document import Address, Discard, Document, Put, Shelf
from remanence.model.filter import ACTIVE, Both, Compare
from remanence.model.memory import Json, Kind, MemoryRecord, State, unit_interval
from remanence.model.ports.store import Store
from remanence.model.scope import Reach, check_name
from remanence.model.session import WorkingItem, later, ttl_of, value_of

MAX_KEYS = 100
# From this importance on, an item goes into long-term memory as soon as it is set.
PROMOTED = 0.8
SOURCE = "working"
TRIES = 100


class _Required(Enum):
    DEFAULT = "no default"


class Working:
    """Working memory of one tenant: JSON values by session and key.

    Setting and reading an item start its time to live anew; reading writes that to the store only
    when the end would move by more than 1 % of the time to live. `remember` is what adds a text to
    long-term memory.
    """

    def __init__(
        self,
        store: Store,
        tenant: str,
        clock: Clock,
        ttl_s: float,
        remember: Callable[..., MemoryRecord],
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._clock = clock
        self._ttl_s = ttl_of(ttl_s, 0.0)
        self._remember = remember

    def set(
        self,
        key: str,
        value: Json,
        *,
        session_id: str,
        user_id: str | None = None,
        agent_id: str | None = None,
        ttl_s: float | None = None,
        importance: float | None = None,
        trust: float = 1.0,
    ) -> WorkingItem:
        """Keep a JSON value under a key, in place of what was there."""
        address = _address(key, session_id, user_id)
        check_name("agent_id", agent_id)
        new = _Noted(
            value=value_of(key, value),
            importance=None if importance is None else unit_interval("importance", importance),
            agent_id=agent_id,
            ttl_s=ttl_of(ttl_s, self._ttl_s),
            set_at=self._clock.now(),
            trust=unit_interval("trust", trust),
        )
        done = self._set(address, new)
        if new.importance is not None and new.importance >= PROMOTED:
            # It is there already with another importance, or no memory can be made of it.
            with suppress(Conflict, InvalidInput):
                self._promote(done, kind=Kind.SEMANTIC, importance=new.importance)
        return _item(done)

    def get(
        self,
        key: str,
        *,
        session_id: str,
        user_id: str | None = None,
        default: Any = _Required.DEFAULT,
    ) -> Any:
        """The value under a key; `NotFound` if there is none and no default is given."""
        found = self._live(_address(key, session_id, user_id))
        if found is not None:
            self._refresh([found])
            return _noted(found).value
        if default is _Required.DEFAULT:
            raise _missing(key, session_id)
        return default

    def items(self, *, session_id: str, user_id: str | None = None) -> list[WorkingItem]:
        """What the session has in mind, by key."""
        found = sorted(self._all(session_id, user_id), key=lambda one: one.address.name)
        self._refresh(found)
        return [_item(one) for one in found]

    def remove(self, key: str, *, session_id: str, user_id: str | None = None) -> bool:
        """Remove an item; whether it was there."""
        address = _address(key, session_id, user_id)
        there = self._live(address) is not None
        self._store.documents.put(self._tenant, [Discard(address=address)])
        return there

    def clear(self, *, session_id: str, user_id: str | None = None) -> int:
        """Remove everything that the session has in mind; how many items those were."""
        found = self._all(session_id, user_id)
        if found:
            self._store.documents.put(self._tenant, [Discard(address=one.address) for one in found])
        return len(found)

    def promote(
        self,
        key: str,
        *,
        session_id: str,
        user_id: str | None = None,
        kind: str = Kind.SEMANTIC,
        importance: float | None = None,
    ) -> MemoryRecord:
        """Put an item into long-term memory, as the text "key: value"; it stays here too."""
        found = self._live(_address(key, session_id, user_id))
        if found is None:
            raise _missing(key, session_id)
        given = _noted(found).importance if importance is None else importance
        return self._promote(found, kind=kind, importance=given)

    def cleanup(self, *, now: datetime | None = None) -> int:
        """Remove the items that have run out; how many. `now` is as in `Sessions.cleanup`."""
        gone = expired(self._store.documents, self._tenant, Shelf.WORKING, now, self._clock.now())
        return sum(len(addresses) for addresses in gone)

    def _set(self, address: Address, new: _Noted) -> Document:
        for _ in range(TRIES):
            now = self._clock.now()
            before = next(iter(self._store.documents.get(self._tenant, [address])), None)
            if before is None or not before.alive(now):
                self._check_room(address)
            put = _put(address, _counted(new, before), now, before.version if before else 0)
            with suppress(Conflict):
                return self._store.documents.put(self._tenant, [put])[0]
        raise Conflict(f"{address.name!r:.80} changes faster than it can be written; try again.")

    def _check_room(self, address: Address) -> None:
        assert address.session_id is not None
        held = len(self._all(address.session_id, address.user_id))
        if held >= MAX_KEYS:
            raise InvalidInput(
                f"The session {address.session_id!r:.80} has {held} keys in working memory and "
                f"{MAX_KEYS} fit: {held + 1 - MAX_KEYS} too many with {address.name!r:.80}. "
                "remove some, or promote them first."
            )

    def _live(self, address: Address) -> Document | None:
        now = self._clock.now()
        found = self._store.documents.get(self._tenant, [address])
        return next((one for one in found if one.alive(now)), None)

    def _all(self, session_id: str, user_id: str | None) -> list[Document]:
        """The session's live items, in the order of the store; each once."""
        _check_session(session_id)
        reach = Reach(tenant=self._tenant, user_id=user_id, session_id=session_id)
        now = self._clock.now()
        found = [
            one for one in self._store.documents.walk_shelf(reach, Shelf.WORKING) if one.alive(now)
        ]
        return sorted(found, key=lambda one: (-one.updated_at.timestamp(), one.address.name))

    def _refresh(self, found: list[Document]) -> None:
        """Move the ends of items that were used; for want of a writer nothing is lost."""
        now = self._clock.now()
        moved = [put for one in found if (put := self._moved(one, now)) is not None]
        if moved:
            with suppress(Conflict, StoreError):
                self._store.documents.put(self._tenant, moved)

    def _moved(self, found: Document, now: datetime) -> Put | None:
        """What moves the end of an item that was used now; None if that is not worth it."""
        noted, end = _noted(found), found.expires_at
        if end is None:
            return None
        put_at = puts(self._store.documents, self._tenant, Shelf.WORKING)
        if was_ahead(end, noted.ttl_s, now, put_at):
            return _put(found.address, noted, now, found.version)
        if due(found.updated_at, end, noted.ttl_s, now):
            return _put(found.address, noted, now, found.version, end)
        return None

    def _promote(self, found: Document, *, kind: str, importance: float | None) -> MemoryRecord:
        address, noted = found.address, _noted(found)
        text = f"{address.name}: {_said(noted.value)}"
        for times in range(TRIES):
            try:
                record = self._remember(
                    text,
                    user_id=address.user_id,
                    agent_id=noted.agent_id,
                    session_id=address.session_id,
                    kind=kind,
                    importance=importance,
                    source=SOURCE,
                    trust=noted.trust,
                    idempotency_key=_token(found, noted, text, times),
                )
            except Conflict as error:
                known = self._promoted(address, text)
                if known is None:
                    continue  # what was promoted then is gone
                if known.kind == kind and importance in (None, known.importance):
                    return known
                raise Conflict(
                    f"{address.name!r:.80} was promoted before with another kind or importance; "
                    "change that memory with update."
                ) from error
            if record.state is State.ACTIVE:
                return record
        raise Conflict(f"{address.name!r:.80} was promoted and forgotten too often; set it anew.")

    def _promoted(self, address: Address, text: str) -> MemoryRecord | None:
        """The memory that was promoted from there and says this."""
        reach = Reach(tenant=self._tenant, user_id=address.user_id, session_id=address.session_id)
        where = Both((ACTIVE, Compare("source", "eq", SOURCE, field=True)))
        found = self._store.archive.walk(reach, where)
        return next((one for one in found if one.text == text), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noted:
    """An item as its document keeps it; `version` counts the values that were set."""

    value: Json
    importance: float | None
    agent_id: str | None
    ttl_s: float
    set_at: datetime
    version: int = 1
    trust: float = 1.0


def _counted(new: _Noted, before: Document | None) -> _Noted:
    """The new item with the version it has after the one before; the same value is no new one."""
    if before is None:
        return new
    old = _noted(before)
    same = _said(old.value) == _said(new.value) and type(old.value) is type(new.value)
    return replace(new, version=old.version if same else old.version + 1)


def _noted(document: Document) -> _Noted:
    told = document.value
    try:
        return _Noted(
            value=told["value"],
            importance=told["importance"],
            agent_id=told["agent"],
            ttl_s=float(told["ttl_s"]),
            set_at=datetime.fromisoformat(told["set_at"]),
            version=int(told["version"]),
            trust=unit_interval("trust", told.get("trust", 1.0)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreCorrupt(
            f"The item {document.address.name!r:.80} of working memory cannot be read; remove it."
        ) from error


def _put(
    address: Address,
    noted: _Noted,
    at: datetime,
    expected: int,
    not_before: datetime | None = None,
) -> Put:
    end = later(at, noted.ttl_s)
    return Put(
        address=address,
        value={
            "value": noted.value,
            "importance": noted.importance,
            "agent": noted.agent_id,
            "ttl_s": noted.ttl_s,
            "set_at": noted.set_at.isoformat(),
            "version": noted.version,
            "trust": noted.trust,
        },
        at=at,
        expected=expected,
        expires_at=end if not_before is None else max(end, not_before),
    )


def _item(document: Document) -> WorkingItem:
    noted = _noted(document)
    return WorkingItem(
        key=document.address.name,
        value=noted.value,
        importance=noted.importance,
        updated_at=noted.set_at,
        expires_at=document.expires_at or later(document.updated_at, noted.ttl_s),
        trust=noted.trust,
    )


def _said(value: Json) -> str:
    """A value in words: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _token(document: Document, noted: _Noted, text: str, times: int) -> str:
    """What the promotion of one value is known by, so that it happens once.

    `times` is how often it was promoted and is gone again.
    """
    address = document.address
    born = document.created_at.isoformat()
    known = [address.user_id, address.session_id, address.name, noted.version, born, text]
    known += [times] if times else []
    return f"{SOURCE}:{blake2b(json.dumps(known).encode(), digest_size=20).hexdigest()}"


def _address(key: str, session_id: str, user_id: str | None) -> Address:
    _check_session(session_id)
    if not isinstance(key, str):
        raise InvalidInput(f"key must be text, not {type(key).__name__}.")
    check_name("key", key)
    return Address(shelf=Shelf.WORKING, name=key, user_id=user_id, session_id=session_id)


def _check_session(session_id: object) -> None:
    if session_id is None:
        raise InvalidInput("Working memory belongs to a session: give a session_id.")


def _missing(key: str, session_id: str) -> NotFound:
    return NotFound(
        f"There is no {key!r:.80} in the working memory of session {session_id!r:.80}, or its time "
        "has run out; set it first."
    )
