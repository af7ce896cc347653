"""The routes under /v1, one for each operation of the table; and short paths to some of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields
from functools import partial
from hashlib import sha256
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from remanence.api.answers import SearchResult
from remanence.api.parameters import LIMIT, NAME, parameter
from remanence.api.schema import Schema
from remanence.api.values import Misfit, encoded, read
from remanence.api.verb import AnyVerb, Holds
from remanence.api.verbs.table import served, verb_of
from remanence.errors import Conflict, Forbidden
from remanence.model.block import Block
from remanence.model.hit import Hit
from remanence.model.memory import Json
from remanence.server.access.caller import Caller, authorise, rule_of
from remanence.server.authorization import Door
from remanence.server.idempotency import KeyTaken
from remanence.server.jobs import Running, Work
from remanence.server.problems import VersionPassed
from remanence.server.rest import openapi
from remanence.server.rest.asking import (
    IF_MATCH,
    KEY,
    answer_of,
    asked,
    body_of,
    from_query,
    key_of,
)
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


TAG = "In short"
NESTED = frozenset({"filters"})
ERASE = "Erase a memory for good; to archive it instead, POST to /v1/memories/forget."
LONGEST_Q = 4_000  # of four bytes each, written with percent signs, still fit into an address
_LIST = verb_of("find").at("GET /v1/memories")
_DELETE = verb_of("forget").at("DELETE /v1/memories/{id}")
_ADD, _SEARCH, _RUN, _STATS = map(verb_of, ("add", "search", "sleep.run", "stats"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A question in short."""

    user_id: str | None = parameter("the user whose memory it is", bounds=NAME)
    agent_id: str | None = parameter("the agent it belongs to", bounds=NAME)
    session_id: str | None = parameter("the conversation it belongs to", bounds=NAME)
    q: str = parameter(
        "the question, in plain words", ..., bounds={"minLength": 1, "maxLength": LONGEST_Q}
    )
    k: int = parameter("how many memories", 5, bounds=LIMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMemory:
    """What was stored."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedMemory:
    """One memory, in short."""

    id: str
    content: str
    score: float
    metadata: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Memories, best first."""

    memories: tuple[RetrievedMemory, ...]


def add_aliases(app: Starlette) -> None:
    """Add the two that everybody tries first, and the four of old.

    What was deleted is not there any more, so that erases; forgetting can be undone.
    """
    asked = [each for each in fields(_LIST.request) if each.name not in NESTED]
    listed = [openapi.parameter(_LIST.request, each, "query") for each in asked]
    told = openapi.told_of(_LIST) | {"operationId": "find_all", "parameters": listed}
    add_route(app, _LIST.path, endpoint_of(_LIST, _listing), methods=["GET"], **told)
    told = openapi.told_of(_DELETE) | {"operationId": "erase", "summary": ERASE}
    told["parameters"] = [openapi.ID_IN_PATH]
    run = openapi.body_schema(openapi.SCHEMAS.request(_RUN.request), example={})
    add_route(app, _DELETE.path, endpoint_of(_DELETE, _erasure), methods=["DELETE"], **told)
    for name, method, endpoint, about, answer, extra in (
        ("store", "POST", _store, "Remember a text", StoredMemory, _store_body()),
        ("retrieve", "GET", _retrieve, "Find the memories that answer a question", Retrieval, None),
        ("consolidate", "POST", endpoint_of(_RUN, _consolidation), _MERGE, _RUN.response, run),
        ("stats", "GET", endpoint_of(_STATS, _nothing), _FIGURES, _STATS.response, None),
    ):
        told = openapi.told(f"memory_{name}", about, TAG, answer, body=extra)
        if extra is not None:
            told["parameters"] = [openapi.KEY_HEADER]
        if name == "retrieve":
            told["parameters"] = [openapi.parameter(Ask, each, "query") for each in fields(Ask)]
        if name == "consolidate":
            events = {"text/event-stream": {"schema": {"type": "string"}}}
            told["responses"]["200"]["content"] |= events
        add_route(app, f"/memory/{name}", endpoint, methods=[method], **told)


async def _listing(route: AnyVerb, request: Request) -> Any:
    return read(route.request, from_query(route.request, request, without=NESTED))


async def _erasure(route: AnyVerb, request: Request) -> Any:
    if request.query_params:
        raise Misfit("DELETE takes no query: it erases the memory that the path names.")
    return route.request(id=(request.path_params["id"],), erase=True)


async def _consolidation(route: AnyVerb, request: Request) -> Any:
    return read(route.request, {"steps": ["consolidate"], **await body_of(request)})


async def _nothing(route: AnyVerb, request: Request) -> Any:
    if request.query_params:
        raise Misfit("stats takes no query.")
    return route.request()


async def _store(request: Request) -> Response:
    state, caller = request.app.state, request.state.caller
    authorise(caller, _ADD)
    data = await body_of(request)
    for name in ("text", "content"):
        if name in data:
            raise Misfit(f"{name} is unknown; what to remember is called context here.")
    if not isinstance(data.get("context"), str):
        raise Misfit("context must be a text: what to remember.")
    text = data.pop("context")
    given = {"importance": 0.5, **data, "text": text}
    key = key_of(request)
    if key and given.get("idempotency_key") is None:
        given["idempotency_key"] = key
    record = await state.calls.run(state.door.perform, caller, _ADD, read(_ADD.request, given))
    return Response(encoded(StoredMemory(id=record.id)), media_type=JSON)


async def _retrieve(request: Request) -> Response:
    state, caller = request.app.state, request.state.caller
    authorise(caller, _SEARCH)
    ask = read(Ask, from_query(Ask, request))
    if len(ask.q) > LONGEST_Q:
        raise Misfit(f"q has more than {LONGEST_Q:,} characters; POST it to /v1/search.")
    whose = {name: getattr(ask, name) for name in ("user_id", "agent_id", "session_id")}
    wanted = _SEARCH.request(query=ask.q, limit=ask.k, **whose)
    degraded, answer = await state.calls.run(_retrieved, state.door, caller, wanted)
    told = " ".join("; ".join(degraded).split()).encode("ascii", "replace").decode()
    # The answer has no place for it.
    return answer_of(answer, headers={"x-memory-degraded": told} if degraded else None)


def _retrieved(door: Door, caller: Caller, wanted: Any) -> tuple[tuple[str, ...], Retrieval]:
    found: SearchResult = door.perform(caller, _SEARCH, wanted)
    return found.degraded, Retrieval(memories=tuple(map(_in_short, found.hits)))


def _in_short(hit: Hit) -> RetrievedMemory:
    """A memory with the caller's own metadata, and what is known of it besides."""
    one = hit.memory
    known = {name: getattr(one, name) for name in ("kind", "importance", "happened_at", "speaker")}
    told = {**known, **one.metadata}
    return RetrievedMemory(id=one.id, content=one.text, score=hit.relevance, metadata=told)


def _store_body() -> Schema:
    schema = openapi.SCHEMAS.request(_ADD.request, without=frozenset({"text"}))
    context = {"type": "string", "minLength": 1, "description": "what to remember"}
    schema["properties"] = {"context": context, **schema["properties"]}
    schema["properties"]["importance"]["default"] = 0.5
    schema["required"] = ["context"]
    example = {"context": "Ana moved to Lisbon", "importance": 0.8}
    return openapi.body_schema(schema, example=example)


_MERGE, _FIGURES = "Merge what says the same, and summarise", "Show counts, growth and sizes"
