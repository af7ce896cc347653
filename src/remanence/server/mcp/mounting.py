"""MCP over HTTP at `/mcp`: stateless, answers in plain JSON, loaded when somebody first asks; and
over standard input and output, for a client that starts the server itself."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from remanence.api.memory import Memory
from remanence.config import Settings
from remanence.language.redaction import redactor
from remanence.model.clock import SystemClock
from remanence.server.access.audit import Audit
from remanence.server.access.gate import Gate
from remanence.server.authorization import Desk, Door, Tenants
from remanence.server.executor import Calls
from remanence.server.mcp.tool import desk_of
from remanence.server.middleware import allowed_hosts, allowed_origins
from remanence.server.observation import MB

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.applications import Starlette

PATHS = ("/mcp", "/mcp/")
MAX_MB = 1.0  # of a message: the SDK reads it in the event loop
_NO_STREAM = Response(status_code=405, headers={"allow": "POST"})


class McpApp:
    """The ASGI app behind `/mcp`. The SDK is loaded with the first request, not at start."""

    def __init__(self, door: Door, calls: Calls, settings: Settings) -> None:
        self._door = door
        self._calls = calls
        self._settings = settings
        self._starting = asyncio.Lock()
        self._over = asyncio.Event()
        self._app: ASGIApp | None = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Nothing is ever sent unasked, so there is no stream to GET."""
        if scope["method"] in ("GET", "HEAD"):
            await _NO_STREAM(scope, receive, send)
            return
        async with self._starting:
            if self._app is None:
                self._app = await self._started()
        await self._app(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hold this open for as long as the server runs; calls under way end with it."""
        try:
            yield
        finally:
            self._over.set()
            if self._running is not None:
                await self._running

    async def _started(self) -> ASGIApp:
        manager = await asyncio.to_thread(self._made)
        ready = asyncio.Event()
        self._running = asyncio.create_task(self._run(manager, ready))
        await ready.wait()
        return manager.handle_request

    def _made(self) -> StreamableHTTPSessionManager:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from remanence.server.mcp.server import make_mcp

        wanted = self._settings
        server = make_mcp(self._calls, wanted.tools, partial(desk_of, self._door))
        return StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            security_settings=security(wanted),
            max_request_body_size=max(1, int(min(MAX_MB, wanted.max_body_mb) * MB)),
        )

    async def _run(self, manager: StreamableHTTPSessionManager, ready: asyncio.Event) -> None:
        """In a task of its own: what opens the manager must be what closes it."""
        async with manager.run():
            ready.set()
            await self._over.wait()


def mount_mcp(app: Starlette) -> None:
    """Put MCP at `/mcp` of a server; its lifespan holds it open."""
    state = app.state
    own = McpApp(state.door, state.calls, state.settings)
    app.router.routes.extend(Route(path, endpoint=own) for path in PATHS)
    state.closing.append(lambda _: own.running())


def security(settings: Settings) -> TransportSecuritySettings:
    """The SDK's own check of Host and Origin, with the guard's lists.

    It knows no `*.name`; where one is set, the guard alone checks.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    hosts = allowed_hosts(settings)
    own = [
        f"{scheme}://{host}{port}"
        for scheme in ("http", "https")
        for host in hosts
        for port in ("", ":*")
    ]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=not any(host.startswith("*.") for host in hosts),
        allowed_hosts=[f"{host}{port}" for host in hosts for port in ("", ":*")],
        allowed_origins=[*own, *allowed_origins(settings)],
    )


def serve_stdio(
    memory: Memory, settings: Settings, *, profile: str, scope: Mapping[str, str]
) -> None:
    """Serve until the input ends. Whoever started it is the local caller; logs go to stderr."""
    import anyio

    from remanence.server.mcp.server import make_mcp

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, force=True)
    audit = Audit(memory.parts.store, SystemClock())
    redact = redactor(settings.redact) if settings.redact else None
    door = Door(Tenants(memory), recorder=audit, redact=redact)
    desk = Desk(door=door, caller=Gate(memory.tenant).local, scope=scope)
    calls = Calls(settings.calls, settings.call_timeout_s or None)
    try:
        server = make_mcp(calls, profile, lambda _: desk)
        anyio.run(_serve, server)
    finally:
        calls.close()


async def _serve(server: Any) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
