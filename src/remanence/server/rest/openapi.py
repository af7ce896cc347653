"""Routes, and the OpenAPI document: made from the table of operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import Field, fields
from functools import cache
from typing import Any, get_type_hints

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remanence.api.schema import REF, Schema, Schemas, required, without_null
from remanence.api.verb import AnyVerb, Grant
from remanence.model.block import Block
from remanence.server.problems import MEDIA_TYPE
from remanence.version import __version__

SCHEMAS = Schemas()
PROBLEM: Schema = {
    "type": "object",
    "description": "What went wrong (RFC 9457).",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "request_id": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail", "request_id"],
}
REFUSALS = {
    400: "The request is not of the shape the API takes.",
    401: "A key is needed.",
    403: "The key, or the page it comes from, does not allow this.",
    404: "There is no such thing here.",
    409: "It conflicts with what is there.",
    412: "Somebody changed it meanwhile.",
    413: "The body is too large.",
    421: "The server does not go by that name.",
    422: "A value cannot be accepted.",
    429: "Too many calls.",
    502: "The language model does not answer.",
    503: "The store or the server is busy, or down.",
    507: "There is no space left.",
}
ABOUT = (
    "Long-term memory for AI agents. A key goes into `Authorization: Bearer …`; a server on "
    "loopback without keys needs none. Whatever may be repeated safely takes an "
    "`Idempotency-Key`. Errors are problem+json."
)
JSON = "application/json"
ID: Schema = {
    "schema": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9_.-]+$"}
}
ID_IN_PATH: Schema = {**ID, "name": "id", "in": "path", "required": True}
UNCHANGED: Schema = {"304": {"description": "It is still that."}}


def _header(name: str, about: str, **more: Any) -> Schema:
    told = {"name": name, "in": "header", "required": False, "description": about}
    return {**told, "schema": {"type": "string", **more}}


KEY_HEADER = _header(
    "Idempotency-Key",
    "The same key again repeats the first answer and writes nothing.",
    minLength=1,
    maxLength=128,
    pattern="^[!-~]+$",
)
MATCH_HEADER = _header(
    "If-Match", "Only if the block still has this ETag; else 412.", pattern='^"?[0-9]{1,15}"?$'
) | {"example": '"1"'}
NO_MATCH_HEADER = _header(
    "If-None-Match", "The ETag of what the caller has already; if it is still that, 304."
)


def tagged(route: AnyVerb) -> bool:
    """Whether `If-None-Match` counts."""
    return route.method == "GET" and route.response is Block


def told_of(route: AnyVerb) -> dict[str, Any]:
    """What the document says of a route: its words, and the schemas of what goes in and out."""
    content: Schema = {JSON: {"schema": SCHEMAS.of(route.response)}}
    if route.reports:
        content["text/event-stream"] = {"schema": {"type": "string"}}
    name, about = route.name.replace(".", "_"), route.summary.removesuffix(".")
    described = told(name, about, route.group.value, content)
    described["responses"] |= UNCHANGED if tagged(route) else {}
    described["description"] = f"{route.summary} {_needed(route)}"
    return described | extra_of(route)


def _needed(route: AnyVerb) -> str:
    """What a key must allow, in words."""
    needed = " and ".join(f"`{grant}`" for grant in Grant if grant in route.needs)
    if route.may_erase and not route.needs & {Grant.ERASE, Grant.ADMIN}:
        return f"Needs {needed}; to erase more than one memory, `{Grant.ERASE}` too."
    return f"Needs {needed}."


def refusals() -> Schema:
    """What may come back when it could not be done."""
    content = {MEDIA_TYPE: {"schema": {"$ref": f"{REF}Problem"}}}
    return {str(code): {"description": why, "content": content} for code, why in REFUSALS.items()}


def extra_of(route: AnyVerb) -> dict[str, Any]:
    """Parameters and body of a route."""
    asked = [each for each in fields(route.request) if each.name in route.asked]
    in_path = [each for each in asked if each.name in route.in_path]
    kind = route.request
    parameters = [parameter(kind, each, "path") for each in in_path]
    extra: dict[str, Any] = {}
    if route.in_query:
        rest = [each for each in asked if each.name not in route.in_path]
        parameters += [parameter(kind, each, "query") for each in rest]
    else:
        schema = SCHEMAS.request(kind, without=frozenset(route.in_path) | route.withheld)
        example: Schema = {"example": route.example} if route.example else {}
        extra["requestBody"] = body_schema(schema, **example)
    if route.writes:
        parameters.append(KEY_HEADER)
    if route.versioned:
        parameters.append(MATCH_HEADER)
    if tagged(route):
        parameters.append(NO_MATCH_HEADER)
    return extra | ({"parameters": parameters} if parameters else {})


def document(app: Starlette) -> dict[str, Any]:
    """The whole document, of the app's routes that something is told of."""
    paths: dict[str, Any] = {}
    for route in app.routes:
        if isinstance(route, ToldRoute) and route.told:
            at = paths.setdefault(route.path_format, {})
            at |= {method.lower(): dict(route.told) for method in sorted(route.methods or ())}
    made = {
        "openapi": "3.1.0",
        "info": {"title": "Remanence", "description": ABOUT, "version": __version__},
        "paths": paths,
        "components": {
            "schemas": SCHEMAS.components | {"Problem": PROBLEM},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}, {}],
    }
    add_links(made)
    return made


@cache
def types_of(request: type) -> Mapping[str, Any]:
    """The types of its fields."""
    return get_type_hints(request)


def parameter(request: type, each: Field[Any], where: str) -> Schema:
    """A field of a request as a parameter of a path or a query."""
    schema = without_null(SCHEMAS.field(each, types_of(request)[each.name]))
    about = schema.pop("description", "")
    told = {"name": each.name, "in": where, "required": where == "path" or required(each)}
    return told | (ID if where == "path" else {"schema": schema}) | {"description": about}


Endpoint = Callable[[Request], Awaitable[Response]]


class ToldRoute(Route):
    """A route; `told` is what the document says of it."""

    def __init__(
        self, path: str, endpoint: Endpoint, methods: Collection[str], told: Mapping[str, Any]
    ) -> None:
        super().__init__(path, endpoint, methods=list(methods), include_in_schema=bool(told))
        self.methods = set(methods)  # a GET brings no HEAD
        self.told = told


def add_route(
    app: Starlette, path: str, endpoint: Endpoint, *, methods: Collection[str], **told: Any
) -> None:
    """Give the app a route; one of which nothing is told stands in no document."""
    app.router.routes.append(ToldRoute(path, endpoint, methods, told))


def told(
    id: str,
    about: str,
    tag: str,
    answer: type | Schema,
    *,
    parameters: Sequence[Schema] = (),
    body: Schema | None = None,
) -> dict[str, Any]:
    """What the document says of a route that is no operation: of its answer, by type or media."""
    content = answer if isinstance(answer, dict) else {JSON: {"schema": SCHEMAS.of(answer)}}
    extra: dict[str, Any] = {"parameters": list(parameters)} if parameters else {}
    return {
        "operationId": id,
        "summary": about,
        "tags": [tag],
        "responses": {"200": {"description": "Done.", "content": content}, **refusals()},
        **(extra if body is None else extra | {"requestBody": body}),
    }


def body_schema(schema: Schema, media: str = JSON, **more: Any) -> Schema:
    """A body of this schema; it may be left out where it needs nothing."""
    content = {media: {"schema": schema, **more}}
    return {"required": bool(schema.get("required") or media != JSON), "content": content}


ID_IN = {"id": "$response.body#/id"}
FIRST = {"id": "$response.body#/memories/0/id"}
RUN = {"id": "$response.body#/runs/0/id"}
PREFIX = {"prefix": "$response.body#/about/prefix"}
BLOCK = {"label": "$response.body#/label", "user_id": "$request.body#/user_id"}
OF_MEMORY = ("get", "update", "pin", "history", "sources", "related", "feedback", "erase")
OF_FACT = ("facts_get", "facts_confirm", "facts_correct", "facts_retract")
OF_RUN = ("sleep_show", "sleep_undo", "sleep_cancel")
OF_BLOCK = ("blocks_get", "blocks_history", "blocks_diff", "blocks_delete")
OF_SNAPSHOT = ("snapshots_get", "snapshots_diff", "snapshots_delete")
OF_NODE = ("graph_get", "graph_timeline", "graph_mentions", "graph_neighbours", "graph_erase")
NAMED = {"name": "$response.body#/name", "user_id": "$request.body#/user_id"}
OF_KEY = ("admin_rotate", "admin_revoke")

# By operation: what follows, and where its parameters stand.
LINKS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "add": (OF_MEMORY, ID_IN),
    "memory_store": (OF_MEMORY, ID_IN),
    "add_many": (OF_MEMORY, FIRST),
    "add_messages": (OF_MEMORY, FIRST),
    "find": (OF_MEMORY, FIRST),
    "find_all": (OF_MEMORY, FIRST),
    "facts_add": (OF_FACT, ID_IN),
    "facts_find": (OF_FACT, {"id": "$response.body#/facts/0/id"}),
    "sleep_run": (OF_RUN, RUN),
    "sleep_log": (OF_RUN, RUN),
    "memory_consolidate": (OF_RUN, RUN),
    "blocks_create": (OF_BLOCK, BLOCK),
    "snapshots_take": (OF_SNAPSHOT, NAMED),
    "graph_add": (OF_NODE, NAMED),
    "erasures_list": (("erasures_get",), {"id": "$response.body#/erasures/0/id"}),
    "admin_create": (OF_KEY, PREFIX),
}


def add_links(document: dict[str, Any]) -> None:
    """Tell in an OpenAPI document what follows on each answer."""
    told = (operation for path in document["paths"].values() for operation in path.values())
    for operation in told:
        following, parameters = LINKS.get(operation["operationId"], ((), {}))
        links = {each: {"operationId": each, "parameters": dict(parameters)} for each in following}
        if links:
            operation["responses"]["200"]["links"] = links
