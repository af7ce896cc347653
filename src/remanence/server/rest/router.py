"""The routes under /v1, one for each operation of the table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from hashlib import sha256
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from remanence.api.rendering import encoded
from remanence.api.verb import AnyVerb, Holds
from remanence.api.verbs.table import served
from remanence.errors import Conflict, Forbidden
from remanence.model.block import Block
from remanence.server.access.caller import Caller, authorise, rule_of
from remanence.server.authorization import Door
from remanence.server.idempotency import KeyTaken
from remanence.server.jobs import Running, Work
from remanence.server.problems import VersionPassed
from remanence.server.rest import openapi
from remanence.server.rest.asking import IF_MATCH, KEY, asked, key_of
from remanence.server.rest.jobs import MEDIA_TYPE, Kept, begun, events, wants_a_job
from remanence.server.rest.openapi import JSON, Endpoint, add_route

Read = Callable[[AnyVerb, Request], Awaitable[Any]]


def add_routes(app: Starlette) -> None:
    """Give the app a route for every operation that may be called from outside."""
    for route in served():
        told = openapi.told_of(route)
        add_route(app, route.path, endpoint_of(route), methods=[route.method], **told)


def endpoint_of(route: AnyVerb, read: Read = asked) -> Endpoint:
    """What answers at a route: as JSON or, where it is long at work, by a job or as events."""
    rule = rule_of(route)

    async def endpoint(request: Request) -> Response:
        state, caller, headers = request.app.state, request.state.caller, request.headers
        try:
            authorise(caller, route)
        except Forbidden:
            if rule.grave:  # it leaves a trace
                await state.calls.run(state.door.refused, caller, route)
            raise
        wanted = await read(route, request)
        try:
            if "prefer" in headers and wants_a_job(request):
                check = partial(state.door.check, caller, route, wanted)
                do = partial(_in_a_job, state.door, caller, route, wanted)
                return await begun(request, Work.of(route), do, check)
            perform = partial(state.door.perform, caller, route, wanted, as_json=True)
            if route.reports and MEDIA_TYPE in headers.get("accept", ""):
                return events(state.calls, perform, request.state.request_id)
            if KEY in headers and _keeps_answers(route, wanted):
                key = key_of(request) or ""
                perform = partial(_once, state.door, caller, route, wanted, key)
            long = rule.lasts and route.takes_long(wanted)
            return _response(route, request, await state.calls.run(perform, long=long))
        except Conflict as error:
            if IF_MATCH in headers and not isinstance(error, KeyTaken):
                raise VersionPassed(str(error)) from error
            raise

    endpoint.__name__ = route.name.replace(".", "_")
    return endpoint


def _keeps_answers(route: AnyVerb, wanted: Any) -> bool:
    """Whether it is the server that answers a repeated key; else the memory itself does."""
    return route.writes and not hasattr(wanted, "idempotency_key")


def _in_a_job(
    door: Door, caller: Caller, route: AnyVerb, wanted: Any, job: Running, key: str | None
) -> Kept:
    """Do it, and keep the answer where it tells nothing that was just erased."""
    if key and _keeps_answers(route, wanted):
        return _once(door, caller, route, wanted, key), False
    erases = route.erases(door.memory(caller), wanted)
    answer = door.perform(caller, route, wanted, job.report)
    if erases and route.holds is not Holds.FIGURES:
        answer = route.bare(answer) if route.bare else None
    return None if answer is None else encoded(answer), erases


def _once(door: Door, caller: Caller, route: AnyVerb, wanted: Any, key: str) -> bytes:
    """The same as the first time, if the key has been seen; what erases keeps no answer."""
    work = partial(door.perform, caller, route, wanted, as_json=True)
    if door.once is None or route.destructive:
        return bytes(work())
    told = route.name.encode() + b"\n" + encoded(wanted)
    own = sha256(f"{caller.name}\n{key}".encode()).hexdigest()
    return door.once.run(caller.tenant, own, told, work)


def _response(route: AnyVerb, request: Request, body: bytes) -> Response:
    headers: dict[str, str] = {}
    if route.response is Block:
        tag = f'"{orjson.loads(body)["version"]}"'
        headers = {"etag": tag, "cache-control": "no-cache"}
        wanted = request.headers.get("if-none-match")
        known = {one.strip().removeprefix("W/") for one in (wanted or "").split(",")}
        if openapi.tagged(route) and (tag in known or known == {"*"}):
            return Response(status_code=304, headers=headers)
    return Response(body, media_type=JSON, headers=headers)
