"""The four short paths: store, retrieve, consolidate, stats."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import orjson
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from remanence.model.memory import Json
from remanence.operations.bounds import LIMIT
from remanence.operations.operation import given
from remanence.operations.reading import Misfit, read
from remanence.operations.recalling import Search
from remanence.operations.remembering import Add
from remanence.operations.rendering import plain
from remanence.operations.responses import Found
from remanence.operations.routes import route_of
from remanence.operations.schema import Schema
from remanence.operations.scopes import Place
from remanence.operations.sleep import Asleep
from remanence.server.access.caller import Caller
from remanence.server.door import Door
from remanence.server.rest import openapi
from remanence.server.rest.asking import body_of, from_query, key_of
from remanence.server.rest.router import JSON, answered, checked, rendered

TAG = "In short"
LONGEST_Q = 4_000  # of four bytes each, written with percent signs, still fit into an address


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(Place):
    """A question in short."""

    q: str = given("the question, in plain words", ...)
    k: int = given("how many memories", 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What was stored."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """One memory, in short."""

    id: str
    content: str
    score: float
    metadata: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Memories, best first."""

    memories: tuple[Retrieved, ...]


def add_seeds(app: FastAPI) -> None:
    """Add the four paths."""
    app.add_api_route("/memory/store", _store, methods=["POST"], **_told("store", _STORE))
    app.add_api_route("/memory/retrieve", _retrieve, methods=["GET"], **_told("retrieve", _ASK))
    app.add_api_route(
        "/memory/consolidate", _consolidate, methods=["POST"], **_told("consolidate", _SLEEP)
    )
    app.add_api_route("/memory/stats", _stats, methods=["GET"], **_told("stats", {}))


async def _store(request: Request) -> Response:
    await checked(request, route_of("add"))
    data = await body_of(request)
    for name in ("text", "content"):
        if name in data:
            raise Misfit(f"{name} is unknown; what to remember is called context here.")
    if not isinstance(data.get("context"), str):
        raise Misfit("context must be a text: what to remember.")
    text = data.pop("context")
    wanted = read(Add, {"importance": 0.5, **data, "text": text})
    key = key_of(request)
    if key and wanted.idempotency_key is None:
        wanted = read(Add, {"importance": 0.5, **data, "text": text, "idempotency_key": key})
    state = request.app.state
    body = await state.calls.run(_stored, state.door, request.state.caller, wanted)
    return Response(body, media_type=JSON)


def _stored(door: Door, caller: Caller, wanted: Add) -> bytes:
    record = door.perform(caller, route_of("add").operation, wanted)
    return rendered(Stored(id=record.id))


async def _retrieve(request: Request) -> Response:
    await checked(request, route_of("search"))
    ask = read(Ask, from_query(Ask, request))
    if len(ask.q) > LONGEST_Q:
        raise Misfit(f"q has more than {LONGEST_Q:,} characters; POST it to /v1/search.")
    wanted = Search(
        query=ask.q,
        limit=ask.k,
        user_id=ask.user_id,
        agent_id=ask.agent_id,
        session_id=ask.session_id,
    )
    state = request.app.state
    degraded, body = await state.calls.run(_retrieved, state.door, request.state.caller, wanted)
    headers = {"cache-control": "no-store"}
    if degraded:  # the answer has no place for it
        headers["x-memory-degraded"] = (
            " ".join("; ".join(degraded).split()).encode("ascii", "replace").decode()
        )
    return Response(body, media_type=JSON, headers=headers)


def _retrieved(door: Door, caller: Caller, wanted: Search) -> tuple[tuple[str, ...], bytes]:
    found: Found = door.perform(caller, route_of("search").operation, wanted)
    return found.degraded, orjson.dumps(
        {
            "memories": [
                {
                    "id": hit.memory.id,
                    "content": hit.memory.text,
                    "score": hit.relevance,
                    "metadata": _metadata(hit.memory),
                }
                for hit in found.hits
            ]
        }
    )


def _metadata(record: Any) -> Json:
    """The caller's own metadata, and what is known of the memory besides."""
    own = {
        "kind": record.kind,
        "importance": record.importance,
        "happened_at": record.happened_at,
        "speaker": record.speaker,
    }
    return plain({**own, **record.metadata})


async def _consolidate(request: Request) -> Response:
    await checked(request, route_of("sleep.run"))
    given = await body_of(request)
    wanted = read(Asleep, {"steps": ["consolidate"], **given})
    return await answered(route_of("sleep.run"), request, wanted)


async def _stats(request: Request) -> Response:
    await checked(request, route_of("stats"))
    if request.query_params:
        raise Misfit("stats takes no query.")
    return await answered(route_of("stats"), request, route_of("stats").operation.request())


def _store_body() -> Schema:
    schema = openapi.SCHEMAS.request(Add, without=frozenset({"text"}))
    context = {"type": "string", "minLength": 1, "description": "what to remember"}
    schema["properties"] = {"context": context, **schema["properties"]}
    schema["properties"]["importance"]["default"] = 0.5
    schema["required"] = ["context"]
    return schema


def _told(name: str, extra: Schema) -> dict[str, Any]:
    about, kind = _ABOUT[name]
    content = {JSON: {"schema": openapi.SCHEMAS.of(kind)}}
    if name == "consolidate":
        content["text/event-stream"] = {"schema": {"type": "string"}}
    return {
        "name": f"memory {name}",
        "operation_id": f"memory_{name}",
        "summary": about,
        "tags": [TAG],
        "response_model": None,
        "responses": {200: {"description": "Done.", "content": content}, **openapi.refusals()},
        "openapi_extra": extra,
    }


def _parameters() -> list[Schema]:
    told = [openapi.parameter(Ask, each, "query") for each in fields(Ask)]
    own = {"q": {"minLength": 1, "maxLength": LONGEST_Q}, "k": LIMIT}
    for one in told:
        one["schema"] |= own.get(one["name"], {})
    return told


def _body(schema: Schema, example: dict[str, Any], *, needed: bool) -> Schema:
    content = {JSON: {"schema": schema, "example": example}}
    body = {"required": needed, "content": content}
    return {"requestBody": body, "parameters": [openapi.KEY_HEADER]}


_ABOUT: dict[str, tuple[str, type]] = {
    "store": ("Remember a text", Stored),
    "retrieve": ("Find the memories that answer a question", Retrieval),
    "consolidate": (
        "Merge what says the same, and summarise",
        route_of("sleep.run").operation.response,
    ),
    "stats": ("Show counts, growth and sizes", route_of("stats").operation.response),
}
_STORE = _body(_store_body(), {"context": "Ana moved to Lisbon", "importance": 0.8}, needed=True)
_SLEEP = _body(openapi.SCHEMAS.request(Asleep), {}, needed=False)
_ASK: Schema = {"parameters": _parameters()}
