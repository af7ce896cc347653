"""Whole memories in and out, as streams of JSON lines."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from io import BufferedReader, BytesIO, RawIOBase
from tempfile import TemporaryFile
from threading import Thread
from typing import Any, BinaryIO, TypeAlias

import anyio
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from remanence.api.memory import Memory
from remanence.api.schema import Schema
from remanence.api.values import Misfit, encoded
from remanence.api.verb import Grant
from remanence.errors import Cancelled, Forbidden
from remanence.server.access.caller import Caller
from remanence.server.access.limits import Shares
from remanence.server.authorization import Door
from remanence.server.jobs import Running, Work
from remanence.server.observation import MB
from remanence.server.problems import TooLarge
from remanence.server.rest import openapi
from remanence.server.rest.jobs import Kept, begun, wants_a_job
from remanence.server.rest.openapi import add_route
from remanence.tools.transfer import export_memory, import_memory
from remanence.tools.transfer.imports import Imported
from remanence.tools.transfer.lines import check_header, read_lines

LINES = "application/x-ndjson"
PIECE = 256 * 1024
MAX_HEADER = 64 * 1024  # bytes; the first line of an export has a few hundred
EXPORT = Work(name="export", needs=(Grant.READ,))
IMPORT = Work(name="import", needs=(Grant.WRITE,))
AtWork: TypeAlias = Callable[[], AbstractContextManager[Running]]


def add_transfers(app: Starlette) -> None:
    """Add /v1/export and /v1/import."""
    settings = app.state.settings
    app.state.exports = Shares(settings.exports, "exports")  # each holds a thread and a view
    app.state.imports = Shares(settings.imports, "imports")  # each holds a file
    lines: Schema = {LINES: {"schema": {"type": "string"}}}
    about = "Write out everything of the tenant, a JSON line at a time"
    told = openapi.told("export", about, "Care", lines)
    add_route(app, "/v1/export", _export, methods=["GET"], **told)
    body = openapi.body_schema({"type": "string", "minLength": 1}, LINES)
    told = openapi.told("import", "Read in what was written out", "Care", Imported, body=body)
    add_route(app, "/v1/import", _import, methods=["POST"], **told)


async def _export(request: Request) -> Response:
    caller = _check(request, Grant.READ)
    door: Door = request.app.state.door
    memory, exports = door.memory(caller), request.app.state.exports
    exports.take(caller.tenant, caller.name)
    over = partial(exports.give, caller.tenant, caller.name)
    try:
        await request.app.state.calls.run(request.app.state.audit.record, caller, "export", {})
        work = partial(request.app.state.office.at_work, caller, EXPORT)
        return _Export(memory, work, over)
    except BaseException:
        over()
        raise


class _Export(StreamingResponse):
    """Everything of a memory, written in a thread of its own; `over` is called when that ends.

    A reader who has gone is noticed at the next piece. One that fails ends without its last
    line, so it shows.
    """

    def __init__(self, memory: Memory, work: AtWork, over: Callable[[], None]) -> None:
        source, self._target = os.pipe()
        self._source = os.fdopen(source, "rb", buffering=0)
        self._failed: list[BaseException] = []
        super().__init__(self._pieces(), media_type=LINES)
        Thread(target=self._write, args=(memory, work, over), name="export", daemon=True).start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._source.close()

    async def _pieces(self) -> AsyncIterator[bytes]:
        while piece := await anyio.to_thread.run_sync(self._source.read, PIECE):
            yield piece
        if self._failed:
            raise self._failed[0]

    def _write(self, memory: Memory, work: AtWork, over: Callable[[], None]) -> None:
        try:
            with os.fdopen(self._target, "wb") as file, work() as job:
                _exported(memory, file, job)
        except BrokenPipeError:
            return  # whoever read it has gone
        except BaseException as error:
            self._failed.append(error)
        finally:
            over()


def _exported(memory: Memory, file: BinaryIO, job: Running) -> None:
    try:
        export_memory(memory, file, job.report)
    except BrokenPipeError as error:
        raise Cancelled("Whoever read the export has gone.") from error


async def _import(request: Request) -> Response:
    caller = _check(request, Grant.WRITE)
    if caller.trust < 1 or caller.quarantine:
        raise Forbidden("An import brings its own trust along; it needs a key of full trust.")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (LINES, "application/jsonl", "application/octet-stream"):
        raise Misfit(f"The body must be an export, with the content type {LINES}.")
    state = request.app.state
    with ExitStack() as stack:
        stack.enter_context(state.imports.held(caller.tenant, caller.name))
        spool = stack.enter_context(Spool())
        await _spool(request, spool, state.settings.max_import_mb)
        await state.calls.run(state.audit.record, caller, "import", {})
        if wants_a_job(request):
            do = partial(_kept, state, caller, spool.opened(), stack.pop_all())
            return await begun(request, IMPORT, do)
        body = await state.calls.run(_imported, state, caller, spool.opened(), long=True)
    return Response(body, media_type="application/json")


def _kept(
    state: Any, caller: Caller, file: BinaryIO, held: ExitStack, job: Running, key: str | None
) -> Kept:
    with held:
        return _taken_in(state, caller, file, job), False


class Spool(RawIOBase):
    """An upload on disk, in a file without a name, under a key that only this process has."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 - closed with the spool
        self._cipher = Cipher(AES(os.urandom(32)), CTR(os.urandom(16)))
        self._sealing = self._cipher.encryptor()

    def write(self, data: Any) -> int:
        """Append to it."""
        self._file.write(self._sealing.update(bytes(data)))
        return len(data)

    def opened(self) -> BinaryIO:
        """All that was written, to be read once."""
        self._file.seek(0)
        self._opening = self._cipher.decryptor()
        return BufferedReader(self, PIECE)

    def readable(self) -> bool:
        """It is, when it is opened."""
        return True

    def readinto(self, buffer: Any) -> int:
        """What comes next."""
        piece = self._opening.update(self._file.read(len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        """Let go of the file, which is gone then."""
        self._file.close()
        super().close()


async def _spool(request: Request, file: Spool, max_mb: float) -> None:
    """Put the body into a file; what does not begin as an export does is refused at once."""
    seen, head, known = 0, b"", False
    async for piece in request.stream():
        seen += len(piece)
        if seen > max_mb * MB:
            raise TooLarge(
                f"The import is larger than {max_mb:g} MB; see the setting `max_import_mb`, or "
                "run `rem import FILE` beside the store."
            )
        if not known:
            head += piece
            known = _begins(head)
        await anyio.to_thread.run_sync(file.write, piece)


def _begins(head: bytes) -> bool:
    """Whether the first line is here; it is an export's, or `InvalidInput`."""
    line, ended, _ = head.lstrip().partition(b"\n")
    if ended or len(head) > MAX_HEADER:
        first = next(read_lines(BytesIO(line[:MAX_HEADER])), None)
        check_header(first.content if first else {})
    return bool(ended)


def _imported(state: Any, caller: Caller, file: BinaryIO) -> bytes:
    with state.office.at_work(caller, IMPORT) as job:
        return _taken_in(state, caller, file, job)


def _taken_in(state: Any, caller: Caller, file: BinaryIO, job: Running) -> bytes:
    memory, admit = state.door.memory(caller), state.door.intake(caller)
    return encoded(import_memory(memory, file, job.report, admit=admit))


def _check(request: Request, grant: Grant) -> Caller:
    caller: Caller = request.state.caller
    if not caller.may(grant):
        raise Forbidden(f"This needs a key with the scope `{grant}`.")
    if request.query_params:
        raise Misfit("This takes no query.")
    return caller
