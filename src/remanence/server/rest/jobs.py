"""What takes long, over HTTP: jobs that are begun, listed and cancelled, and progress as events."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, TypeAlias

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from remanence.api.values import Misfit
from remanence.errors import RemanenceError
from remanence.model.progress import Progress
from remanence.server.access.caller import Caller
from remanence.server.executor import Calls
from remanence.server.jobs import Job, Jobs, Office, Running, Work
from remanence.server.problems import problem_of
from remanence.server.rest import openapi
from remanence.server.rest.asking import answer_of, answering, key_of
from remanence.server.rest.openapi import add_route

PATH = "/v1/jobs"
JSON = "application/json"
_log = logging.getLogger("remanence.server")
EVERY_S = 0.1  # between two reports at least
PULSE_S = 15.0  # a sign of life for whoever sits between
MEDIA_TYPE = "text/event-stream"
RESPOND_ASYNC = "respond-async"

Kept: TypeAlias = tuple[bytes | None, bool]  # an answer; whether it is kept after an erasure too
Do: TypeAlias = Callable[[Running, str | None], Kept]


def add_jobs(app: Starlette) -> None:
    """Add the routes under /v1/jobs."""
    id, one, office = openapi.ID_IN_PATH, f"{PATH}/{{id}}", app.state.office
    for path, method, work, name, about, kind, parameters in (
        (PATH, "GET", office.list, "jobs", "List the work that takes long", Jobs, []),
        (one, "GET", office.get, "job", "Show a job, and its answer once done", Job, [id]),
        (one, "DELETE", office.cancel, "cancel_job", "Cancel a job", Job, [id]),
    ):
        told = openapi.told(name, about, "Jobs", kind, parameters=parameters)
        add_route(app, path, answering(work), methods=[method], **told)


def wants_a_job(request: Request) -> bool:
    """Whether the caller does not want to wait for the end."""
    wanted = ",".join(request.headers.getlist("prefer")).split(",")
    return any(one.partition(";")[0].strip().lower() == RESPOND_ASYNC for one in wanted)


async def begun(
    request: Request, work: Work, do: Do, check: Callable[[], None] | None = None
) -> Response:
    """The answer to who does not wait: which job it is; the work goes on by itself.

    `check` refuses at once what would be refused later; `do` gives the answer to be kept.
    """
    state, caller, key = request.app.state, request.state.caller, key_of(request)
    job: Running = await state.calls.run(_opened, state.office, caller, work, check)
    doing = partial(_done, state.office, caller, work, do, job, key)
    run = partial(state.calls.run, doing, long=True, deadline=job.deadline)
    state.office.hand_over(asyncio.ensure_future(_seen_through(state, job, run)))
    told = await state.calls.run(state.office.get, caller, job.id)
    headers = {"location": f"{PATH}/{job.id}", "preference-applied": RESPOND_ASYNC}
    return answer_of(told, 202, headers)


def _opened(
    office: Office, caller: Caller, work: Work, check: Callable[[], None] | None
) -> Running:
    if check is not None:
        check()
    job = office.opened(caller, work)
    office.keep_place(job)
    return job


def _done(
    office: Office, caller: Caller, work: Work, do: Do, job: Running, key: str | None
) -> None:
    with office.at_work(caller, work, job):
        answer, anew = do(job, key)
        if answer is not None:
            office.keep_answer(job, answer, anew=anew)


async def _seen_through(state: Any, job: Running, work: Callable[[], Any]) -> None:
    try:
        await work()
    except Exception as error:  # it is told where the job is
        if not isinstance(error, RemanenceError | Misfit):
            _log.error("The job %s failed", job.id, exc_info=error)
        await asyncio.to_thread(state.office.failed, job, error)


def events(calls: Calls, work: Callable[[Progress], bytes], request_id: str) -> StreamingResponse:
    """Do the work, telling how far it is; what was begun is finished though nobody listens."""
    return StreamingResponse(_told(calls, work, request_id), media_type=MEDIA_TYPE)


async def _told(
    calls: Calls, work: Callable[[Progress], bytes], request_id: str
) -> AsyncIterator[bytes]:
    reports: asyncio.Queue[bytes] = asyncio.Queue(maxsize=1_000)
    done = asyncio.ensure_future(calls.run(work, _reporter(reports), long=True))
    while not done.done():
        waiting = asyncio.ensure_future(reports.get())
        await asyncio.wait({waiting, done}, timeout=PULSE_S, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            yield waiting.result()
        else:
            waiting.cancel()
            if not done.done():
                yield b": still at it\n\n"
    while not reports.empty():
        yield reports.get_nowait()
    try:
        yield event("result", done.result())
    except Exception as error:
        yield event("error", orjson.dumps(problem_of(error, request_id).body()))


def event(name: str, data: bytes) -> bytes:
    """One event."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


def _reporter(reports: asyncio.Queue[bytes]) -> Progress:
    loop, last = asyncio.get_running_loop(), 0.0

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < EVERY_S and done < total:
            return
        last = now
        told: dict[str, Any] = {"done": done, "total": total}
        loop.call_soon_threadsafe(_offer, reports, event("progress", orjson.dumps(told)))

    return report


def _offer(reports: asyncio.Queue[bytes], one: bytes) -> None:
    if not reports.full():
        reports.put_nowait(one)
