"""Who a request comes from: a key, a token, or whoever sits at this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from hashlib import sha256
from typing import Protocol

from remanence.errors import Forbidden, Unauthenticated
from remanence.operations.routes import Grant
from remanence.server.access.caller import Caller
from remanence.server.access.key import parted

LOCAL = "local"
EVERYTHING = frozenset(Grant)
FRESH_S = 2.0  # how long a server that needs no key may take to see the first one

_PASSED_ON = frozenset({"forwarded", "via", "x-real-ip"})


class Credentials(Protocol):
    """Something that knows callers by what they show."""

    def known(self) -> bool:
        """Whether anybody can be known at all; until then, a loopback server is open."""

    def caller(self, shown: str) -> Caller | None:
        """Whose key or token this is; None if nobody's."""

    def remembered(self, shown: str | None) -> Caller | None:
        """Whose it is, if that is known without asking anybody; None if it has to be asked.

        Without anything shown: None, as that too has to be asked.
        """


class Gate:
    """Lets callers in. With no keys and no issuer of tokens, whoever reaches the port is local."""

    def __init__(self, tenant: str, *credentials: Credentials) -> None:
        self._credentials = credentials
        self._open_until = 0.0
        self.local = Caller(tenant=tenant, name=LOCAL, grants=EVERYTHING, operator=True)

    def open(self) -> bool:
        """Whether no key is needed."""
        now_open = not any(each.known() for each in self._credentials)
        self._open_until = time.monotonic() + FRESH_S if now_open else 0.0
        return now_open

    def refresh(self) -> None:
        """Ask anew whether a key is needed: one was made just now."""
        self._open_until = 0.0

    def remembered(self, headers: Mapping[str, str]) -> Caller | None:
        """The caller, if no store and no network has to be asked."""
        if time.monotonic() < self._open_until and not forwarded(headers):
            return self.local
        shown = shown_by(headers)
        found = (each.remembered(shown) for each in self._credentials)
        return next((caller for caller in found if caller is not None), None)

    def admit(self, headers: Mapping[str, str]) -> Caller:
        """The caller, by the header `Authorization` (Bearer or Token) or `X-API-Key`."""
        if self.open():
            if forwarded(headers):
                raise Forbidden(
                    "A proxy is in between, so this may come from anywhere, and there is no key "
                    "yet. Make one with `rem keys create NAME --scope read --scope write`."
                )
            return self.local
        shown = shown_by(headers)
        if shown is None:
            raise Unauthenticated(
                "Send a key: `Authorization: Bearer …`. `rem keys create` makes one."
            )
        for each in self._credentials:
            caller = each.caller(shown)
            if caller is not None:
                return caller
        raise Unauthenticated("The key is unknown, expired or revoked.")


def forwarded(headers: Mapping[str, str]) -> bool:
    """Whether somebody in between passed a request on, as far as they say so."""
    return any(name in _PASSED_ON or name.startswith("x-forwarded-") for name in headers)


def shown_by(headers: Mapping[str, str]) -> str | None:
    """The key or token that a request carries."""
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    if scheme.lower() in ("bearer", "token") and rest.strip():
        return rest.strip()
    return headers.get("x-api-key") or None


def mark_of(shown: str) -> str:
    """What tells guesses at one key from other keys: its prefix, or of anything else all of it."""
    parts = parted(shown)
    return sha256(shown.encode()).hexdigest() if parts is None else parts[0]
