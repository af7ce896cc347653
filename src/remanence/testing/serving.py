"""A real server on a free port of this machine, in a thread, for as long as a test needs it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette

from remanence.api.memory import Memory
from remanence.config import load_settings
from remanence.server.app import make_app
from remanence.server.serving import listen, listening
from remanence.testing.patience import HANG_S, until


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    url: str
    app: Starlette
    memory: Memory

    def key(self, *grants: str, tenant: str = "default", name: str = "test", **more: Any) -> str:
        """The text of a new key; from then on the server wants one."""
        wanted: Iterable[str] = grants or ("read", "write", "admin")
        made = self.app.state.keys.create(name, tenant=tenant, grants=wanted, **more)
        self.app.state.gate.refresh()
        return str(made[1])


@contextmanager
def serving(memory: Memory | None = None, **settings: Any) -> Iterator[Served]:
    """A server with these settings; the memory is closed with it."""
    own = memory or Memory(settings.pop("database", ":memory:"), **settings)
    unhurried = {"rate_limit": 0, "wrong_keys": 1_000_000}
    local = {"host": "127.0.0.1", "port": 0, **unhurried, **settings}
    try:
        given = load_settings({"database": own.settings.database_url, **local})
        app = make_app(given, own)
    except BaseException:
        own.close()
        raise
    at = listen(given)
    config = uvicorn.Config(
        app, **listening(given) | {"timeout_graceful_shutdown": 10, "lifespan": "on"}
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([at],), name="server", daemon=True)
    thread.start()
    try:
        _wait_until_up(server, thread)
        yield Served(f"http://127.0.0.1:{at.getsockname()[1]}", app, own)
    finally:
        server.should_exit = True
        thread.join(HANG_S)
        at.close()


def _wait_until_up(server: uvicorn.Server, thread: threading.Thread) -> None:
    until(lambda: server.started or not thread.is_alive())
    if not server.started:
        raise RuntimeError("the server ended before it was up")
