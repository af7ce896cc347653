"""Which address a request comes from, as far as it can be known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

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
