"""The routes of the proxy: `/v1/chat/completions` and `/v1/models`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial, wraps
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from remanence.config import Settings
from remanence.errors import RemanenceError
from remanence.operations.reading import Misfit
from remanence.server.access.caller import Caller
from remanence.server.problems import TITLES, Problem
from remanence.server.proxy.chat import Chat, read_chat
from remanence.server.proxy.heard import Heard
from remanence.server.proxy.keeping import Keeping, Whose, writes_of
from remanence.server.proxy.placing import Placing, allowed_to, placed
from remanence.server.proxy.recalling import Recalled, recalled
from remanence.server.proxy.refusing import answer, refusal
from remanence.server.proxy.relay import Relay
from remanence.server.proxy.upstream import CHAT, MODELS, Upstream

SETTLE_S = 1.0  # for what was said a moment ago to be stored, before it is looked for
ANY, LONGEST_ACCEPT = "*/*", 256
FORBIDDEN = "forbidden"
Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


def add_proxy(app: FastAPI) -> None:
    """Add the routes; connections open and close with the app.

    What is still to be stored then is stored before the memory is closed.
    """
    proxy = Proxy(app)
    app.state.proxy = proxy
    chat, models = _answered(proxy.chat), _answered(proxy.models)
    app.add_route("/v1/chat/completions", chat, methods=["POST"], include_in_schema=False)
    app.add_route("/v1/models", models, methods=["GET"], include_in_schema=False)
    app.state.closing.append(lambda _: proxy.opened())


async def drain(app: FastAPI) -> None:
    """Wait until all that was said in chats is stored."""
    await app.state.proxy.keeping.drain()


class Proxy:
    """Answers chat requests."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
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
        caller: Caller = request.state.caller
        allowed_to(caller)
        if not self._upstream.named:
            return _not_configured(request)
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
        allowed_to(request.state.caller)
        if not self._upstream.named:
            return _not_configured(request)
        return Relay(self._upstream, self._upstream.request("GET", MODELS, _accept(request)), {})

    async def _recalled(self, caller: Caller, chat: Chat, placing: Placing) -> Recalled:
        if not placing.mode.reads:
            return Recalled()
        await self.keeping.settled(_whose(caller, placing), SETTLE_S)
        state, budget = self._app.state, self._settings.proxy_tokens
        return await recalled(state.door, state.calls, caller, chat, placing, budget)

    def _over(self, caller: Caller, chat: Chat, placing: Placing, heard: Heard) -> None:
        writes = writes_of(chat, heard, placing, self._settings.max_text) if heard.accepted else []
        if writes:
            state = self._app.state
            self.keeping.keep(state.door, state.calls, caller, _whose(caller, placing), writes)

    @property
    def _settings(self) -> Settings:
        settings: Settings = self._app.state.settings
        return settings


def _answered(endpoint: Endpoint) -> Endpoint:
    """The endpoint, with its errors as the clients of this API read them."""

    @wraps(endpoint)
    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except (RemanenceError, Misfit) as error:
            return refusal(error, request.url.path, getattr(request.state, "request_id", ""))

    return answered


def _whose(caller: Caller, placing: Placing) -> Whose:
    return Whose(caller.tenant, placing.user_id, placing.session_id)


def _accept(request: Request) -> str:
    """What the client accepts, if a header can carry it on."""
    given = request.headers.get("accept", ANY)
    good = given.isascii() and given.isprintable() and 0 < len(given) <= LONGEST_ACCEPT
    return given if good else ANY


def _not_configured(request: Request) -> Response:
    problem = Problem(
        type="not-configured",
        title=TITLES["not-configured"],
        status=422,
        detail="There is no upstream: set upstream_url to an OpenAI-compatible endpoint, such as "
        "http://127.0.0.1:11434/v1, and upstream_key to its key.",
        request_id=getattr(request.state, "request_id", ""),
    )
    return answer(problem)
