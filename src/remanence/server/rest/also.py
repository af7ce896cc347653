"""Two routes that everybody tries first: list the memories, delete one.

What was deleted is not there any more, so this erases; forgetting can be undone, and has its own.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from remanence.operations.reading import Misfit, read
from remanence.operations.recalling import Find
from remanence.operations.remembering import Forget
from remanence.operations.routes import Route, route_of
from remanence.operations.schema import Schema
from remanence.server.rest import openapi
from remanence.server.rest.asking import from_query
from remanence.server.rest.router import answered, checked

LIST = Route(operation=route_of("find").operation, method="GET", path="/v1/memories")
DELETE = Route(operation=route_of("forget").operation, method="DELETE", path="/v1/memories/{id}")
NESTED = frozenset({"filters"})
ERASE = "Erase a memory for good; to archive it instead, POST to /v1/memories/forget."


def add_also(app: FastAPI) -> None:
    """Add both."""
    asked = [each for each in fields(Find) if each.name not in NESTED]
    listed = [openapi.parameter(Find, each, "query") for each in asked]
    id: Schema = {**openapi.ID, "name": "id", "in": "path", "required": True}
    app.add_api_route(
        LIST.path, _list, methods=["GET"], **_told(LIST, "find_all", {"parameters": listed})
    )
    app.add_api_route(
        DELETE.path,
        _delete,
        methods=["DELETE"],
        **_told(DELETE, "erase", {"parameters": [id]}) | {"summary": ERASE},
    )


async def _list(request: Request) -> Response:
    await checked(request, LIST)
    wanted = read(Find, from_query(Find, request, without=NESTED))
    return await answered(LIST, request, wanted)


async def _delete(request: Request) -> Response:
    await checked(request, DELETE)
    if request.query_params:
        raise Misfit("DELETE takes no query: it erases the memory that the path names.")
    return await answered(DELETE, request, Forget(id=(request.path_params["id"],), erase=True))


def _told(route: Route, id: str, extra: Schema) -> dict[str, Any]:
    told = openapi.told_of(route)
    return {**told, "operation_id": id, "openapi_extra": extra, "response_model": None}
