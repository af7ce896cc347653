"""When to ask again: what passes by itself, how long to wait, and when to give up."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from remanence.client.message import Reply
from remanence.errors import InvalidInput

FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 30.0
PASSING = frozenset({429, 502, 503})
TOO_LONG = b"urn:remanence:deadline"  # the same again would take as long
LASTING = (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.ProxyError)
UNHEARD = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a call is tried again, each time after about twice as long."""

    retries: int = 3
    chance: Callable[[], float] = random.random

    def wait(
        self, outcome: Reply | httpx.TransportError, tried: int, *, repeatable: bool = True
    ) -> float | None:
        """Seconds until the next try, after `tried` of them; None when this outcome stands.

        What is not repeatable is tried again only where the server cannot have begun with it.
        """
        if tried > self.retries or not _passes(outcome, repeatable):
            return None
        own = FIRST_WAIT_S * 2.0 ** (tried - 1)
        own *= 0.5 + self.chance() / 2  # or all that were refused come back at once
        return min(max(own, _asked(outcome)), LONGEST_WAIT_S)


def patience_of(retries: object) -> Patience:
    """Patience for so many retries, or `InvalidInput`."""
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise InvalidInput(f"retries must be a whole number, 0 or more; got {str(retries)[:40]!r}.")
    return Patience(retries)


def _passes(outcome: Reply | httpx.TransportError, repeatable: bool) -> bool:
    if isinstance(outcome, Reply):
        return outcome.status in PASSING and TOO_LONG not in outcome.content
    return (repeatable and not isinstance(outcome, LASTING)) or isinstance(outcome, UNHEARD)


def _asked(outcome: Reply | httpx.TransportError) -> float:
    """What the server asks for in `Retry-After`, in seconds."""
    told = outcome.headers.get("retry-after", "") if isinstance(outcome, Reply) else ""
    return float(told) if told.isdecimal() else 0.0
