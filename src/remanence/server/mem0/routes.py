"""The paths of mem0's platform and of its self-hosted server; trailing slashes matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from remanence.api.reading import Misfit
from remanence.errors import RemanenceError
from remanence.server.mem0 import dialect, reads, writes
from remanence.server.mem0.dialect import Body, Mem0Desk, truth_of
from remanence.server.problems import RETRY_S, problem_of
from remanence.server.rest.asking import object_in
from remanence.server.rest.openapi import Endpoint, add_route

JSON = "application/json"
Work = Callable[[Mem0Desk, Request, Body], Any]


NOT_HERE = 501
# mem0's tools show the reason of a 400; of our finer statuses they know nothing.
PLAINER: Mapping[int, int] = {422: 400}
NOT_HERE_PATHS: Mapping[str, str] = {
    "/api/v1/{rest:path}": "There are no organisations, projects, webhooks and sign-ups here: "
    "a key belongs to one tenant, and `rem keys create` makes one.",
    "/v1/exports/": "Exports by a schema are not made here; `rem export` gives everything.",
    "/v1/exports/get/": "Exports by a schema are not made here; `rem export` gives everything.",
    "/v1/summary/": "Summaries of an export are not made here; POST /v1/context gives a prompt.",
    "/v2/profiles/{rest:path}": "Profiles are not made here; GET /v1/facts/about knows a user.",
    "/v2/entities/user/{rest:path}/profile/": "Profiles are not made here; GET /v1/facts/about "
    "knows a user.",
    "/v1/agent-rush/{rest:path}": "This server has no public memories.",
    "/configure": "A server is configured where it runs, not by its callers; see the settings.",
}


class NotHere(RemanenceError):
    """A part of mem0's platform that this server does not have."""


def refused(path: str) -> NoReturn:
    """Say why there is nothing at this path."""
    for pattern, reason in NOT_HERE_PATHS.items():
        start, _, end = pattern.partition("{rest:path}")
        if path.startswith(start) and path.endswith(end):
            raise NotHere(reason)
    raise NotHere("This server does not have that part of mem0's platform.")


def add_mem0(app: Starlette) -> None:
    """Give the app mem0's paths."""
    for path, methods in PATHS.items():
        for method, work in methods.items():
            add_route(app, path, _endpoint(work), methods=[method])


def _endpoint(work: Work) -> Endpoint:
    """An endpoint that tells errors as mem0's client reads them: plain JSON, 400 for a value."""

    async def endpoint(request: Request) -> Response:
        try:
            state, body = request.app.state, object_in(await request.body())
            desk = Mem0Desk(door=state.door, caller=request.state.caller, clock=state.clock)
            return _json(await state.calls.run(work, desk, request, body))
        except (RemanenceError, Misfit) as error:
            return _told(error, getattr(request.state, "request_id", ""))

    return endpoint


def _told(error: RemanenceError | Misfit, id: str) -> Response:
    problem = problem_of(error, id)
    if problem.status >= 500 and not isinstance(error, NotHere):
        raise error  # the app logs it
    status = PLAINER.get(problem.status, problem.status)
    if isinstance(error, NotHere):
        status = NOT_HERE
    return _json(problem.body() | {"status": status}, status, problem.retry_s)


def _json(answer: Any, status: int = 200, retry_s: float | None = None) -> Response:
    headers = {"retry-after": str(RETRY_S)} if retry_s is not None and status == 503 else None
    return Response(orjson.dumps(answer), status, headers, JSON)


def _ping(desk: Mem0Desk, request: Request, body: Body) -> Any:
    tenant = desk.caller.tenant
    return {"status": "ok", "org_id": tenant, "project_id": tenant, "user_email": None}


def _page(desk: Mem0Desk, request: Request, body: Body) -> Any:
    query = request.query_params
    return reads.page(
        desk, body, query.get("page"), query.get("page_size"), str(request.url.replace(query=""))
    )


def _delete(desk: Mem0Desk, request: Request, body: Body) -> Any:
    linked = truth_of("delete_linked", request.query_params.get("delete_linked"))
    return writes.deleted(desk, _id(request), linked=bool(linked))


def _added_here(desk: Mem0Desk, request: Request, body: Body) -> Any:
    _, records = writes.stored(desk, body)
    return {"results": [dialect.added_of(one) for one in records]}


def _listed_here(desk: Mem0Desk, request: Request, body: Body) -> Any:
    query = dict(request.query_params)
    size = query.pop("limit", query.pop("top_k", None))
    return {"results": reads.page(desk, query, None, size)["results"]}


def _updated_here(desk: Mem0Desk, request: Request, body: Body) -> Any:
    writes.updated(desk, _id(request), body)
    return {"message": "Memory updated successfully!"}


def _reset(desk: Mem0Desk, request: Request, body: Body) -> Any:
    writes.erased(desk, {"user_id": "*"})
    return {"message": "All memories reset"}


def _id(request: Request) -> str:
    return str(request.path_params["id"])


REFUSED: dict[str, Work] = dict.fromkeys(
    ("GET", "POST", "PUT", "PATCH", "DELETE"),
    lambda desk, request, body: refused(request.url.path),
)
DELETE_ALL: dict[str, Work] = {
    "DELETE": lambda desk, request, body: writes.deleted_all(desk, request.query_params),
}
ONE: dict[str, Work] = {
    "GET": lambda desk, request, body: reads.one(desk, _id(request)),
    "DELETE": _delete,
}
HISTORY: dict[str, Work] = {
    "GET": lambda desk, request, body: reads.history(desk, _id(request)),
}
SEARCH: dict[str, Work] = {
    "POST": lambda desk, request, body: reads.searched(desk, body),
}
PATHS: dict[str, dict[str, Work]] = {
    "/v1/ping/": {"GET": _ping},
    "/v3/memories/add/": {"POST": lambda desk, request, body: writes.added(desk, body)},
    "/v3/memories/search/": SEARCH,
    "/v3/memories/": {"POST": _page},
    "/v1/memories/{id}/history/": HISTORY,
    "/v1/memories/{id}/": ONE
    | {"PUT": lambda desk, request, body: writes.updated(desk, _id(request), body)},
    "/v1/memories/": DELETE_ALL,
    "/v1/batch/": {
        "PUT": lambda desk, request, body: writes.updated_many(desk, body),
        "DELETE": lambda desk, request, body: writes.deleted_many(desk, body),
    },
    "/v1/entities/": {"GET": lambda desk, request, body: writes.entities(desk)},
    "/v2/entities/{type}/{name:path}/": {
        "DELETE": lambda desk, request, body: writes.removed(desk, **request.path_params)
    },
    "/v1/feedback/": {"POST": lambda desk, request, body: writes.judged(desk, body)},
    "/v1/events/": {"GET": lambda desk, request, body: writes.events(desk)},
    "/v1/event/{id}/": {"GET": lambda desk, request, body: writes.event(desk, _id(request))},
    # the self-hosted server
    "/memories": {"POST": _added_here, "GET": _listed_here} | DELETE_ALL,
    "/memories/{id}": ONE | {"PUT": _updated_here},
    "/memories/{id}/history": HISTORY,
    "/search": SEARCH,
    "/reset": {"POST": _reset},
    **dict.fromkeys(NOT_HERE_PATHS, REFUSED),
}
