"""One API key: what it allows, how it reads, and the document that it is kept as."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from remanence.errors import InvalidInput
from remanence.model.accept import moment_of, several
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.scope import check_name
from remanence.operations.routes import Grant
from remanence.server.access.caller import Caller
from remanence.server.access.names import is_reserved

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
        return Caller(
            tenant=self.tenant,
            name=f"key:{self.prefix}",
            grants=self.grants,
            trust=self.trust,
            quarantine=self.quarantine,
            operator=self.operator,
            rate_limit=self.rate_limit,
            expires_at=self.expires_at,
        )


@dataclass(frozen=True, slots=True)
class Kept:
    """A key with what recognises its secret, and the version of its document; 0: none yet."""

    key: Key
    digest: str
    version: int = 0

    def put(self, at: datetime, **changed: Any) -> Put:
        """Keep it, with what has changed."""
        key = replace(self.key, **changed)
        value = {
            "name": key.name,
            "tenant": key.tenant,
            "grants": sorted(key.grants),
            "trust": key.trust,
            "quarantine": key.quarantine,
            "operator": key.operator,
            "rate_limit": key.rate_limit,
            "created_at": key.created_at.isoformat(),
            "expires_at": key.expires_at and key.expires_at.isoformat(),
            "revoked_at": key.revoked_at and key.revoked_at.isoformat(),
            "rotated_to": key.rotated_to,
            "digest": self.digest,
        }
        return Put(address=place_of(key.prefix), value=value, at=at, expected=self.version)


def kept_in(document: Document) -> Kept:
    """The key that a document holds."""
    told = dict(document.value)
    digest = told.pop("digest")
    for name in ("created_at", "expires_at", "revoked_at"):
        told[name] = None if told[name] is None else moment_of(name, told[name])
    told["grants"] = frozenset(map(Grant, told["grants"]))
    return Kept(Key(prefix=document.address.name, **told), digest, document.version)


def place_of(prefix: str) -> Address:
    """Where a key is kept."""
    return Address(shelf=Shelf.KEY, name=prefix)


def minted(asked: Key) -> tuple[Kept, str]:
    """The key with a prefix and a secret of its own, and its text."""
    prefix = "".join(secrets.choice(_LETTERS) for _ in range(8))
    secret = secrets.token_hex(_SECRET_BYTES)
    return Kept(replace(asked, prefix=prefix), _digest(secret)), f"rem_{prefix}_{secret}"


def parted(shown: str) -> tuple[str, str] | None:
    """Prefix and secret of a key's text; None if it is none."""
    match = _SHAPE.fullmatch(shown)
    return None if match is None else (match[1], match[2])


def is_secret_of(secret: str, kept: Kept | None) -> bool:
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
