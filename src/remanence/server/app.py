"""The server put together: one memory, one door, every dialect; and it sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from math import inf
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from remanence.api.memory import Memory
from remanence.api.service.memory import background_of
from remanence.config import Settings
from remanence.consolidation.schedules.worker import Runner
from remanence.language.redaction import redactor
from remanence.model.clock import Clock, SystemClock
from remanence.model.deadline import Deadline
from remanence.model.progress import Progress
from remanence.model.sleep import Run, Step
from remanence.server.access.audit import Audit
from remanence.server.access.gate import Credentials, Gate
from remanence.server.access.keys import Keys
from remanence.server.authorization import Door, Tenants
from remanence.server.executor import Calls
from remanence.server.health import Writes, add_health
from remanence.server.heap import regularly, trimming
from remanence.server.idempotency import Once
from remanence.server.jobs import Office
from remanence.server.mcp.mounting import mount_mcp
from remanence.server.mem0.routes import add_mem0
from remanence.server.middleware import Guard, allowed_origins
from remanence.server.observation import Metrics, Tracing, tracing_of
from remanence.server.proxy.routes import add_proxy
from remanence.server.rest.admin import add_admin
from remanence.server.rest.jobs import add_jobs
from remanence.server.rest.openapi import add_route, document
from remanence.server.rest.routes import add_aliases, add_routes
from remanence.server.rest.transfers import add_transfers

USES_S = 5.0  # how often it is written what searches returned
SLEEP_ENDS_S = 5.0  # how long the end waits for a step of sleep to come to its next batch
_CORS: dict[str, Any] = {
    "allow_methods": ["GET", "POST", "PUT", "PATCH", "DELETE"],
    "allow_headers": ["authorization", "content-type", "idempotency-key", "if-match", "x-api-key"],
    "expose_headers": ["etag", "x-request-id"],
}


def make_app(
    settings: Settings, memory: Memory | None = None, *, clock: Clock | None = None
) -> Starlette:
    """The server as an ASGI app. A memory that is given is used and closed with it."""
    opened = memory or Memory(settings.database_url, **memory_settings(settings))
    clock = clock or SystemClock()
    store = opened.parts.store
    tenants, calls = Tenants(opened), Calls(settings.calls, settings.call_timeout_s or None)
    audit, metrics = Audit(store, clock), Metrics(shared=settings.workers > 1)
    keys, tracing = Keys(store.documents, clock, ledger=audit), tracing_of(settings)
    gate = Gate(opened.tenant, *_credentials(settings, keys, clock))
    app = Starlette(lifespan=_lifespan)
    app.router.redirect_slashes = False
    app.state.settings, app.state.clock = settings, clock
    app.state.tenants, app.state.calls = tenants, calls
    app.state.gate, app.state.keys, app.state.audit = gate, keys, audit
    app.state.metrics, app.state.closing = metrics, []
    app.state.telling, app.state.told = asyncio.Lock(), None
    app.state.writes, app.state.office = Writes(), Office(store.documents, clock)
    app.state.door = Door(
        tenants,
        recorder=audit,
        redact=redactor(settings.redact) if settings.redact else None,
        watch=_watching(metrics, app.state.writes, tracing),
        once=Once(store.documents, clock),
        office=app.state.office,
    )
    app.state.closing.append(lambda _: app.state.office.open())
    app.state.closing.append(lambda _: trimming())
    app.state.closing.append(lambda _: regularly(USES_S, tenants.write_uses))
    opened.service.hear_of_runs = metrics.saw_run
    app.state.closing.append(_sleeping)
    _add_dialects(app)
    stack: ASGIApp = Guard(app, settings, gate, metrics=metrics, audit=audit)
    if pages := allowed_origins(settings):
        stack = CORSMiddleware(stack, allow_origins=sorted(pages), **_CORS)
    app.middleware_stack = stack if tracing is None else tracing.traced(app, stack)
    return app


def _watching(
    metrics: Metrics, writes: Writes, tracing: Tracing | None
) -> Callable[[str, float, BaseException | None], None]:
    """Figures of operations, as each is over."""

    def saw(operation: str, seconds: float, error: BaseException | None) -> None:
        writes.saw(operation, error)
        metrics.saw_operation(operation, seconds, error)
        if tracing is not None:
            tracing.saw(operation, seconds, error)

    return saw


def memory_settings(settings: Settings) -> dict[str, Any]:
    """The settings as a memory takes them; the server itself sees to the sleep of all tenants."""
    given = {each.name: getattr(settings, each.name) for each in fields(settings)}
    return {n: value for n, value in given.items() if n != "database"} | {"background": False}


def _credentials(settings: Settings, keys: Keys, clock: Clock) -> list[Credentials]:
    found: list[Credentials] = [keys]
    if settings.jwt_issuer:
        from remanence.server.access.tokens import Tokens

        found.append(Tokens(settings, clock))
    return found


def _add_dialects(app: Starlette) -> None:
    for add in (add_health, add_routes, add_aliases, add_transfers, add_jobs, add_admin):
        add(app)
    add_route(app, "/openapi.json", _openapi, methods=["GET"])
    for add in (add_mem0, add_proxy, mount_mcp):
        add(app)


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
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    """Begin; and at the end finish what is under way before the memory is closed."""
    async with AsyncExitStack() as stack:
        stack.callback(app.state.tenants.close)
        stack.callback(app.state.audit.close)
        stack.callback(app.state.calls.close)
        openers: list[Callable[[Starlette], Any]] = app.state.closing
        for opener in openers:
            await stack.enter_async_context(opener(app))
        yield


@dataclass(frozen=True, slots=True)
class _Giving:
    """Runs a tenant's steps on the threads for long work, where they give way to calls."""

    tenant: str
    tenants: Tenants
    calls: Calls
    loop: asyncio.AbstractEventLoop

    def run(self, step: Step, schedule: str, progress: Progress) -> Run | None:
        """Do one step; None if it is not done here."""
        work = partial(self._own().run, step, schedule, progress)
        doing = self.calls.run(work, long=True, who=self.tenant)
        return asyncio.run_coroutine_threadsafe(doing, self.loop).result()

    def done(self, schedule: str, since: datetime) -> Collection[Step]:
        """Steps of which a run for that schedule was begun at `since` or later and is over."""
        return self._own().done(schedule, since)

    def _own(self) -> Runner:
        return self.tenants.of(self.tenant).service.runner()


@asynccontextmanager
async def _sleeping(app: Starlette) -> AsyncIterator[None]:
    """Run schedules for as long as the server lives; a run under way ends at its next batch."""
    state = app.state
    if not state.settings.sleeps:
        yield
        return
    tenants, calls, loop = state.tenants, state.calls, asyncio.get_running_loop()
    background = background_of(
        tenants.memory.service,
        runner=lambda tenant: _Giving(tenant, tenants, calls, loop),
        last_active=lambda tenant: state.door.called.get(tenant, -inf),
        alert=state.metrics.saw_trouble,
    )
    tenants.memory.service.sleep_by_itself(background)
    try:
        yield
    finally:
        await asyncio.to_thread(background.stop, SLEEP_ENDS_S)
