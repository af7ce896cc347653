"""The OpenAPI document, made from the table of operations."""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any, get_type_hints

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from remanence.model.block import Block
from remanence.operations.blocks import Change
from remanence.operations.operation import Operation
from remanence.operations.routes import Grant, Route, asked_of, may_erase, needs
from remanence.operations.schema import REF, Schema, Schemas, required
from remanence.server.problems import MEDIA_TYPE
from remanence.server.rest.examples import EXAMPLES
from remanence.server.rest.links import add_links
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
ID: Schema = {
    "schema": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9_.-]+$"}
}
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "It is still that."}}
KEY_HEADER: Schema = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key again repeats the first answer and writes nothing.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
}
MATCH_HEADER: Schema = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "Only if the block still has this ETag; else 412.",
    "schema": {"type": "string", "pattern": '^"?[0-9]{1,15}"?$'},
    "example": '"1"',
}
NO_MATCH_HEADER: Schema = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The ETag of what the caller has already; if it is still that, 304.",
    "schema": {"type": "string"},
}


def versioned(operation: Operation) -> bool:
    """Whether `If-Match` counts."""
    return issubclass(operation.request, Change)


def tagged(route: Route) -> bool:
    """Whether `If-None-Match` counts."""
    return route.method == "GET" and route.operation.response is Block


def told_of(route: Route) -> dict[str, Any]:
    """What FastAPI is told of a route: its words, and the schemas of what goes in and out."""
    operation = route.operation
    return {
        "name": operation.name,
        "operation_id": operation.name.replace(".", "_"),
        "summary": operation.summary.removesuffix("."),
        "description": f"{operation.summary} {_needed(operation)}",
        "tags": [operation.group.value],
        "responses": answers(operation) | (UNCHANGED if tagged(route) else {}),
        "openapi_extra": extra_of(route),
    }


def _needed(operation: Operation) -> str:
    """What a key must allow, in words."""
    wanted = needs(operation)
    told = " and ".join(f"`{grant}`" for grant in Grant if grant in wanted)
    if may_erase(operation) and not wanted & {Grant.ERASE, Grant.ADMIN}:
        return f"Needs {told}; to erase more than one memory, `{Grant.ERASE}` too."
    return f"Needs {told}."


def answers(operation: Operation) -> dict[int | str, dict[str, Any]]:
    """What may come back, by status."""
    content: Schema = {"application/json": {"schema": SCHEMAS.of(operation.response)}}
    if operation.reports:
        content["text/event-stream"] = {"schema": {"type": "string"}}
    found: dict[int | str, dict[str, Any]] = {200: {"description": "Done.", "content": content}}
    return found | refusals()


def refusals() -> dict[int | str, dict[str, Any]]:
    """What may come back when it could not be done."""
    content = {MEDIA_TYPE: {"schema": {"$ref": f"{REF}Problem"}}}
    return {code: {"description": why, "content": content} for code, why in REFUSALS.items()}


def extra_of(route: Route) -> dict[str, Any]:
    """Parameters and body of a route."""
    asked = [each for each in fields(route.operation.request) if _stands(route, each)]
    in_path = [each for each in asked if each.name in route.in_path]
    rest = [each for each in asked if each.name not in route.in_path]
    kind = route.operation.request
    parameters = [parameter(kind, each, "path") for each in in_path]
    extra: dict[str, Any] = {}
    if route.in_query:
        parameters += [parameter(kind, each, "query") for each in rest]
    else:
        extra["requestBody"] = body(route, rest)
    if route.operation.writes:
        parameters.append(KEY_HEADER)
    if versioned(route.operation):
        parameters.append(MATCH_HEADER)
    if tagged(route):
        parameters.append(NO_MATCH_HEADER)
    return extra | ({"parameters": parameters} if parameters else {})


def body(route: Route, rest: list[Field[Any]]) -> Schema:
    """The JSON body of a route, with an example that works."""
    without = frozenset(route.in_path) | _withheld(route)
    schema = SCHEMAS.request(route.operation.request, without=without)
    content: Schema = {"schema": schema}
    if example := EXAMPLES.get(route.operation.name):
        content["example"] = example
    needed = any(required(each) for each in rest)
    return {"required": needed, "content": {"application/json": content}}


def document(app: FastAPI) -> dict[str, Any]:
    """The whole document; made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title="Remanence", version=__version__, description=ABOUT, routes=app.routes
        )
        components = made.setdefault("components", {})
        components.setdefault("schemas", {}).update(SCHEMAS.components | {"Problem": PROBLEM})
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"key": []}, {}]
        add_links(made)
        app.openapi_schema = made
    return app.openapi_schema


def _stands(route: Route, each: Field[Any]) -> bool:
    return each.name in asked_of(route.operation)


def _withheld(route: Route) -> frozenset[str]:
    known = {each.name for each in fields(route.operation.request)}
    return frozenset(known - set(asked_of(route.operation)))


def parameter(request: type, each: Field[Any], where: str) -> Schema:
    """A field of a request as a parameter of a path or a query."""
    schema = without_null(SCHEMAS.field(each, get_type_hints(request)[each.name]))
    about = schema.pop("description", "")
    told = {"name": each.name, "in": where, "required": where == "path" or required(each)}
    return told | (ID if where == "path" else {"schema": schema}) | {"description": about}


def without_null(schema: Schema) -> Schema:
    """A schema for a query, which has no null: a field is left out instead."""
    options = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    if not options:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**options[0], **rest} if len(options) == 1 else {"anyOf": options, **rest}
