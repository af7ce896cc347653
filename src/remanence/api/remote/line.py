"""The line to a server: where it is, how often a call is tried again, and what comes back."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlsplit

import httpx

from remanence.api.remote.call import Call
from remanence.api.remote.message import EVENTS, Events, Message, Reply, answer_of, message_of
from remanence.errors import Closed, InvalidInput, ServerUnavailable
from remanence.model.validation import is_loopback

FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 30.0
PASSING = frozenset({429, 502, 503})
TOO_LONG = b"urn:remanence:deadline"  # the same again would take as long
LASTING = (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.ProxyError)
UNHEARD = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
CUT = "the stream ended before the answer came"
# What OpenSSL, by its version, says of an answer that is plain text.
NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
Outcome = Reply | httpx.TransportError


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """A server's URL, without a trailing slash or `/v1`, and the key it is shown."""

    url: str
    key: str | None = field(default=None, repr=False)
    timeout_s: float = 30.0

    def settings(self) -> dict[str, Any]:
        """As httpx takes it. No proxy lies on the way to one's own machine."""
        shown = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        local = is_loopback(urlsplit(self.url).hostname or "")
        return {
            "base_url": self.url,
            "timeout": self.timeout_s,
            "headers": shown,
            "trust_env": not local,
        }


def address_of(url: object, key: object, timeout_s: object) -> ServerAddress:
    """The address, or `InvalidInput`."""
    return ServerAddress(url=_url(url), key=_key(key), timeout_s=_seconds(timeout_s))


def _url(url: object) -> str:
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        known = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        known = False
    if not known:
        raise InvalidInput("url must be a server's address, such as http://127.0.0.1:8005.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InvalidInput("url must be an address alone; a key is passed as key=….")
    return str(url).rstrip("/").removesuffix("/v1").rstrip("/")


def _key(key: object) -> str | None:
    if key is None:
        return None
    if not isinstance(key, str) or not key or not key.isascii() or not key.isprintable():
        raise InvalidInput("key must be a key as `rem keys create` shows it, or None.")
    return key


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise InvalidInput(f"timeout_s must be a number of seconds; got {str(value)[:40]!r}.")
    return float(value)


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a call is tried again, each time after about twice as long."""

    retries: int = 3
    chance: Callable[[], float] = random.random

    def wait(self, outcome: Outcome, tried: int, *, repeatable: bool = True) -> float | None:
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


def _passes(outcome: Outcome, repeatable: bool) -> bool:
    if isinstance(outcome, Reply):
        return outcome.status in PASSING and TOO_LONG not in outcome.content
    return (repeatable and not isinstance(outcome, LASTING)) or isinstance(outcome, UNHEARD)


def _asked(outcome: Outcome) -> float:
    """What the server asks for in `Retry-After`, in seconds."""
    told = outcome.headers.get("retry-after", "") if isinstance(outcome, Reply) else ""
    return float(told) if told.isdecimal() else 0.0


class Line:
    """A line that waits for each answer; threads may share it."""

    def __init__(
        self, address: ServerAddress, patience: Patience, transport: httpx.BaseTransport | None
    ) -> None:
        self.address = address
        self._patience = patience
        self._client = httpx.Client(transport=transport, **address.settings())

    def ask(self, call: Call) -> Any:
        """What the verb gives."""
        message = message_of(call)
        for tried in count(1):
            found = self._once(message, call)
            wait = self._patience.wait(found, tried, repeatable=call.repeatable)
            if wait is None:
                break
            time.sleep(wait)
        return concluded(call, found, self.address.url)

    def close(self) -> None:
        """Hang up; a second call does nothing."""
        self._client.close()

    def _once(self, message: Message, call: Call) -> Outcome:
        request = _request(self._client, message)
        try:
            with closing(self._client.send(request, stream=True)) as response:
                if (events := _events(response, call)) is None:
                    return _reply(response, response.read())
                for line in response.iter_lines():
                    events.take(line)
                return events.reply or httpx.RemoteProtocolError(CUT)
        except httpx.TransportError as error:
            return error


class AsyncLine:
    """A line whose answers are awaited."""

    def __init__(
        self, address: ServerAddress, patience: Patience, transport: httpx.AsyncBaseTransport | None
    ) -> None:
        self.address = address
        self._patience = patience
        self._client = httpx.AsyncClient(transport=transport, **address.settings())

    async def ask(self, call: Call) -> Any:
        """What the verb gives."""
        message = message_of(call)
        for tried in count(1):
            found = await self._once(message, call)
            wait = self._patience.wait(found, tried, repeatable=call.repeatable)
            if wait is None:
                break
            await asyncio.sleep(wait)
        return concluded(call, found, self.address.url)

    async def close(self) -> None:
        """Hang up; a second call does nothing."""
        await self._client.aclose()

    async def _once(self, message: Message, call: Call) -> Outcome:
        request = _request(self._client, message)
        try:
            response = await self._client.send(request, stream=True)
            try:
                if (events := _events(response, call)) is None:
                    return _reply(response, await response.aread())
                async for line in response.aiter_lines():
                    events.take(line)
                return events.reply or httpx.RemoteProtocolError(CUT)
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            return error


def concluded(call: Call, found: Outcome, url: str) -> Any:
    """What a call gives in the end."""
    if isinstance(found, Reply):
        return answer_of(call, found, url)
    reason = str(found) or type(found).__name__
    if url.startswith("https:") and any(sign in reason for sign in NO_TLS):
        raise ServerUnavailable(
            f"{url} cannot be reached: it speaks http, not https; write http://… instead."
        ) from found
    raise ServerUnavailable(
        f"{url} cannot be reached: {reason}. `rem serve` starts a server."
    ) from found


def _request(client: httpx.Client | httpx.AsyncClient, message: Message) -> httpx.Request:
    if client.is_closed:
        raise Closed("The line to the server is closed; make a new RemoteMemory.")
    return client.build_request(
        message.method, message.target, headers=dict(message.headers), content=message.content
    )


def _events(response: httpx.Response, call: Call) -> Events | None:
    """What takes the events of a long run, if this answer is a stream of them."""
    kind = response.headers.get("content-type", "")
    if call.progress is None or not kind.startswith(EVENTS):
        return None
    return Events(call.progress)


def _reply(response: httpx.Response, content: bytes) -> Reply:
    return Reply(status=response.status_code, headers=response.headers, content=content)
