"""The routes under /v1, one for each operation of the table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from hashlib import sha256
from typing import Any

import orjson
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from remanence.errors import Conflict, Forbidden
from remanence.model.block import Block
from remanence.operations.operation import Answer
from remanence.operations.rendering import encoded
from remanence.operations.routes import Route, routes
from remanence.ports.store import Progress
from remanence.server.access.caller import Caller, authorise
from remanence.server.door import Door, is_grave
from remanence.server.jobs import Running, Work
from remanence.server.once import KeyTaken
from remanence.server.problems import VersionPassed
from remanence.server.rest import openapi
from remanence.server.rest.asking import asked, key_of
from remanence.server.rest.jobs import begun, wants_a_job
from remanence.server.rest.streaming import MEDIA_TYPE, events

JSON = "application/json"
Endpoint = Callable[[Request], Awaitable[Response]]


def add_routes(app: FastAPI) -> None:
    """Give the app a route for every operation that may be called from outside."""
    for route in routes():
        app.add_api_route(
            route.path,
            endpoint_of(route),
            methods=[route.method],
            response_model=None,
            **openapi.told_of(route),
        )


def endpoint_of(route: Route) -> Endpoint:
    """What answers at a route."""

    async def endpoint(request: Request) -> Response:
        await checked(request, route)
        wanted = await asked(route, request)
        try:
            return await answered(route, request, wanted)
        except KeyTaken:
            raise
        except Conflict as error:
            if "if-match" in request.headers:
                raise VersionPassed(str(error)) from error
            raise

    endpoint.__name__ = route.operation.name.replace(".", "_")
    return endpoint


async def checked(request: Request, route: Route) -> None:
    """Refuse who may not, before anything of the body is read; grave deeds leave a trace."""
    try:
        authorise(request.state.caller, route.operation)
    except Forbidden:
        if is_grave(route.operation):
            state = request.app.state
            await state.calls.run(state.door.refused, request.state.caller, route.operation)
        raise


async def answered(route: Route, request: Request, wanted: Any) -> Response:
    """The answer to an operation's request, as JSON or, where it is long at work, as events."""
    state, caller = request.app.state, request.state.caller
    if wants_a_job(request):
        begin = partial(_begun, state, caller, route, wanted)
        return await begun(request, begin, partial(_in_a_job, state, caller, route, wanted))
    if route.operation.reports and MEDIA_TYPE in request.headers.get("accept", ""):
        work = partial(performed, state.door, caller, route, wanted)
        return events(state.calls, work, request.state.request_id)
    key, long = key_of(request), route.operation.takes_long(wanted)
    if key and route.operation.writes and not hasattr(wanted, "idempotency_key"):
        body = await state.calls.run(_once, state.door, caller, route, wanted, key, long=long)
    else:
        body = await state.calls.run(performed, state.door, caller, route, wanted, long=long)
    return _response(route, request, body)


def _begun(state: Any, caller: Caller, route: Route, wanted: Any) -> Running:
    state.door.check(caller, route.operation, wanted)
    job: Running = state.office.opened(caller, Work.of(route.operation))
    state.office.keep_place(job)
    return job


def _in_a_job(
    state: Any, caller: Caller, route: Route, wanted: Any, job: Running, key: str | None
) -> None:
    """Do it, and keep the answer where it tells nothing that was just erased."""
    door, operation = state.door, route.operation
    with state.office.at_work(caller, Work.of(operation), job):
        if key and operation.writes and not hasattr(wanted, "idempotency_key"):
            state.office.keep_answer(job, _once(door, caller, route, wanted, key))
            return
        erases = door.erases(caller, operation, wanted)
        answer = door.perform(caller, operation, wanted, job.report)
        if erases and operation.answers is not Answer.FIGURES:
            answer = operation.bare(answer) if operation.bare else None
        if answer is not None:
            state.office.keep_answer(job, rendered(answer), anew=erases)


def performed(
    door: Door, caller: Caller, route: Route, wanted: Any, progress: Progress | None = None
) -> bytes:
    """The operation's answer as the bytes of its JSON."""
    return rendered(door.perform(caller, route.operation, wanted, progress))


def rendered(answer: Any) -> bytes:
    """An answer as JSON; numbers that JSON cannot tell are null."""
    return encoded(answer)


def _once(door: Door, caller: Caller, route: Route, wanted: Any, key: str) -> bytes:
    """The same as the first time, if the key has been seen; what erases keeps no answer."""
    work = partial(performed, door, caller, route, wanted)
    if door.once is None or route.operation.destructive:
        return work()
    told = route.operation.name.encode() + b"\n" + rendered(wanted)
    own = sha256(f"{caller.name}\n{key}".encode()).hexdigest()
    return door.once.run(caller.tenant, own, told, work)


def _response(route: Route, request: Request, body: bytes) -> Response:
    headers: dict[str, str] = {"cache-control": "no-store"}
    if route.operation.response is Block:
        tag = f'"{orjson.loads(body)["version"]}"'
        headers = {"etag": tag, "cache-control": "no-cache"}
        wanted = request.headers.get("if-none-match")
        if openapi.tagged(route) and wanted and _matches(wanted, tag):
            return Response(status_code=304, headers=headers)
    return Response(body, media_type=JSON, headers=headers)


def _matches(wanted: str, tag: str) -> bool:
    told = [one.strip().removeprefix("W/") for one in wanted.split(",")]
    return told == ["*"] or tag in told
