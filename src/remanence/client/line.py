"""The line to a server: calls go out, are tried again where that helps, and come back as values."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from itertools import count
from typing import Any

import httpx

from remanence.client.address import Address
from remanence.client.call import Call
from remanence.client.events import Events
from remanence.client.message import EVENTS, Message, Reply, answer_of, message_of
from remanence.client.patience import Patience
from remanence.errors import Closed, ServerUnavailable

CUT = "the stream ended before the answer came"
# What OpenSSL, by its version, says of an answer that is plain text.
NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
Outcome = Reply | httpx.TransportError


class Line:
    """A line that waits for each answer; threads may share it."""

    def __init__(
        self, address: Address, patience: Patience, transport: httpx.BaseTransport | None
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
        self, address: Address, patience: Patience, transport: httpx.AsyncBaseTransport | None
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
