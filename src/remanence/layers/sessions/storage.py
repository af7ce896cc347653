"""Where a session is read and written: store first, then cache; and when one has run out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from remanence.errors import Conflict, InvalidInput, NotFound, StoreCorrupt, StoreError
from remanence.layers.cleanup import DOUBTFUL, days_before
from remanence.model.clock import Clock
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.ports.session_cache import SessionCache, SessionCopy, SessionKey
from remanence.model.ports.store import Documents, Store
from remanence.model.scope import Reach
from remanence.model.session import LONGEST_TTL_S, Session, later
from remanence.model.validation import moment_of

# A refresh that moves the stored end by less than this share of the time to live is not written.
WORTH = 0.01
# So many to one say that the clock was ahead then, and not that it stands behind now.
OUTNUMBERED = 10

PutAt = Callable[[int], datetime | None]


def due(used_at: datetime, expires_at: datetime, ttl_s: float, now: datetime) -> bool:
    """Whether a use now moves the stored end on by more than `WORTH` of the time to live.

    Never back: who uses a session while the clock stands years behind must not end it. After such
    a time the moment of use lies behind the end by more than a life, and is worth a write too.
    """
    worth = timedelta(seconds=WORTH * ttl_s)
    return later(now, ttl_s) - expires_at > worth or now - used_at > worth


def expired(
    store: Documents, tenant: str, shelf: Shelf, now: datetime | None, clock_now: datetime
) -> Iterator[list[Address]]:
    """Erase what has run out, some at a time; `now` is the caller's word, else the clock's.

    The clock's is doubted as in `believed`: see `doubt`.
    """
    if now is None and (used := doubt(clock_now, puts(store, tenant, shelf))):
        raise InvalidInput(f"{_doubted(clock_now, used)} If it is right, say so: give it as now.")
    moment = clock_now if now is None else moment_of("now", now)
    while gone := store.expire(tenant, shelf, moment):
        yield gone


def check_over(
    store: Documents, tenant: str, address: Address, expires_at: datetime, now: datetime
) -> None:
    """Refuse to write over a document that ran out, where probably the clock has jumped ahead."""
    if expires_at > days_before(now, DOUBTFUL.days):
        return
    if used := doubt(now, puts(store, tenant, address.shelf)):
        raise InvalidInput(
            f"{_doubted(now, used)} If it is right, erase {address.name!r:.80} and try again."
        )


def doubt(now: datetime, put_at: PutAt) -> datetime | None:
    """When something was last put before a clock that has probably jumped ahead; None if not.

    Where something was last put more than a year ago, something must also have been put in the
    last year and in the year before it. `put_at(n)` is when the n-th was, the last one first.
    """
    year, two_years = (days_before(now, n * DOUBTFUL.days) for n in (1, 2))
    after_now, after_year = (_count_after(moment, put_at) for moment in (now, year))
    oldest = put_at(after_year)
    if oldest is None or not (after_year == after_now or oldest <= two_years):
        return None
    return oldest


def was_ahead(expires_at: datetime, ttl_s: float, now: datetime, put_at: PutAt) -> bool:
    """Whether an end was probably set by a clock that stood more than a year ahead of `now`.

    It might be this clock that stands behind. So it is believed only where for each thing that was
    put after `now` there are `OUTNUMBERED` that were put before it.
    """
    if expires_at - later(now, ttl_s) <= DOUBTFUL:
        return False
    after_now = max(1, _count_after(now, put_at))
    return put_at(after_now * (1 + OUTNUMBERED) - 1) is not None


def puts(store: Documents, tenant: str, shelf: Shelf) -> PutAt:
    """When the n-th document of a shelf was put, the last one first; None after the first."""
    everyone = Reach(tenant=tenant, all_users=True)

    def put_at(n: int) -> datetime | None:
        found = store.shelved(everyone, shelf, limit=1, offset=n)
        return found[0].updated_at if found else None

    return put_at


def _doubted(now: datetime, used: datetime) -> str:
    return (
        f"The clock says {now:%Y-%m-%d}, and what is there was last used on {used:%Y-%m-%d} with "
        "more than a year of silence since: the clock may be wrong."
    )


def _count_after(moment: datetime, put_at: PutAt) -> int:
    """How many were put after the moment: found by halving, since they are in order."""

    def is_after(n: int) -> bool:
        at = put_at(n)
        return at is not None and at > moment

    most = 1
    while is_after(most - 1):
        most *= 2
    low, high = most // 2, most - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if is_after(middle) else (low, middle)
    return low


# For how long a copy is believed that nobody has compared with the store.
TRUSTED = timedelta(seconds=30)
# Each lost race means that another writer has won one, so this many are lost by few.
TRIES = 100
PAGE = 500
SLACK_DAYS = WORTH * LONGEST_TTL_S / 86_400

Change = Callable[[SessionCopy], SessionCopy | None]


def address_of(session_id: str, user_id: str | None) -> Address:
    """Where a session stands; the same id of another user is another session."""
    return Address(shelf=Shelf.SESSION, name=session_id, user_id=user_id)


def copy_of(document: Document, verified: datetime) -> SessionCopy:
    """The session in a document, with what is needed to tell it from older ones."""
    try:
        return _read(document, document.value, verified)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreCorrupt(
            f"The session {document.address.name!r:.60} cannot be read; run `rem doctor`, or "
            "remove it with `erase`."
        ) from error


def put_of(address: Address, copy: SessionCopy, at: datetime, *, verb: str, expected: int) -> Put:
    """Put the session; it is used now, so its time begins anew. Its end never moves back."""
    session = copy.session
    return Put(
        address=address,
        value={
            "agent": session.agent_id,
            "data": dict(session.data),
            "version": session.version,
            "began": session.created_at.isoformat(),
            "ended": None if session.ended_at is None else session.ended_at.isoformat(),
            "run": copy.run,
            "ttl_s": copy.ttl_s,
        },
        at=at,
        verb=verb,
        expected=expected,
        expires_at=max(session.expires_at, later(at, copy.ttl_s)),
    )


def changed(copy: SessionCopy, **changes: Any) -> SessionCopy:
    """The copy with another state of its session."""
    return replace(copy, session=replace(copy.session, **changes))


def _read(document: Document, value: Mapping[str, Any], verified: datetime) -> SessionCopy:
    ended, ttl_s = value["ended"], float(value["ttl_s"])
    session = Session(
        id=document.address.name,
        user_id=document.address.user_id,
        agent_id=value["agent"],
        data=dict(value["data"]),
        version=int(value["version"]),
        created_at=datetime.fromisoformat(value["began"]),
        active_at=document.updated_at,
        expires_at=document.expires_at or later(document.updated_at, ttl_s),
        ended_at=None if ended is None else datetime.fromisoformat(ended),
    )
    run = str(value["run"])
    return SessionCopy(
        session=session, run=run, edition=document.version, ttl_s=ttl_s, verified=verified
    )


class SessionStorage:
    """The sessions of a tenant, in a store and in a cache."""

    def __init__(self, store: Store, tenant: str, clock: Clock, cache: SessionCache) -> None:
        self._store = store
        self._tenant = tenant
        self._clock = clock
        self._cache = cache

    def key(self, address: Address) -> SessionKey:
        """What the cache knows the session by."""
        return SessionKey(
            store=self._store.upkeep.identity,
            tenant=self._tenant,
            session_id=address.name,
            user_id=address.user_id,
        )

    def stored(self, address: Address) -> Document | None:
        """The store's document, whatever state the session is in."""
        return next(iter(self._store.documents.get(self._tenant, [address])), None)

    def used(self, address: Address) -> SessionCopy:
        """The session, used now: from a copy that is to be believed, else from the store."""
        key, now = self.key(address), self._clock.now()
        seen = self._cache.load(key)
        if seen is not None and trusted(seen.verified, now) and not _due(seen, now):
            return self._touched(address, seen, now)
        try:
            found = self._refreshed(address, now)
        except NotFound:
            if seen is not None:
                self._cache.remove([key])
            raise
        self._cache.keep(key, found, seen)
        return found

    def begin(self, address: Address, new: SessionCopy) -> Session:
        """Put a new session where none is alive, else `Conflict`.

        One that nobody ended is not written over while the clock is in doubt (`InvalidInput`).
        """
        for _ in range(TRIES):
            now, document = self._clock.now(), self.stored(address)
            before = None if document is None else copy_of(document, now)
            if before is not None and lives(before, now):
                raise Conflict(
                    f"The session {address.name!r:.80} is alive; go on with get, or end it first."
                )
            if before is not None and before.session.ended_at is None:
                check_over(
                    self._store.documents, self._tenant, address, before.session.expires_at, now
                )
            with suppress(Conflict):
                return self._put(address, _after(new, before), now, "created", before)
        raise _busy(address)

    def change(self, address: Address, verb: str, apply: Change) -> Session:
        """Read, change, put back; again when another writer was faster. None changes nothing."""
        for _ in range(TRIES):
            now = self._clock.now()
            before = self._alive(address, now)
            after = apply(before)
            if after is None:
                return before.session
            with suppress(Conflict):
                return self._put(address, after, now, verb, before)
        raise _busy(address)

    def living(self, reach: Reach, since: datetime | None) -> Iterator[list[Session]]:
        """Sessions alive, by pages in the order of the store; those used `since` are among them."""
        now, offset = self._clock.now(), 0
        oldest = None if since is None else days_before(since, SLACK_DAYS)
        while page := self._store.documents.shelved(
            reach, Shelf.SESSION, limit=PAGE, offset=offset
        ):
            found = [copy for one in page if lives(copy := copy_of(one, now), now)]
            yield self._as_last_used([copy.session for copy in found], now)
            offset += len(page)
            if oldest is not None and page[-1].updated_at < oldest:
                return

    def _as_last_used(self, sessions: list[Session], now: datetime) -> list[Session]:
        addresses = [address_of(one.id, one.user_id) for one in sessions]
        used = self._cache.used([self.key(address) for address in addresses])
        return [
            replace(session, active_at=_later_of(session.active_at, at, now))
            for session, at in zip(sessions, used, strict=True)
        ]

    def _touched(self, address: Address, copy: SessionCopy, now: datetime) -> SessionCopy:
        if not copy.session.alive(now):
            raise _missing(address)
        if copy.session.ended_at is not None:
            return copy
        self._cache.touch(self.key(address), copy.ttl_s, now)
        return changed(copy, active_at=now)

    def _refreshed(self, address: Address, now: datetime) -> SessionCopy:
        """The session as the store has it, with its end moved there if that is worth it."""
        for _ in range(TRIES):
            copy = self._alive(address, now)
            if not _due(copy, now):
                break
            put = put_of(address, copy, now, verb="used", expected=copy.edition)
            try:
                [document] = self._store.documents.put(self._tenant, [put])
            except Conflict:
                continue
            except StoreError:  # a read is not refused because nobody can write just now
                break
            return copy_of(document, now)
        return copy if copy.session.ended_at is not None else changed(copy, active_at=now)

    def _alive(self, address: Address, now: datetime) -> SessionCopy:
        document = self.stored(address)
        copy = None if document is None else copy_of(document, now)
        if copy is None or not copy.session.alive(now):
            raise _missing(address)
        return self._shortened(copy, now)

    def _shortened(self, copy: SessionCopy, now: datetime) -> SessionCopy:
        """The session without an end that a wrong clock gave it; half a life, so a use is due."""
        session, put_at = copy.session, puts(self._store.documents, self._tenant, Shelf.SESSION)
        if session.ended_at is None and was_ahead(session.expires_at, copy.ttl_s, now, put_at):
            return changed(copy, expires_at=later(now, copy.ttl_s / 2))
        return copy

    def _put(
        self,
        address: Address,
        copy: SessionCopy,
        now: datetime,
        verb: str,
        before: SessionCopy | None,
    ) -> Session:
        expected = before.edition if before else 0
        put = put_of(address, copy, now, verb=verb, expected=expected)
        [document] = self._store.documents.put(self._tenant, [put])
        done = copy_of(document, now)
        self._cache.keep(self.key(address), done)
        return done.session


def trusted(verified: datetime | None, now: datetime) -> bool:
    """Whether a copy is young enough; one from the future tells of a wrong clock."""
    return verified is not None and timedelta(0) <= now - verified < TRUSTED


def _due(copy: SessionCopy, now: datetime) -> bool:
    session = copy.session
    return session.ended_at is None and due(session.active_at, session.expires_at, copy.ttl_s, now)


def lives(copy: SessionCopy, now: datetime) -> bool:
    """Whether it has neither ended nor run out."""
    return copy.session.ended_at is None and copy.session.alive(now)


def _after(new: SessionCopy, before: SessionCopy | None) -> SessionCopy:
    """A new life counts on, so that nobody takes its versions for those of the one before."""
    return changed(new, version=before.session.version + 1) if before else new


def _later_of(stored: datetime, cached: datetime | None, now: datetime) -> datetime:
    """When it was last used; a moment that has not come yet is not believed of a cache."""
    return stored if cached is None or cached > now else max(stored, cached)


def _missing(address: Address) -> NotFound:
    return NotFound(
        f"There is no session {address.name!r:.80} here, or its time has run out; create it."
    )


def _busy(address: Address) -> Conflict:
    return Conflict(
        f"The session {address.name!r:.80} changes faster than it can be written; try again."
    )
