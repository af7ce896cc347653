"""The server put together: one memory, one door, every dialect."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import orjson
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from remanence.clock import Clock, SystemClock
from remanence.config import Settings
from remanence.deadline import Deadline
from remanence.errors import RemanenceError
from remanence.memory import Memory
from remanence.operations.reading import Misfit
from remanence.server.access.audit import Audit
from remanence.server.access.gate import Credentials, Gate
from remanence.server.access.keys import Keys
from remanence.server.access.limits import Limits
from remanence.server.calls import Calls, ForTenants
from remanence.server.door import Door
from remanence.server.guard import Guard, Seen, allowed_origins
from remanence.server.health import add_health
from remanence.server.heap import trimming
from remanence.server.jobs import Office
from remanence.server.logs import log_request
from remanence.server.mcp import mount_mcp
from remanence.server.mem0 import add_mem0
from remanence.server.metrics import Metrics
from remanence.server.once import Once
from remanence.server.problems import MEDIA_TYPE, Problem, problem_of
from remanence.server.proxy import add_proxy
from remanence.server.regularly import regularly
from remanence.server.rest.admin import add_admin
from remanence.server.rest.also import add_also
from remanence.server.rest.jobs import add_jobs
from remanence.server.rest.openapi import document
from remanence.server.rest.router import add_routes
from remanence.server.rest.seeds import add_seeds
from remanence.server.rest.transfers import add_transfers
from remanence.server.tenants import Tenants
from remanence.server.tracing import NOT_FASTAPIS, Tracing, tracing_of
from remanence.server.writes import Writes
from remanence.text.redaction import redactor
from remanence.version import __version__

_NOT_ALLOWED, _TOO_LARGE = 405, 413
USES_S = 5.0  # how often it is written what searches returned
_CORS: dict[str, Any] = {
    "allow_methods": ["GET", "POST", "PUT", "PATCH", "DELETE"],
    "allow_headers": ["authorization", "content-type", "idempotency-key", "if-match", "x-api-key"],
    "expose_headers": ["etag", "x-request-id"],
}
_log = logging.getLogger("remanence.server")


@dataclass(frozen=True, slots=True)
class _Watch:
    """Figures and logs of what the server sees."""

    metrics: Metrics
    audit: Audit

    def saw(self, seen: Seen) -> None:
        self.metrics.saw_request(seen)
        log_request(seen)

    def refused(self, reason: str) -> None:
        self.metrics.refused(reason)
        if reason == "unauthenticated":
            self.audit.refused(reason)


@dataclass(frozen=True, slots=True)
class _Operations:
    """The door's watch: figures of operations."""

    metrics: Metrics
    writes: Writes
    tracing: Tracing | None = None

    def saw(self, operation: str, seconds: float, error: BaseException | None) -> None:
        self.writes.saw(operation, error)
        self.metrics.saw_operation(operation, seconds, error)
        if self.tracing is not None:
            self.tracing.saw(operation, seconds, error)


def make_app(
    settings: Settings, memory: Memory | None = None, *, clock: Clock | None = None
) -> FastAPI:
    """The server as an ASGI app. A memory that is given is used and closed with it."""
    opened = memory or Memory(settings.database_url, **memory_settings(settings))
    clock = clock or SystemClock()
    store = opened.parts.store
    tenants, calls = Tenants(opened), Calls(settings.calls, settings.call_timeout_s or None)
    audit, metrics = Audit(store, clock), Metrics(shared=settings.workers > 1)
    keys, tracing = Keys(store, clock, ledger=audit), tracing_of(settings)
    gate = Gate(opened.tenant, *_credentials(settings, keys, clock))
    app = FastAPI(
        title="Remanence",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        telemetry=NOT_FASTAPIS,
    )
    app.state.settings, app.state.tenants, app.state.calls = settings, tenants, calls
    app.state.gate, app.state.keys, app.state.audit = gate, keys, audit
    app.state.metrics, app.state.closing = metrics, []
    app.state.telling, app.state.told = asyncio.Lock(), None
    app.state.writes, app.state.office = Writes(), Office(store, clock)
    app.state.door = Door(
        tenants,
        recorder=audit,
        redact=redactor(settings.redact) if settings.redact else None,
        watch=_Operations(metrics, app.state.writes, tracing),
        once=Once(store, clock),
        office=app.state.office,
    )
    app.state.closing.append(lambda _: app.state.office.open())
    app.state.closing.append(lambda _: trimming())
    app.state.closing.append(lambda _: regularly(USES_S, tenants.write_uses))
    _add_dialects(app)
    _add_problems(app)
    app.add_middleware(ForTenants)
    app.add_middleware(
        Guard,
        settings=settings,
        gate=gate,
        limits=Limits(settings.rate_limit),
        witness=_Watch(metrics, audit),
    )
    if pages := allowed_origins(settings):
        app.add_middleware(CORSMiddleware, allow_origins=sorted(pages), **_CORS)
    if tracing is not None:
        tracing.trace(app)
    return app


def memory_settings(settings: Settings) -> dict[str, Any]:
    """The settings as a memory takes them."""
    given = {each.name: getattr(settings, each.name) for each in fields(settings)}
    return {name: value for name, value in given.items() if name != "database"}


def _credentials(settings: Settings, keys: Keys, clock: Clock) -> list[Credentials]:
    found: list[Credentials] = [keys]
    if settings.jwt_issuer:
        from remanence.server.access.tokens import Tokens

        found.append(Tokens(settings, clock))
    return found


def _add_dialects(app: FastAPI) -> None:
    add_health(app)
    add_seeds(app)
    add_routes(app)
    add_also(app)
    add_transfers(app)
    add_jobs(app)
    add_admin(app)
    app.add_api_route(
        "/openapi.json", _openapi, methods=["GET"], include_in_schema=False, response_model=None
    )
    app.openapi = lambda: document(app)  # type: ignore[method-assign]
    add_mem0(app)
    add_proxy(app)
    mount_mcp(app)


def _add_problems(app: FastAPI) -> None:
    for kind in (RemanenceError, Misfit, HTTPException, Exception):
        app.add_exception_handler(kind, _problem)


async def _problem(request: Request, error: Exception) -> Response:
    id = getattr(request.state, "request_id", "")
    if isinstance(error, HTTPException):
        told = Problem(
            type="no-such-route" if error.status_code == 404 else "http",
            title=str(error.detail),
            status=error.status_code,
            detail=f"{error.detail}; /openapi.json lists what there is.",
            request_id=id,
        )
        headers = {name.lower(): value for name, value in (error.headers or {}).items()}
        if error.status_code == _NOT_ALLOWED:
            headers["allow"] = ", ".join(_methods(request))
    else:
        told, headers = problem_of(error, id), {}
    if told.status >= 500:
        route = getattr(request.scope.get("route"), "path", "unknown")  # no id, no label
        _log.error("%s failed", route, exc_info=error, extra={"fields": {"id": id}})
    if told.status == _TOO_LARGE:
        headers["connection"] = "close"  # the rest of it is not waited for
    if told.retry_s is not None:
        headers["retry-after"] = str(math.ceil(told.retry_s))
    body = orjson.dumps(told.body())
    return Response(body, status_code=told.status, media_type=MEDIA_TYPE, headers=headers)


def _methods(request: Request) -> list[str]:
    """The methods of the first path that fits, over all its routes."""
    fitting = [one for one in request.app.routes if one.matches(request.scope)[0] != Match.NONE]
    first = getattr(fitting[0], "path", None) if fitting else None
    same = [one for one in fitting if getattr(one, "path", None) == first]
    return sorted({method for one in same for method in getattr(one, "methods", None) or ()})


async def _openapi(request: Request) -> Response:
    """The document is made once; making it takes a while, and anybody may ask for it."""
    state = request.app.state
    async with state.telling:
        if state.told is None:
            make = partial(document, request.app)
            made = await state.calls.run(make, deadline=Deadline())
            state.told = orjson.dumps(made)
    return Response(state.told, media_type="application/json")


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Begin; and at the end finish what is under way before the memory is closed."""
    async with AsyncExitStack() as stack:
        stack.callback(app.state.tenants.close)
        stack.callback(app.state.audit.close)
        stack.callback(app.state.calls.close)
        openers: list[Callable[[FastAPI], Any]] = app.state.closing
        for opener in openers:
            await stack.enter_async_context(opener(app))
        yield
