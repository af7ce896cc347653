"""Jobs over HTTP: begun with `Prefer: respond-async`, listed, looked at, cancelled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from remanence.errors import RemanenceError
from remanence.operations.reading import Misfit
from remanence.operations.rendering import encoded
from remanence.operations.schema import Schema
from remanence.server.jobs import Job, Jobs, Running
from remanence.server.rest import openapi
from remanence.server.rest.asking import key_of

PATH = "/v1/jobs"
JSON = "application/json"
_NO_MORE: Mapping[str, str] = {}
_log = logging.getLogger("remanence.server")
RESPOND_ASYNC = "respond-async"

Begin: TypeAlias = Callable[[], Running]
Do: TypeAlias = Callable[[Running, str | None], None]


def add_jobs(app: FastAPI) -> None:
    """Add the routes under /v1/jobs."""
    id: Schema = {**openapi.ID, "name": "id", "in": "path", "required": True}
    for path, method, endpoint, name, about, kind, parameters in (
        (PATH, "GET", _list, "jobs", "List the work that takes long", Jobs, []),
        (f"{PATH}/{{id}}", "GET", _get, "job", "Show a job, and its answer once done", Job, [id]),
        (f"{PATH}/{{id}}", "DELETE", _cancel, "cancel_job", "Cancel a job", Job, [id]),
    ):
        content = {JSON: {"schema": openapi.SCHEMAS.of(kind)}}
        app.add_api_route(
            path,
            endpoint,
            methods=[method],
            operation_id=name,
            summary=about,
            tags=["Jobs"],
            response_model=None,
            responses={200: {"description": "Done.", "content": content}, **openapi.refusals()},
            openapi_extra={"parameters": parameters} if parameters else {},
        )


def wants_a_job(request: Request) -> bool:
    """Whether the caller does not want to wait for the end."""
    wanted = ",".join(request.headers.getlist("prefer")).split(",")
    return any(one.partition(";")[0].strip().lower() == RESPOND_ASYNC for one in wanted)


async def begun(request: Request, begin: Begin, do: Do) -> Response:
    """The answer to who does not wait: which job it is; the work goes on by itself."""
    state, key = request.app.state, key_of(request)
    job: Running = await state.calls.run(begin)
    work = partial(state.calls.run, do, job, key, long=True, deadline=job.deadline)
    state.office.hand_over(asyncio.ensure_future(_seen_through(state, job, work)))
    told = await state.calls.run(state.office.get, request.state.caller, job.id)
    headers = {"location": f"{PATH}/{job.id}", "preference-applied": RESPOND_ASYNC}
    return _response(told, 202, headers)


async def _seen_through(state: Any, job: Running, work: Callable[[], Any]) -> None:
    try:
        await work()
    except Exception as error:  # it is told where the job is
        if not isinstance(error, RemanenceError | Misfit):
            _log.error("The job %s failed", job.id, exc_info=error)
        await asyncio.to_thread(state.office.failed, job, error)


async def _list(request: Request) -> Response:
    _check(request)
    office = request.app.state.office
    return _response(await request.app.state.calls.run(office.list, request.state.caller))


async def _get(request: Request) -> Response:
    _check(request)
    office, id = request.app.state.office, request.path_params["id"]
    return _response(await request.app.state.calls.run(office.get, request.state.caller, id))


async def _cancel(request: Request) -> Response:
    _check(request)
    office, id = request.app.state.office, request.path_params["id"]
    return _response(await request.app.state.calls.run(office.cancel, request.state.caller, id))


def _check(request: Request) -> None:
    if request.query_params:
        raise Misfit("This takes no query.")


def _response(
    told: Job | Jobs, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    body = encoded(told)
    given = {"cache-control": "no-store", **(headers or {})}
    return Response(body, status_code=status, media_type=JSON, headers=given)
