"""The paths of mem0's platform and of its self-hosted server; trailing slashes matter."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from remanence.clock import Clock, SystemClock
from remanence.errors import RemanenceError
from remanence.operations.reading import Misfit
from remanence.server.mem0 import (
    adding,
    asking,
    changing,
    deleting,
    entities,
    listing,
    refusing,
    searching,
    told,
)
from remanence.server.mem0.desk import Body, Desk
from remanence.server.mem0.given import truth_of
from remanence.server.problems import RETRY_S, problem_of

JSON = "application/json"
Work = Callable[[Desk, Request, Body], Any]


def add_mem0(app: FastAPI, *, clock: Clock | None = None) -> None:
    """Give the app mem0's paths."""
    app.state.mem0_clock = clock or SystemClock()
    router = APIRouter(route_class=Mem0Route)
    for path, methods in PATHS.items():
        for method, work in methods.items():
            router.add_api_route(
                path,
                _endpoint(work),
                methods=[method],
                include_in_schema=False,
                response_model=None,
            )
    app.include_router(router)


class Mem0Route(APIRoute):
    """Tells errors as mem0's client reads them: plain JSON, and 400 for a bad value."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The endpoint, with its errors answered."""
        answer = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await answer(request)
            except (RemanenceError, Misfit) as error:
                problem = problem_of(error, getattr(request.state, "request_id", ""))
                if problem.status >= 500 and not isinstance(error, refusing.NotHere):
                    raise  # the app logs it
                status = refusing.STATUSES.get(problem.status, problem.status)
                if isinstance(error, refusing.NotHere):
                    status = refusing.NOT_HERE
                return _json(problem.body() | {"status": status}, status, problem.retry_s)

        return answered


def _endpoint(work: Work) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    async def endpoint(request: Request) -> Response:
        state, body = request.app.state, await _body(request)
        desk = Desk(state.door, request.state.caller, state.mem0_clock)
        return _json(await state.calls.run(work, desk, request, body))

    return endpoint


def _json(answer: Any, status: int = 200, retry_s: float | None = None) -> Response:
    headers = {"cache-control": "no-store"}
    if retry_s is not None and status == 503:
        headers["retry-after"] = str(RETRY_S)
    return Response(orjson.dumps(answer), status_code=status, media_type=JSON, headers=headers)


async def _body(request: Request) -> Body:
    raw = await request.body()
    if not raw.strip():
        return {}
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Misfit(f"The body is not JSON: {error}.") from error
    if not isinstance(data, dict):
        raise Misfit("The body must be a JSON object.")
    return data


def _ping(desk: Desk, request: Request, body: Body) -> Any:
    tenant = desk.caller.tenant
    return {"status": "ok", "org_id": tenant, "project_id": tenant, "user_email": None}


def _page(desk: Desk, request: Request, body: Body) -> Any:
    query = request.query_params
    return listing.page(
        desk, body, query.get("page"), query.get("page_size"), str(request.url.replace(query=""))
    )


def _delete(desk: Desk, request: Request, body: Body) -> Any:
    linked = truth_of("delete_linked", request.query_params.get("delete_linked"))
    return deleting.deleted(desk, _id(request), linked=bool(linked))


def _delete_all(desk: Desk, request: Request, body: Body) -> Any:
    return deleting.deleted_all(desk, dict(request.query_params))


def _entity(desk: Desk, request: Request, body: Body) -> Any:
    return entities.removed(desk, request.path_params["type"], request.path_params["name"])


def _added_here(desk: Desk, request: Request, body: Body) -> Any:
    _, records = adding.stored(desk, body)
    return {"results": [told.added_of(one) for one in records]}


def _listed_here(desk: Desk, request: Request, body: Body) -> Any:
    query = dict(request.query_params)
    size = query.pop("limit", query.pop("top_k", None))
    return {"results": listing.page(desk, query, None, size)["results"]}


def _updated_here(desk: Desk, request: Request, body: Body) -> Any:
    changing.updated(desk, _id(request), body)
    return {"message": "Memory updated successfully!"}


def _reset(desk: Desk, request: Request, body: Body) -> Any:
    deleting.erased(desk, {"user_id": "*"})
    return {"message": "All memories reset"}


def _id(request: Request) -> str:
    return str(request.path_params["id"])


def _refused(desk: Desk, request: Request, body: Body) -> Any:
    raise refusing.refusal(request.url.path)


REFUSED: dict[str, Work] = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), _refused)
ONE: dict[str, Work] = {
    "GET": lambda desk, request, body: asking.one(desk, _id(request)),
    "DELETE": _delete,
}
HISTORY: dict[str, Work] = {
    "GET": lambda desk, request, body: asking.history(desk, _id(request)),
}
SEARCH: dict[str, Work] = {
    "POST": lambda desk, request, body: searching.searched(desk, body),
}
PATHS: dict[str, dict[str, Work]] = {
    "/v1/ping/": {"GET": _ping},
    "/v3/memories/add/": {"POST": lambda desk, request, body: adding.added(desk, body)},
    "/v3/memories/search/": SEARCH,
    "/v3/memories/": {"POST": _page},
    "/v1/memories/{id}/history/": HISTORY,
    "/v1/memories/{id}/": ONE
    | {"PUT": lambda desk, request, body: changing.updated(desk, _id(request), body)},
    "/v1/memories/": {"DELETE": _delete_all},
    "/v1/batch/": {
        "PUT": lambda desk, request, body: changing.updated_many(desk, body),
        "DELETE": lambda desk, request, body: deleting.deleted_many(desk, body),
    },
    "/v1/entities/": {"GET": lambda desk, request, body: entities.entities(desk)},
    "/v2/entities/{type}/{name:path}/": {"DELETE": _entity},
    "/v1/feedback/": {"POST": lambda desk, request, body: changing.judged(desk, body)},
    "/v1/events/": {"GET": lambda desk, request, body: adding.events(desk)},
    "/v1/event/{id}/": {"GET": lambda desk, request, body: adding.event(desk, _id(request))},
    # the self-hosted server
    "/memories": {"POST": _added_here, "GET": _listed_here, "DELETE": _delete_all},
    "/memories/{id}": ONE | {"PUT": _updated_here},
    "/memories/{id}/history": HISTORY,
    "/search": SEARCH,
    "/reset": {"POST": _reset},
    **dict.fromkeys(refusing.PATHS, REFUSED),
}
