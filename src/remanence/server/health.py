"""Whether the server is up, can write, and how it fares."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from remanence.api.verb import Grant
from remanence.api.verbs.table import VERBS
from remanence.config.assembly.models import missing_model
from remanence.errors import Forbidden, RemanenceError, StoreError, StoreUnavailable
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.server import observation
from remanence.server.rest import openapi
from remanence.server.rest.openapi import add_route
from remanence.version import __version__

JSON = "application/json"
TAG = "Server"
FRESH_S = 1.0
DEGRADED = {
    "type": "array",
    "items": {"type": "string"},
    "description": "What calls have to do without; `vectors` when the model is not there.",
}


def add_health(app: Starlette) -> None:
    """Add /health, /ready and /metrics."""
    app.state.readying, app.state.ready_until = asyncio.Lock(), 0.0
    for path, endpoint, about, more in (
        ("/health", _health, "Whether the process answers", {}),
        ("/ready", _ready, "Whether the store can be read and written", {"degraded": DEGRADED}),
    ):
        add_route(app, path, endpoint, methods=["GET"], **_described(path, about, more))
    text = {"text/plain": {"schema": {"type": "string"}}}
    told = openapi.told("metrics", "Figures for Prometheus", TAG, text)
    told["responses"]["200"]["description"] = "Figures."
    add_route(app, "/metrics", _metrics, methods=["GET"], **told)


async def _health(_: Request) -> Response:
    return _json({"status": "ok", "version": __version__})


async def _ready(request: Request) -> Response:
    """The answer holds for a second: anybody may ask, and it costs the store something."""
    state = request.app.state
    async with state.readying:
        if time.monotonic() >= state.ready_until:
            state.ready = await _readiness(request)
            state.ready_until = time.monotonic() + FRESH_S
    return Response(state.ready.body, status_code=state.ready.status_code, media_type=JSON)


async def _readiness(request: Request) -> Response:
    state = request.app.state
    try:
        memory = state.tenants.memory
        await state.calls.run(state.writes.check, memory.parts.store, memory.tenant)
    except RemanenceError:
        return _json({"status": "unavailable", "version": __version__}, status=503)
    lacking = ["vectors"] if missing_model(state.tenants.memory.settings) else []
    return _json({"status": "ready", "version": __version__, "degraded": lacking})


async def _metrics(request: Request) -> Response:
    """Of the whole store for its operator; for a tenant's admin, of the tenant."""
    state, caller = request.app.state, request.state.caller
    if caller.operator:
        told = await state.calls.run(state.metrics.told, state.tenants.memory, state.calls)
    elif caller.may(Grant.ADMIN):
        told = await state.calls.run(observation.told_of, state.door.memory(caller))
    else:
        raise Forbidden(
            "Figures of the whole store need a key made with `rem keys create --operator`, those "
            "of a tenant one with the scope `admin`."
        )
    return Response(told, media_type=observation.MEDIA_TYPE)


def _json(data: dict[str, Any], status: int = 200) -> Response:
    return Response(orjson.dumps(data), status_code=status, media_type=JSON)


def _described(path: str, about: str, more: dict[str, Any]) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {"status": {"type": "string"}, "version": {"type": "string"}, **more},
        "required": ["status", "version"],
    }
    told = openapi.told(path.removeprefix("/"), about, TAG, {JSON: {"schema": schema}})
    yes, wrong = told["responses"]["200"], told["responses"]["421"]
    told["responses"] = {
        "200": yes | {"description": "Yes."},
        "503": yes | {"description": "No."},
        "421": wrong,
    }
    return told


WRITES = frozenset(one.name for one in VERBS if one.writes)
FEW = 3  # failures in a row that are more than bad luck
RECENT_S = 15.0  # then calls are let in again, to see


class Writes:
    """Sees how writes end. What a caller did wrong says nothing of the store."""

    def __init__(self) -> None:
        self._known_good = False
        self._failures = 0
        self._failed_at = 0.0

    def saw(self, operation: str, error: BaseException | None) -> None:
        """One operation is over."""
        if operation not in WRITES:
            return
        if error is None:
            self._known_good, self._failures = True, 0
        elif isinstance(error, StoreError) or not isinstance(error, RemanenceError):
            self._known_good, self._failures = False, self._failures + 1
            self._failed_at = time.monotonic()

    def check(self, store: Store, tenant: str) -> None:
        """A `StoreError` if the store cannot be read, or not be written as far as is known."""
        store.archive.find(Reach(tenant=tenant), None, limit=1)
        if not self._known_good:
            store.archive.note_uses(tenant, ())
        if self._failures >= FEW and time.monotonic() - self._failed_at < RECENT_S:
            raise StoreUnavailable(f"The last {self._failures} writes failed; see the log.")
