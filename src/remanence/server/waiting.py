"""A server whose store does not answer yet: it says so to every call, and opens the store later."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from dataclasses import replace

import orjson
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from remanence.config import Settings
from remanence.errors import StoreUnavailable
from remanence.server.middleware import Entrance, exchange_of, refuse
from remanence.server.problems import Refusal, answer, problem_of
from remanence.version import __version__

PAUSE_S = 1.0
_DETAIL = "The database does not answer yet; try again in a moment."
_log = logging.getLogger("remanence.server")


class Waiting:
    """An ASGI app that is made by `make` as soon as the store answers.

    The first try is made before the server takes calls, so where the store is there nobody
    notices. What cannot be mended by waiting ends the server.
    """

    def __init__(self, make: Callable[[], Starlette], settings: Settings) -> None:
        self._make = make
        self._entrance = Entrance(settings)
        self._app: Starlette | None = None
        self._tried = asyncio.Event()
        self._stopping = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call, or the life of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is not None:
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            exchange = exchange_of(scope, receive, send)
            try:
                self._entrance.check(scope, exchange.headers)
                await _answer(scope["path"], exchange.id)(scope, receive, exchange.send)
            except Refusal as error:
                await refuse(problem_of(error, exchange.id), scope, exchange)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        opening = asyncio.create_task(self._open())
        tried = asyncio.create_task(self._tried.wait())
        await asyncio.wait([opening, tried], return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            tried.cancel()
            await send({"type": "lifespan.startup.failed", "message": str(opening.exception())})
            return
        opening.add_done_callback(self._end)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._stopping.set()
        if self._app is None:
            opening.cancel()
        await asyncio.wait([opening])
        await send({"type": "lifespan.shutdown.complete"})

    async def _open(self) -> None:
        """Open the store, and stay for as long as the server lives."""
        app = await self._made()
        async with app.router.lifespan_context(app):
            self._app = app
            self._tried.set()
            await self._stopping.wait()

    async def _made(self) -> Starlette:
        while True:
            try:
                return await asyncio.to_thread(self._make)
            except StoreUnavailable as error:
                if not self._tried.is_set():
                    _log.warning("%s The server waits for it.", error)
                self._tried.set()
                await asyncio.sleep(PAUSE_S)

    def _end(self, opening: asyncio.Task[None]) -> None:
        """Stop the server where its store can be reached and cannot be served."""
        if not opening.cancelled() and not self._stopping.is_set():
            _log.error("The server cannot go on: %s", opening.exception())
            signal.raise_signal(signal.SIGTERM)


def _answer(path: str, id: str) -> Response:
    if path == "/health":
        return Response(_told("ok"), media_type="application/json")
    if path == "/ready":
        return Response(_told("unavailable"), status_code=503, media_type="application/json")
    return answer(replace(problem_of(StoreUnavailable(), id), detail=_DETAIL))


def _told(status: str) -> bytes:
    return orjson.dumps({"status": status, "version": __version__})
