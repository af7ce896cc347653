"""The paths of mem0's platform and of its self-hosted server; trailing slashes matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any, NoReturn

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from remanence.api.values import Misfit
from remanence.errors import RemanenceError
from remanence.server.mem0 import dialect, reads, writes
from remanence.server.mem0.dialect import Body, Mem0Desk, truth_of
from remanence.server.problems import RETRY_S, problem_of
from remanence.server.rest.asking import object_in
from remanence.server.rest.openapi import Endpoint, add_route

JSON = "application/json"
Work = Callable[..., Any]


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


def refused(request: Request) -> NoReturn:
    """Say why there is nothing at its path."""
    path = request.url.path
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
    """An endpoint that tells errors as mem0's client reads them: plain JSON, 400 for a value.

    The work gets what its parameters name: the desk, the request, its body, its query, a part of
    its path.
    """
    names = signature(work).parameters.keys()

    async def endpoint(request: Request) -> Response:
        try:
            state, body = request.app.state, object_in(await request.body())
            desk = Mem0Desk(door=state.door, caller=request.state.caller, clock=state.clock)
            given = {"desk": desk, "request": request, "body": body, **request.path_params}
            given["query"] = request.query_params
            do = partial(work, **{name: given[name] for name in names})
            return _json(await state.calls.run(do))
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


def _ping(desk: Mem0Desk) -> Any:
    tenant = desk.caller.tenant
    return {"status": "ok", "org_id": tenant, "project_id": tenant, "user_email": None}


def _page(desk: Mem0Desk, request: Request, body: Body, query: Body) -> Any:
    here = str(request.url.replace(query=""))
    return reads.page(desk, body, query.get("page"), query.get("page_size"), here)


def _delete(desk: Mem0Desk, id: str, query: Body) -> Any:
    linked = truth_of("delete_linked", query.get("delete_linked"))
    return writes.deleted(desk, id, linked=bool(linked))


def _added_here(desk: Mem0Desk, body: Body) -> Any:
    _, records = writes.stored(desk, body)
    return {"results": [dialect.added_of(one) for one in records]}


def _listed_here(desk: Mem0Desk, query: Body) -> Any:
    asked = dict(query)
    size = asked.pop("limit", asked.pop("top_k", None))
    return {"results": reads.page(desk, asked, None, size)["results"]}


def _updated_here(desk: Mem0Desk, id: str, body: Body) -> Any:
    writes.updated(desk, id, body)
    return {"message": "Memory updated successfully!"}


def _reset(desk: Mem0Desk) -> Any:
    writes.erased(desk, {"user_id": "*"})
    return {"message": "All memories reset"}


METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PATHS: Mapping[str, Mapping[str, Work]] = {
    "/v1/ping/": {"GET": _ping},
    "/v3/memories/add/": {"POST": writes.added},
    "/v3/memories/search/": {"POST": reads.searched},
    "/v3/memories/": {"POST": _page},
    "/v1/memories/{id}/history/": {"GET": reads.history},
    "/v1/memories/{id}/": {"GET": reads.one, "DELETE": _delete, "PUT": writes.updated},
    "/v1/memories/": {"DELETE": writes.deleted_all},
    "/v1/batch/": {"PUT": writes.updated_many, "DELETE": writes.deleted_many},
    "/v1/entities/": {"GET": writes.entities},
    "/v2/entities/{type}/{name:path}/": {"DELETE": writes.removed},
    "/v1/feedback/": {"POST": writes.judged},
    "/v1/events/": {"GET": writes.events},
    "/v1/event/{id}/": {"GET": writes.event},
    # the self-hosted server
    "/memories": {"POST": _added_here, "GET": _listed_here, "DELETE": writes.deleted_all},
    "/memories/{id}": {"GET": reads.one, "DELETE": _delete, "PUT": _updated_here},
    "/memories/{id}/history": {"GET": reads.history},
    "/search": {"POST": reads.searched},
    "/reset": {"POST": _reset},
    **dict.fromkeys(NOT_HERE_PATHS, dict.fromkeys(METHODS, refused)),
}
