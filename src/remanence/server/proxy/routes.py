"""The routes of the proxy: `/v1/chat/completions` and `/v1/models`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from remanence.config import Settings
from remanence.server.access.caller import Caller
from remanence.server.problems import Refusal
from remanence.server.proxy.chat import Chat, read_chat
from remanence.server.proxy.remembered import (
    ExchangeOwner,
    Keeping,
    Perform,
    Placing,
    Recalled,
    Room,
    allowed_to,
    placed,
    recalled,
    writes_of,
)
from remanence.server.proxy.upstream import CHAT, MODELS, Relay, StreamedAnswer, Upstream

SETTLE_S = 1.0  # for what was said a moment ago to be stored, before it is looked for
ANY, LONGEST_ACCEPT = "*/*", 256
FORBIDDEN = "forbidden"


def add_proxy(app: Starlette) -> None:
    """Add the routes; connections open and close with the app.

    What is still to be stored then is stored before the memory is closed.
    """
    proxy = Proxy(app)
    app.state.proxy = proxy
    app.add_route("/v1/chat/completions", proxy.chat, methods=["POST"], include_in_schema=False)
    app.add_route("/v1/models", proxy.models, methods=["GET"], include_in_schema=False)
    app.state.closing.append(lambda _: proxy.opened())


class Proxy:
    """Answers chat requests."""

    def __init__(self, app: Starlette) -> None:
        self._state = app.state
        self._settings: Settings = app.state.settings
        self._upstream = Upstream(self._settings)
        self.keeping = Keeping()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Chats can pass while this lasts; at its end everything said is stored."""
        async with self._upstream.opened():
            try:
                yield
            finally:
                await self.keeping.drain()

    async def chat(self, request: Request) -> Response:
        """Pass a chat on, with what is remembered; remember what is said."""
        caller = self._admitted(request)
        chat = read_chat(await request.body())
        placing = placed(request.headers, chat.user, caller)
        started = time.perf_counter()
        told = await self._recalled(caller, chat, placing)
        spent = {"x-memory-latency-ms": f"{1000 * (time.perf_counter() - started):.1f}"}
        asked = self._upstream.request("POST", CHAT, _accept(request), chat.told(told.block))
        over = partial(self._over, caller, chat, placing)
        headers = told.headers() | spent
        if placing.less:
            headers.setdefault("x-memory-error", FORBIDDEN)
        return Relay(self._upstream, asked, headers, over if placing.mode.writes else None)

    async def models(self, request: Request) -> Response:
        """Pass the list of models on."""
        self._admitted(request)
        return Relay(self._upstream, self._upstream.request("GET", MODELS, _accept(request)), {})

    async def _recalled(self, caller: Caller, chat: Chat, placing: Placing) -> Recalled:
        if not placing.mode.reads:
            return Recalled()
        await self.keeping.settled(_whose(caller, placing), SETTLE_S)
        settings = self._settings
        room = Room(settings.proxy_tokens, settings.proxy_min_confidence or None)
        return await recalled(self._performing(caller), chat, placing, room)

    def _over(self, caller: Caller, chat: Chat, placing: Placing, heard: StreamedAnswer) -> None:
        writes = writes_of(chat, heard, placing, self._settings.max_text) if heard.accepted else []
        if writes:
            self.keeping.keep(self._performing(caller), _whose(caller, placing), writes)

    def _performing(self, caller: Caller) -> Perform:
        return partial(self._state.calls.run, self._state.door.perform, caller)

    def _admitted(self, request: Request) -> Caller:
        """Who asks, if their key may and there is somebody to pass it on to."""
        caller: Caller = request.state.caller
        allowed_to(caller)
        if self._upstream.named:
            return caller
        raise Refusal(
            "not-configured",
            "There is no upstream: set upstream_url to an OpenAI-compatible endpoint, such "
            "as http://127.0.0.1:11434/v1, and upstream_key to its key.",
        )


def _whose(caller: Caller, placing: Placing) -> ExchangeOwner:
    return ExchangeOwner(caller.tenant, placing.user_id, placing.session_id)


def _accept(request: Request) -> str:
    """What the client accepts, if a header can carry it on."""
    given = request.headers.get("accept", ANY)
    good = given.isascii() and given.isprintable() and 0 < len(given) <= LONGEST_ACCEPT
    return given if good else ANY
