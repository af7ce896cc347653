"""Who a request comes from: a key, a token, or whoever sits at this machine."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Protocol

from remanence.api.verb import Grant
from remanence.errors import Forbidden, Unauthenticated
from remanence.server.access.caller import Caller

LOCAL = "local"
EVERYTHING = frozenset(Grant)
FRESH_S = 2.0  # how long a server that needs no key may take to see the first one

# By these a proxy says that it passed something on, or for whom. No list of their names is ever
# whole, so the words in a name decide, and the firms that put their own in front.
_WORDS = frozenset(
    {
        *("forwarded", "forwarder", "forward", "forwarding", "forwardedfor", "via", "hop", "hops"),
        *("proxy", "proxied", "proxyuser", "gateway", "ingress", "edge", "cdn", "tunnel"),
        *("original", "originating", "connecting", "remote", "real", "peer", "authenticated"),
        *("ip", "ips", "ipaddress", "ipcountry", "clientip", "realip", "remoteip", "clientaddr"),
        *("addr", "address", "ssl", "tls", "cert", "iap"),
    }
)
_FIRMS = frozenset(
    {
        *("cf", "cloudflare", "cloudfront", "amz", "amzn", "akamai", "fastly", "fly", "incap"),
        *("sucuri", "azure", "fd", "arr", "appengine", "vercel", "nf", "netlify", "heroku"),
        *("railway", "envoy", "varnish", "nginx", "traefik", "haproxy", "caddy", "squid"),
        *("bluecoat", "zscaler", "tailscale", "ngrok", "kong", "istio", "apigw", "gfe"),
    }
)
_WHOLE = frozenset(
    {
        *("x-host", "x-scheme", "x-url-scheme", "x-proto", "front-end-https", "x-rewrite-url"),
        *("x-coming-from", "x-request-start", "x-arr", "rndr-id"),
    }
)
_SEPARATORS = re.compile(r"[-_.]+")
_LONGEST_NAME = 64  # of a header whose sense is kept


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

    def ended(self, shown: str) -> bool:
        """Whether it is what somebody was let in by, and no longer is; asked after `caller`."""


class Ended(Unauthenticated):
    """The key was right, and no longer is: nobody guesses here."""


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
        over = any(each.ended(shown) for each in self._credentials)
        raise (Ended if over else Unauthenticated)("The key is unknown, expired or revoked.")


def forwarded(headers: Mapping[str, str]) -> bool:
    """Whether somebody in between passed a request on, as far as they say so."""
    return any(
        _passed_on(name) if len(name) <= _LONGEST_NAME else _is_passed_on(name) for name in headers
    )


def _is_passed_on(name: str) -> bool:
    words = [word for word in _SEPARATORS.split(name.lower()) if word]
    own = words[1:] if words[:1] == ["x"] else words
    firm = bool(own) and own[0] in _FIRMS
    return name in _WHOLE or firm or not _WORDS.isdisjoint(own)


_passed_on = lru_cache(1_024)(_is_passed_on)


def shown_by(headers: Mapping[str, str]) -> str | None:
    """The key or token that a request carries."""
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    if scheme.lower() in ("bearer", "token") and rest.strip():
        return rest.strip()
    return headers.get("x-api-key") or None


def mark_of(shown: str) -> str:
    """What tells a key from others: all of it, as many may guess at a prefix."""
    return sha256(shown.encode()).hexdigest()


Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

NOWHERE = ""  # a socket of this machine that has no address
LOOPBACK: tuple[Network, ...] = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
PASSED_ON = "x-forwarded-for"
LONGEST = 64  # characters of an address
ONE_HOLDER = 64  # bits of an IPv6 address that whoever has one can choose the rest of


def holder_of(address: str) -> str:
    """The address as far as it tells callers apart: of IPv6, the network that one caller has."""
    found = _parsed(address)
    if isinstance(found, IPv6Address):
        return str(IPv6Network((found, ONE_HOLDER), strict=False))
    return address if found is None else str(found)


def is_among(address: str, networks: Iterable[Network]) -> bool:
    """Whether the address lies in one of the networks."""
    found = _parsed(address)
    return found is not None and any(found in each for each in networks)


def caller_address(peer: str, headers: Mapping[str, str], proxies: tuple[Network, ...]) -> str:
    """Who calls: the other end of the connection, or who a trusted proxy there says it is.

    Each proxy appends whom it saw, so the last one that is no trusted proxy itself counts.
    """
    if not proxies or not is_among(peer, proxies):
        return holder_of(peer)
    for told in reversed(headers.get(PASSED_ON, "").split(",")):
        seen = _without_port(told.strip())
        if _parsed(seen) is None:
            break  # what stands before it, nobody that is trusted has said
        if not is_among(seen, proxies):
            return holder_of(seen)
    return holder_of(peer)


def _without_port(told: str) -> str:
    if told.startswith("["):
        return told[1:].partition("]")[0]
    return told.partition(":")[0] if told.count(":") == 1 else told


def _parsed(address: str) -> Address | None:
    return _known(address) if len(address) <= LONGEST else None


@lru_cache(4_096)
def _known(address: str) -> Address | None:
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
