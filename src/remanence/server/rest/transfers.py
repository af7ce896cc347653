"""Whole memories in and out, as streams of JSON lines."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from tempfile import TemporaryFile
from threading import Thread
from typing import Any, BinaryIO

import anyio
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from remanence.errors import Forbidden
from remanence.operations.reading import Misfit
from remanence.operations.rendering import dumped
from remanence.operations.routes import Grant
from remanence.operations.schema import Schema
from remanence.server.access.caller import Caller
from remanence.server.door import Door
from remanence.server.rest import openapi
from remanence.transfer import export_memory, import_memory
from remanence.transfer.importing import Imported

LINES = "application/x-ndjson"
PIECE = 256 * 1024


def add_transfers(app: FastAPI) -> None:
    """Add /v1/export and /v1/import."""
    content: Schema = {LINES: {"schema": {"type": "string"}}}
    app.add_api_route(
        "/v1/export",
        _export,
        methods=["GET"],
        operation_id="export",
        **_told("Write out everything of the tenant, a JSON line at a time", content),
    )
    body = {"required": True, "content": {LINES: {"schema": {"type": "string", "minLength": 1}}}}
    done = {"application/json": {"schema": openapi.SCHEMAS.of(Imported)}}
    app.add_api_route(
        "/v1/import",
        _import,
        methods=["POST"],
        operation_id="import",
        **_told("Read in what was written out", done),
        openapi_extra={"requestBody": body},
    )


async def _export(request: Request) -> Response:
    caller = _check(request, Grant.READ)
    door: Door = request.app.state.door
    memory = door.memory(caller)
    request.app.state.audit.record(caller, "export", {})
    source, target = os.pipe()
    failed: list[BaseException] = []

    def write() -> None:
        try:
            with os.fdopen(target, "wb") as file:
                export_memory(memory, file)
        except BrokenPipeError:
            return  # whoever read it has gone
        except BaseException as error:
            failed.append(error)

    writer = Thread(target=write, name="export", daemon=True)
    writer.start()
    return StreamingResponse(_pieces(source, failed), media_type=LINES)


async def _pieces(source: int, failed: list[BaseException]) -> AsyncIterator[bytes]:
    """What is written, as it comes. One that failed ends without its last line, so it shows."""
    with os.fdopen(source, "rb", buffering=0) as file:
        while piece := await anyio.to_thread.run_sync(file.read, PIECE):
            yield piece
    if failed:
        raise failed[0]


async def _import(request: Request) -> Response:
    caller = _check(request, Grant.WRITE)
    if caller.trust < 1 or caller.quarantine:
        raise Forbidden("An import brings its own trust along; it needs a key of full trust.")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (LINES, "application/jsonl", "application/octet-stream"):
        raise Misfit(f"The body must be an export, with the content type {LINES}.")
    state = request.app.state
    with TemporaryFile() as file:
        async for piece in request.stream():
            await anyio.to_thread.run_sync(file.write, piece)
        file.seek(0)
        state.audit.record(caller, "import", {})
        body = await state.calls.run(_imported, state.door, caller, file)
    return Response(body, media_type="application/json")


def _imported(door: Door, caller: Caller, file: BinaryIO) -> bytes:
    return dumped(import_memory(door.memory(caller), file)).encode()


def _check(request: Request, grant: Grant) -> Caller:
    caller: Caller = request.state.caller
    if not caller.may(grant):
        raise Forbidden(f"This needs a key with the scope `{grant}`.")
    if request.query_params:
        raise Misfit("This takes no query.")
    return caller


def _told(about: str, content: Schema) -> dict[str, Any]:
    return {
        "summary": about,
        "tags": ["Care"],
        "response_model": None,
        "responses": {200: {"description": "Done.", "content": content}, **openapi.refusals()},
    }
