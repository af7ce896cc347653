"""Long runs over HTTP: progress as server-sent events, then the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import orjson
from starlette.responses import StreamingResponse

from remanence.ports.store import Progress
from remanence.server.calls import Calls
from remanence.server.problems import problem_of

EVERY_S = 0.1  # between two reports at least
PULSE_S = 15.0  # a sign of life for whoever sits between
MEDIA_TYPE = "text/event-stream"


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
