"""Whether the server is up, ready, and how it fares."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import orjson
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from remanence.errors import Forbidden, RemanenceError
from remanence.operations.routes import Grant
from remanence.server import metrics
from remanence.server.rest.openapi import refusals
from remanence.version import __version__
from remanence.wiring.embedders import missing_model

JSON = "application/json"
TAG = "Server"
FRESH_S = 1.0
DEGRADED = {
    "type": "array",
    "items": {"type": "string"},
    "description": "What calls have to do without; `vectors` when the model is not there.",
}


def add_health(app: FastAPI) -> None:
    """Add /health, /ready and /metrics."""
    app.state.readying, app.state.ready_until = asyncio.Lock(), 0.0
    for path, endpoint, about, more in (
        ("/health", _health, "Whether the process answers", {}),
        (
            "/ready",
            _ready,
            "Whether the store can be read and written",
            {"degraded": DEGRADED},
        ),
    ):
        app.add_api_route(path, endpoint, methods=["GET"], **_told(about, more))
    responses: dict[int | str, dict[str, Any]] = {
        200: {"description": "Figures.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    }
    app.add_api_route(
        "/metrics",
        _metrics,
        methods=["GET"],
        response_model=None,
        summary="Figures for Prometheus",
        tags=[TAG],
        responses=responses | refusals(),
    )


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
        told = await state.calls.run(metrics.told_of, state.door.memory(caller))
    else:
        raise Forbidden(
            "Figures of the whole store need a key made with `rem keys create --operator`, those "
            "of a tenant one with the scope `admin`."
        )
    return Response(told, media_type=metrics.MEDIA_TYPE)


def _json(data: dict[str, Any], status: int = 200) -> Response:
    return Response(orjson.dumps(data), status_code=status, media_type=JSON)


def _told(about: str, more: dict[str, Any]) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {"status": {"type": "string"}, "version": {"type": "string"}, **more},
        "required": ["status", "version"],
    }
    content = {JSON: {"schema": schema}}
    return {
        "summary": about,
        "tags": [TAG],
        "response_model": None,
        "responses": {
            200: {"description": "Yes.", "content": content},
            503: {"description": "No.", "content": content},
            421: refusals()[421],
        },
    }
