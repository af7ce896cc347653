"""Running the server: where it listens, with how many processes, and until its store is there."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.supervisors import Multiprocess

from remanence.api.memory import Memory
from remanence.config import Settings, hand_over, load_settings
from remanence.errors import ConfigError, StoreUnavailable
from remanence.model.clock import SystemClock
from remanence.model.validation import is_loopback
from remanence.server import middleware
from remanence.server.access.keys import Keys
from remanence.server.heap import few_arenas
from remanence.server.logs import set_up
from remanence.server.problems import Refusal, answer, problem_of
from remanence.server.wire import OpenConnections, Wire
from remanence.version import __version__

PAUSE_S = 1.0
_DETAIL = "The database does not answer yet; try again in a moment."
_waiting_log = logging.getLogger("remanence.server")


class Waiting:
    """An ASGI app that is made by `make` as soon as the store answers.

    The first try is made before the server takes calls, so where the store is there nobody
    notices. What cannot be mended by waiting ends the server.
    """

    def __init__(self, make: Callable[[], Starlette], settings: Settings) -> None:
        self._make = make
        self._entrance = middleware.Entrance(settings)
        self._app: Starlette | None = None
        self._tried = asyncio.Event()
        self._stopping = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call, or the life of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is not None:
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            exchange = middleware.exchange_of(scope, receive, send)
            try:
                self._entrance.check(scope, exchange.headers)
                await _answer(scope["path"], exchange.id)(scope, receive, exchange.send)
            except Refusal as error:
                await middleware.refuse(problem_of(error, exchange.id), scope, exchange)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        opening = asyncio.create_task(self._open())
        tried = asyncio.create_task(self._tried.wait())
        await asyncio.wait([opening, tried], return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            tried.cancel()
            await send({"type": "lifespan.startup.failed", "message": str(opening.exception())})
            return
        opening.add_done_callback(self._end)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._stopping.set()
        if self._app is None:
            opening.cancel()
        await asyncio.wait([opening])
        await send({"type": "lifespan.shutdown.complete"})

    async def _open(self) -> None:
        """Open the store, and stay for as long as the server lives."""
        app = await self._made()
        async with app.router.lifespan_context(app):
            self._app = app
            self._tried.set()
            await self._stopping.wait()

    async def _made(self) -> Starlette:
        while True:
            try:
                return await asyncio.to_thread(self._make)
            except StoreUnavailable as error:
                if not self._tried.is_set():
                    _waiting_log.warning("%s The server waits for it.", error)
                self._tried.set()
                await asyncio.sleep(PAUSE_S)

    def _end(self, opening: asyncio.Task[None]) -> None:
        """Stop the server where its store can be reached and cannot be served."""
        if not opening.cancelled() and not self._stopping.is_set():
            _waiting_log.error("The server cannot go on: %s", opening.exception())
            signal.raise_signal(signal.SIGTERM)


def _answer(path: str, id: str) -> Response:
    if path == "/health":
        return Response(_told("ok"), media_type="application/json")
    if path == "/ready":
        return Response(_told("unavailable"), status_code=503, media_type="application/json")
    return answer(replace(problem_of(StoreUnavailable(), id), detail=_DETAIL))


def _told(status: str) -> bytes:
    return orjson.dumps({"status": status, "version": __version__})


GRACE_S = 30  # for calls under way when the server is told to stop
LAST_S = 10  # more, for work that nobody waits for any more
IDLE_S = 65  # longer than clients and proxies keep a connection: so they close it, not we
BACKLOG = 2048
# On Windows SO_REUSEADDR lets a second server have a port that is taken.
_ALONE_AT_A_PORT: int = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
DESCRIPTORS = 4_096
SENT = 128 * 1024  # bytes that the system takes from us before a reader has them
# A call takes the interpreter dozens of times. While another analyses a long text, it waits as
# often for that one to let go.
SWITCH_S = 0.0001
# How seldom garbage is looked for. As Python does it, all of the heap is gone through again and
# again while a long text is read.
COLLECTED = (10_000, 20, 50)
_log = logging.getLogger(__name__)
_MAKE_ONE = "Make one with `rem keys create NAME --scope read --scope write`"
_REASONS = {
    errno.EADDRINUSE: "somebody listens there already; stop it, or choose another with `--port`",
    errno.EADDRNOTAVAIL: "this machine has no such address; see the setting `host`",
    errno.EACCES: "that port is not allowed; choose one above 1023 with `--port`",
}


def check_bind(settings: Settings, keys: Keys) -> None:
    """Refuse to listen where others can reach a server that needs no key."""
    if settings.jwt_issuer or keys.known():
        return
    if not is_loopback(settings.host):
        raise ConfigError(
            f"A server at {settings.host} can be reached from other machines, and there is no key "
            f"yet. {_MAKE_ONE}, or listen at 127.0.0.1."
        )
    hosts = (host for host in middleware.allowed_hosts(settings) if not is_loopback(host))
    pages = (page for page in middleware.allowed_origins(settings) if not _is_local(page))
    for name, found in (("hosts", next(hosts, None)), ("origins", next(pages, None))):
        if found is not None:
            raise ConfigError(
                f"The setting `{name}` lets {found} in, and there is no key yet: anybody who "
                f"comes that way could do everything. {_MAKE_ONE}, or leave `{name}` empty."
            )


def _is_local(origin: str) -> bool:
    try:
        return is_loopback(urlsplit(origin).hostname or "")
    except ValueError:
        return False


def check_shared(settings: Settings) -> None:
    """Refuse several processes where each would have a memory of its own."""
    if settings.workers > 1 and settings.database_url.endswith(":memory:"):
        raise ConfigError("Several workers need a store that they can share: a file or PostgreSQL.")


def listen(settings: Settings) -> socket.socket:
    """A socket that listens where the settings say; port 0 takes a free one."""
    host = settings.host.strip("[]")
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        made.setsockopt(socket.SOL_SOCKET, _ALONE_AT_A_PORT, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENT)  # each connection inherits it
        made.bind((host, settings.port))
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        reason = _REASONS.get(error.errno or 0, f"{error.strerror or error}; see `host` and `port`")
        raise ConfigError(f"Cannot listen at {settings.host}:{settings.port}: {reason}.") from error
    made.set_inheritable(True)
    return made


def serve(settings: Settings, memory: Memory, at: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT; calls under way are finished, then the memory is closed."""
    from remanence.server.app import make_app

    prepare(settings)
    # uvicorn raises the signal that ended it once more; by then all is done.
    signal.signal(signal.SIGTERM, lambda *_: None)
    app = ending_in_time(make_app(settings, memory))
    uvicorn.Server(uvicorn.Config(app, **listening(settings))).run(sockets=[at])


def serve_when_there(settings: Settings, at: socket.socket) -> None:
    """The same where the store does not answer yet: calls are told so until it does."""
    prepare(settings)
    signal.signal(signal.SIGTERM, lambda *_: None)
    app = Waiting(lambda: opened_app(settings), settings)
    uvicorn.Server(uvicorn.Config(app, **listening(settings))).run(sockets=[at])


def opened_app(settings: Settings) -> Starlette:
    """The app on a memory of its own; refused where others could reach it without a key."""
    from remanence.server.app import make_app, memory_settings

    memory = Memory(settings.database_url, **memory_settings(settings))
    try:
        check_bind(settings, Keys(memory.parts.store.documents, SystemClock()))
        return ending_in_time(make_app(settings, memory))
    except BaseException:
        memory.close()
        raise


def serve_many(settings: Settings, at: socket.socket) -> None:
    """The same with several processes on one store."""
    prepare(settings)
    with TemporaryDirectory(prefix="remanence-figures-") as figures:
        hand_over(settings)
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = figures
        config = uvicorn.Config(
            "remanence.server.serving:app",
            factory=True,
            workers=settings.workers,
            **listening(settings),
        )
        _Workers(config, sockets=[at]).run()


class _Workers(Multiprocess):
    """Processes that share a socket; told to stop, nobody is let in any more."""

    def terminate_all(self) -> None:
        """Stop them. A caller who comes now is refused at once rather than kept waiting."""
        for each in self.sockets:
            each.close()
        super().terminate_all()


def prepare(settings: Settings) -> None:
    """What every process of a server needs first."""
    set_up(settings.log_format)
    few_arenas()
    sys.setswitchinterval(SWITCH_S)
    gc.set_threshold(*COLLECTED)
    _many_descriptors()


def _many_descriptors() -> None:
    """As many open files as the system lets this process have; often it begins with 1,024."""
    with suppress(ImportError):  # Windows has no such bound
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def ending_in_time(app: Starlette) -> Starlette:
    """The app, which does not outlive the grace by more than `LAST_S`.

    What is at work even then is cut off as by a kill: nothing that was acknowledged is lost.
    """
    app.state.closing.insert(0, lambda _: _bounded())
    return app


@asynccontextmanager
async def _bounded() -> AsyncIterator[None]:
    yield
    timer = threading.Timer(LAST_S, _cut_off)
    timer.daemon = True
    timer.start()


def _cut_off() -> None:
    _log.error("Work that did not end in time was cut off.")
    logging.shutdown()
    os._exit(0)


def listening(settings: Settings) -> dict[str, Any]:
    """What uvicorn is told."""
    return {
        "host": settings.host,
        "port": settings.port,
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "timeout_keep_alive": IDLE_S,
        "timeout_graceful_shutdown": GRACE_S,
        "timeout_worker_healthcheck": GRACE_S,
        "http": partial(Wire, connections=OpenConnections(settings)),
        "ws": "none",
        "proxy_headers": False,  # the guard knows which proxies to believe
    }


def app() -> Waiting:
    """The app of this process, as soon as its store answers."""
    settings = load_settings()
    prepare(settings)
    return Waiting(lambda: opened_app(settings), settings)
