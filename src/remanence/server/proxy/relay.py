"""Passing an answer on: the bytes as they come, until the end or until the client has left."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from remanence.errors import LanguageModelError
from remanence.server.proxy.heard import BROKE, Heard
from remanence.server.proxy.refusing import refusal
from remanence.server.proxy.upstream import Upstream, passed

if TYPE_CHECKING:
    import httpx

_log = logging.getLogger(__name__)


class Relay(Response):
    """The upstream's answer as ours. `over` is told what was heard, however it ended."""

    def __init__(
        self,
        upstream: Upstream,
        asked: httpx.Request,
        headers: Mapping[str, str],
        over: Callable[[Heard], None] | None = None,
    ) -> None:
        self._upstream = upstream
        self._asked = asked
        self._more = headers
        self._over = over
        super().__init__()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask the upstream and pass its answer on; when the client leaves, so do we."""
        heard = Heard()
        try:
            await unless_gone(receive, self._relayed(send, heard))
        except LanguageModelError as error:
            heard.refused = True
            id = scope.get("state", {}).get("request_id", "")
            await refusal(error, scope["path"], id)(scope, receive, send)
        finally:
            heard.closes()
            if self._over is not None:
                self._over(heard)

    async def _relayed(self, send: Send, heard: Heard) -> None:
        response = await self._upstream.send(self._asked)
        try:
            headers = response.headers
            heard.begins(
                response.status_code,
                headers.get("content-type", ""),
                headers.get("content-encoding", ""),
            )
            await send(self._start(response))
            await self._body(response, send, heard)
        finally:
            await response.aclose()

    async def _body(self, response: httpx.Response, send: Send, heard: Heard) -> None:
        import httpx

        try:
            async for chunk in response.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                heard.take(chunk)
        except httpx.HTTPError as error:
            # An answer that is not ended makes the server close the connection: so the client
            # sees what we saw, and takes half an answer for no whole one.
            _log.warning("The upstream broke off: %r", error)
            heard.ending = BROKE
            return
        heard.ends()
        await send({"type": "http.response.body", "body": b""})

    def _start(self, response: httpx.Response) -> dict[str, Any]:
        headers = [*passed(response.headers), *self._more.items()]
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
        return {"type": "http.response.start", "status": response.status_code, "headers": raw}


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Do the work, and give it up when the client leaves."""
    doing, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        done = doing.done()
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)
    if done:
        doing.result()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
