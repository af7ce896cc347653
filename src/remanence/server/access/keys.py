"""API keys: made, shown once, kept as digests in the store, and recognised."""

from __future__ import annotations

import builtins
import hmac
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from remanence.api.verb import Grant
from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.model.clock import Clock
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.memory import unit_interval
from remanence.model.ports.store import Documents
from remanence.model.scope import Reach, check_name
from remanence.model.validation import moment_of, several, truth_of
from remanence.server.access.audit import Audit
from remanence.server.access.caller import KEYS, Caller, is_reserved
from remanence.server.access.gate import LOCAL

FRESH_S = 2.0  # how long a key that was revoked elsewhere may still open
HELD = 4_096  # keys that stay at hand
LONGEST_GRACE_S = 366 * 86_400
_TRIES = 20


class Keys:
    """The keys of a store. Thread-safe; what another process changes is seen within `FRESH_S`."""

    def __init__(
        self,
        store: Documents,
        clock: Clock,
        *,
        ledger: Audit | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._clock = clock
        self._ledger = ledger
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._verified: OrderedDict[str, tuple[float, KeyRecord]] = OrderedDict()
        self._any = False
        self._looked: float | None = None

    def create(
        self,
        name: str,
        *,
        tenant: str,
        grants: Iterable[str],
        trust: float = 1.0,
        quarantine: bool = False,
        operator: bool = False,
        expires_at: datetime | None = None,
        rate_limit: int | None = None,
        by: str = LOCAL,
    ) -> tuple[Key, str]:
        """A new key and its text, which is shown here and never again."""
        now = self._clock.now()
        asked = Key(
            prefix="",
            name=_name_of(name),
            tenant=tenant_of(tenant),
            grants=grants_of(grants),
            trust=unit_interval("trust", trust),
            quarantine=truth_of("quarantine", quarantine),
            operator=truth_of("operator", operator),
            rate_limit=rate_of(rate_limit),
            created_at=now,
            expires_at=_later(expires_at, now),
        )
        made, text = self._put_new(asked)
        self._tell(made, "keys.create", by, grants=sorted(made.grants))
        return made, text

    def list(self, tenant: str | None = None) -> builtins.list[Key]:
        """Every key, or a tenant's, also those that no longer work; the oldest first."""
        found = self._store.walk_shelf(Reach(tenant=KEYS), Shelf.KEY)
        every = {one.address.name: kept_in(one).key for one in found}
        chosen = [key for key in every.values() if tenant in (None, key.tenant)]
        return sorted(chosen, key=lambda key: (key.created_at, key.prefix))

    def get(self, prefix: str) -> Key:
        """The key with this prefix, or `NotFound`."""
        return self._get(prefix).key

    def rotate(
        self,
        prefix: str,
        *,
        grace_s: float = 0,
        by: str = LOCAL,
        within: Callable[[Key], Key] | None = None,
    ) -> tuple[Key, str]:
        """A new key in the place of one that works, which then stops: at once or after the grace.

        All it allows stays, and so does the day it expires, unless `within` says otherwise: it
        makes of the old key what the new one shall be.
        """
        if isinstance(grace_s, bool) or not 0 <= grace_s <= LONGEST_GRACE_S:
            raise InvalidInput(f"grace_s must be 0 to {LONGEST_GRACE_S} seconds; got {grace_s!r}.")
        now, old = self._clock.now(), self._get(prefix)
        if not old.key.usable(now) or old.key.rotated_to is not None:
            raise InvalidInput(f"The key {prefix} was replaced or no longer works; make a new one.")
        wanted = old.key if within is None else within(old.key)
        asked = replace(wanted, created_at=now, expires_at=_later(wanted.expires_at, now))
        made, text = self._put_new(asked, lambda new: _ended(old, new, now, grace_s))
        self._let_go(prefix)
        self._tell(old.key, "keys.rotate", by, rotated_to=made.prefix, grace_s=grace_s)
        return made, text

    def revoke(self, prefix: str, *, by: str = LOCAL) -> Key:
        """The key stops working, on every server within `FRESH_S`."""
        for _ in range(_TRIES):
            kept, now = self._get(prefix), self._clock.now()
            if kept.key.revoked_at is not None:
                return kept.key
            try:
                self._store.put(KEYS, [kept.put(now, revoked_at=now)])
            except Conflict:
                continue
            self._let_go(prefix)
            self._tell(kept.key, "keys.revoke", by)
            return replace(kept.key, revoked_at=now)
        raise Conflict(f"The key {prefix} is being changed by others; try again.")

    def known(self) -> bool:
        """Whether a key was ever made; to revoke the last does not open the server again."""
        now = self._monotonic()
        if not self._any and (self._looked is None or now - self._looked >= FRESH_S):
            self._any = bool(self._store.shelved(Reach(tenant=KEYS), Shelf.KEY, limit=1))
            self._looked = now
        return self._any

    def caller(self, shown: str) -> Caller | None:
        """Whose key this is; None if it is nobody's, or no longer works."""
        parts, held = parted(shown), self.remembered(shown)
        if parts is None or held is not None:
            return held
        prefix, secret = parts
        since, kept = self._monotonic(), self._find(prefix)
        if not is_secret_of(secret, kept) or kept is None:
            return None
        self._hold(since, kept)
        return self._let_in(kept)

    def remembered(self, shown: str | None) -> Caller | None:
        """Whose key this is, if it was recognised a moment ago; None: ask `caller`."""
        kept = self._recognised(shown)
        return None if kept is None else self._let_in(kept)

    def ended(self, shown: str) -> bool:
        """Whether this is a key that expired or was revoked, as `caller` found a moment ago."""
        return self._recognised(shown) is not None

    def _recognised(self, shown: str | None) -> KeyRecord | None:
        parts = None if shown is None else parted(shown)
        kept = None if parts is None else self._at_hand(parts[0])
        return kept if parts is not None and is_secret_of(parts[1], kept) else None

    def _let_in(self, kept: KeyRecord) -> Caller | None:
        return kept.key.caller() if kept.key.usable(self._clock.now()) else None

    def _put_new(self, asked: Key, besides: Callable[[Key], Put] | None = None) -> tuple[Key, str]:
        kept, text = minted(asked)
        while self._find(kept.key.prefix) is not None:
            kept, text = minted(asked)
        others = [besides(kept.key)] if besides else []
        self._store.put(KEYS, [kept.put(kept.key.created_at), *others])
        self._any = True
        return kept.key, text

    def _get(self, prefix: str) -> KeyRecord:
        kept = self._find(prefix)
        if kept is None:
            raise NotFound(f"There is no key {str(prefix)[:40]!r}; `rem keys list` shows them.")
        return kept

    def _find(self, prefix: str) -> KeyRecord | None:
        found = self._store.get(KEYS, [place_of(prefix)])
        return kept_in(found[0]) if found else None

    def _at_hand(self, prefix: str) -> KeyRecord | None:
        with self._lock:
            since, kept = self._verified.get(prefix, (0.0, None))
            if kept is not None and self._monotonic() - since < FRESH_S:
                return kept
            self._verified.pop(prefix, None)
            return None

    def _hold(self, since: float, kept: KeyRecord) -> None:
        """Counted from before it was read, so that nothing older than `FRESH_S` is believed."""
        with self._lock:
            self._verified[kept.key.prefix] = (since, kept)
            while len(self._verified) > HELD:
                self._verified.popitem(last=False)

    def _let_go(self, prefix: str) -> None:
        with self._lock:
            self._verified.pop(prefix, None)

    def _tell(self, key: Key, deed: str, by: str, **more: Any) -> None:
        if self._ledger is not None:
            about = {"prefix": key.prefix, "name": key.name} | more
            self._ledger.append(key.tenant, by, deed, about)


def _ended(old: KeyRecord, new: Key, now: datetime, grace_s: float) -> Put:
    if not grace_s:
        return old.put(now, rotated_to=new.prefix, revoked_at=now)
    ends = now + timedelta(seconds=grace_s)
    ends = ends if old.key.expires_at is None else min(ends, old.key.expires_at)
    return old.put(now, rotated_to=new.prefix, expires_at=ends)


def _name_of(given: str) -> str:
    check_name("name", given)
    if given is None:
        raise InvalidInput("A key needs a name, to know it by.")
    return given


def _later(given: datetime | None, now: datetime) -> datetime | None:
    moment = None if given is None else moment_of("expires_at", given)
    if moment is not None and moment <= now:
        raise InvalidInput(f"expires_at must lie in the future; got {moment.isoformat()}.")
    return moment


MOST_A_MINUTE = 10_000_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_SECRET_BYTES = 20  # 160 bit
_SHAPE = re.compile(rf"rem_([a-z2-7]{{8}})_([0-9a-f]{{{2 * _SECRET_BYTES}}})", re.ASCII)
_NOBODYS = sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key as it may be seen: all but its secret.

    `rate_limit` is in calls a minute, 0 for no limit and None for the server's own. A key that was
    `rotated_to` another works until it expires, or not at all once it is revoked.
    """

    prefix: str
    name: str
    tenant: str
    grants: frozenset[Grant]
    trust: float
    quarantine: bool
    operator: bool
    rate_limit: int | None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    rotated_to: str | None = None

    def usable(self, now: datetime) -> bool:
        """Whether it opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def caller(self) -> Caller:
        """Who comes in with it."""
        own = {one.name: getattr(self, one.name) for one in fields(Caller)}
        return Caller(**own | {"name": f"key:{self.prefix}"})


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyList:
    """Several keys, the oldest first."""

    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key with what recognises its secret, and the version of its document; 0: none yet."""

    key: Key
    digest: str
    version: int = 0

    def put(self, at: datetime, **changed: Any) -> Put:
        """Keep it, with what has changed."""
        key = replace(self.key, **changed)
        told = {each.name: getattr(key, each.name) for each in fields(key)}
        value = {n: v.isoformat() if isinstance(v, datetime) else v for n, v in told.items()}
        value |= {"grants": sorted(key.grants), "digest": self.digest}
        del value["prefix"]
        return Put(address=place_of(key.prefix), value=value, at=at, expected=self.version)


def kept_in(document: Document) -> KeyRecord:
    """The key that a document holds."""
    told = dict(document.value)
    digest = told.pop("digest")
    for name in ("created_at", "expires_at", "revoked_at"):
        told[name] = None if told[name] is None else moment_of(name, told[name])
    told["grants"] = frozenset(map(Grant, told["grants"]))
    return KeyRecord(Key(prefix=document.address.name, **told), digest, document.version)


def place_of(prefix: str) -> Address:
    """Where a key is kept."""
    return Address(shelf=Shelf.KEY, name=prefix)


def minted(asked: Key) -> tuple[KeyRecord, str]:
    """The key with a prefix and a secret of its own, and its text."""
    prefix = "".join(secrets.choice(_LETTERS) for _ in range(8))
    secret = secrets.token_hex(_SECRET_BYTES)
    return KeyRecord(replace(asked, prefix=prefix), _digest(secret)), f"rem_{prefix}_{secret}"


def parted(shown: str) -> tuple[str, str] | None:
    """Prefix and secret of a key's text; None if it is none."""
    match = _SHAPE.fullmatch(shown)
    return None if match is None else (match[1], match[2])


def is_secret_of(secret: str, kept: KeyRecord | None) -> bool:
    """Whether this is the key's secret. It takes as long where there is no such key."""
    # Nothing slower than SHA-256 is needed: 160 random bits are not guessed from a digest.
    same = hmac.compare_digest(_digest(secret), kept.digest if kept else _NOBODYS)
    return same and kept is not None


def tenant_of(given: str) -> str:
    """A tenant that a key may open, or `InvalidInput`."""
    check_name("tenant", given)
    if given is None or is_reserved(given):
        raise InvalidInput(f"No key opens the tenant {given!r}; name one of your own.")
    return given


def grants_of(given: Iterable[str]) -> frozenset[Grant]:
    """What a key may allow, by name; at least one."""
    named = several("grants", given)
    try:
        grants = frozenset(Grant(one) for one in named)
    except ValueError:
        raise InvalidInput(f"Unknown scope among {named!r}; known: {', '.join(Grant)}.") from None
    if not grants:
        raise InvalidInput(f"A key needs a scope: {', '.join(Grant)}.")
    return grants


def rate_of(given: int | None) -> int | None:
    """Calls a minute; 0: no limit; None: the server's own."""
    fits = isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= MOST_A_MINUTE
    if given is not None and not fits:
        raise InvalidInput(
            f"rate_limit must be 0 to {MOST_A_MINUTE} calls a minute; got {given!r}."
        )
    return given


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
