"""A crowd at the door of a real server: whatever it holds or drips, another tenant is answered."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx
import pytest

from remanence.api.memory import Memory
from remanence.model.clock import SystemClock
from remanence.server.access.keys import Keys
from remanence.server.serving import DESCRIPTORS
from remanence.testing.patience import HANG_S, until
from support import http
from support.server_process import ServerProcess, server_process
from support.soak import times

pytestmark = pytest.mark.soak

CONNECTIONS = times(1_000, 120)
CROWD = times(2_500, 300)
CALLS = times(200, 12)  # that the other tenant makes at least while a crowd is there
GUESSES = times(1_500, 150)
BIG = {"big": "x" * 20_000}
LINES = b"content-type: application/x-ndjson\r\n"


class Crowd:
    """A server process, the keys of its tenants, and connections that a test holds open."""

    def __init__(self, process: ServerProcess, keys: dict[str, str]) -> None:
        self.process, self.keys = process, keys
        self._host = httpx.URL(process.url)
        self._stack = ExitStack()

    def connect(self, sent: bytes = b"", *, buffer: int = 0) -> socket.socket:
        """A connection on which this was sent; it is closed at the end of the test."""
        made = socket.socket()
        if buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        made.settimeout(HANG_S)
        made.connect((self._host.host, self._host.port))
        self._stack.enter_context(closing(made))
        with suppress(ConnectionError):
            made.sendall(sent)
        return made

    def head(self, method: str, path: str, more: bytes = b"", key: str = "") -> bytes:
        """A request's head."""
        shown = f"authorization: Bearer {self.keys[key]}\r\n".encode() if key else b""
        line = f"{method} {path} HTTP/1.1\r\nhost: {self._host.host}\r\n".encode()
        return line + shown + more + b"\r\n"

    def call(self, key: str, client: httpx.Client | None = None) -> int:
        """The status of a tenant's question."""
        headers = {"authorization": f"Bearer {self.keys[key]}"}
        ask = httpx.post if client is None else client.post
        url = f"{self.process.url}/v1/memories/count"
        return ask(url, json={}, headers=headers, timeout=HANG_S).status_code

    def leave(self) -> None:
        self._stack.close()
        self._stack = ExitStack()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    many_descriptors()
    database = tmp_path_factory.mktemp("crowds") / "memory.db"
    keys = {name: made(database, name) for name in ("greedy", "modest")}
    with server_process(database, connections=str(CONNECTIONS)) as process:
        yield Crowd(process, keys)


@pytest.fixture
def crowd(served: Crowd) -> Iterator[Crowd]:
    yield served
    served.leave()


def made(database: Path, tenant: str) -> str:
    with Memory(database, tenant=tenant) as memory:
        memory.add_many([{"text": f"note {n}", "metadata": BIG} for n in range(60)])
        keys = Keys(memory.parts.store.documents, SystemClock())
        return keys.create(tenant, tenant=tenant, grants=["read", "write"])[1]


def many_descriptors() -> None:
    with suppress(ImportError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


@contextmanager
def canary(crowd: Crowd) -> Iterator[None]:
    """The other tenant calls all the while, on a kept connection and on new ones: no errors."""
    over, seen = threading.Event(), Counter[object]()

    def call() -> None:
        with http.Client() as kept:
            while not over.is_set() or sum(seen.values()) < 2 * CALLS:
                for client in (kept, None):
                    try:
                        seen[crowd.call("modest", client)] += 1
                    except httpx.HTTPError as error:
                        seen[repr(error)] += 1

    thread = threading.Thread(target=call)
    thread.start()
    try:
        until(lambda: sum(seen.values()) > CALLS // 2)
        yield
        before = sum(seen.values())
        until(lambda: sum(seen.values()) >= before + CALLS)
    finally:
        over.set()
        thread.join()
    assert set(seen) == {200}, seen


CROWDS: dict[str, Callable[[Crowd], bytes]] = {
    "nothing is said": lambda _: b"",
    "kept without a key": lambda crowd: crowd.head("GET", "/health"),
    "kept after a refusal": lambda crowd: crowd.head("GET", "/v1/stats"),
    "kept with a key": lambda crowd: crowd.head("GET", "/v1/stats", key="greedy"),
    "half a head": lambda crowd: crowd.head("GET", "/health", b"x-a: b\r\n")[:-2],
    "half a body": lambda crowd: (
        crowd.head("POST", "/v1/search", b"content-length: 99\r\n", "greedy") + b'{"query": "t'
    ),
    "half a chunk": lambda crowd: (
        crowd.head("POST", "/v1/search", b"transfer-encoding: chunked\r\n", "greedy") + b"ff\r\n{"
    ),
    "a refused body": lambda crowd: (
        crowd.head("POST", "/v1/search", b"content-length: 999999\r\n") + b'{"query": "t'
    ),
    "half an import": lambda crowd: (
        crowd.head("POST", "/v1/import", LINES + b"content-length: 9999\r\n", "greedy") + b" "
    ),
    "exports that nobody reads": lambda crowd: crowd.head("GET", "/v1/export", key="greedy"),
    "documents that nobody reads": lambda crowd: 9 * crowd.head("GET", "/openapi.json"),
    "a queue that nobody reads": lambda crowd: 300 * crowd.head("GET", "/openapi.json"),
}

REFUSED = ("kept without a key", "kept after a refusal")


@pytest.mark.parametrize("name", CROWDS)
def test_another_tenant_is_answered(name: str, crowd: Crowd) -> None:
    sent = CROWDS[name](crowd)
    with canary(crowd):
        lines = []
        for _ in range(CROWD):
            lines.append(crowd.connect(sent, buffer=4_096))
            if name in REFUSED:  # kept after its answer, not while it waits for it
                with suppress(OSError):
                    lines[-1].recv(1)
        for _ in range(3):
            for line in lines[:: max(1, CROWD // 100)]:
                with suppress(OSError):
                    line.sendall(b" ")


def test_guessing_is_slowed_down_and_those_who_know_are_not(crowd: Crowd) -> None:
    seen = Counter[int]()
    with canary(crowd), http.Client(base_url=crowd.process.url, timeout=HANG_S) as client:
        for number in range(GUESSES):
            headers = {"authorization": f"Bearer rem_aaaaaaaa_{number:040x}"}
            told = client.get("/v1/stats", headers=headers)
            seen[told.status_code] += 1
            if told.status_code == 429:
                assert int(told.headers["retry-after"]) >= 1
                assert told.json()["type"] == "urn:remanence:rate-limited"
        assert crowd.call("greedy") == 200
    assert set(seen) == {401, 429}


def test_what_is_not_ended_leaves_nothing_behind(tmp_path: Path) -> None:
    """Bodies, imports and answers that stall are given up, and what they held is free again."""
    database = tmp_path / "memory.db"
    keys = {name: made(database, name) for name in ("greedy", "modest")}
    hasty = dict.fromkeys(("head_timeout_s", "body_timeout_s", "send_timeout_s"), "1")
    with server_process(database, exports="4", imports="4", **hasty) as process:
        crowd = Crowd(process, keys)
        for name in ("half a body", "half an import", "exports that nobody reads"):
            lines = [crowd.connect(CROWDS[name](crowd), buffer=4_096) for _ in range(9)]
            with ExitStack() as reading:
                for line in lines:
                    reading.enter_context(closing(line))
                for line in lines:
                    until(partial(is_over, line))
        export = http.get(
            f"{process.url}/v1/export", headers={"authorization": f"Bearer {keys['greedy']}"}
        )
        assert export.status_code == 200
        told = http.post(
            f"{process.url}/v1/import",
            content=export.content,
            headers={
                "authorization": f"Bearer {keys['greedy']}",
                "content-type": "application/x-ndjson",
            },
            timeout=HANG_S,
        )
        assert told.status_code == 200, told.text
        crowd.leave()


def is_over(line: socket.socket) -> bool:
    """Whether the server has hung up; it is not read before."""
    line.setblocking(False)
    try:
        line.sendall(b" ")
        return False
    except BlockingIOError:
        return False
    except OSError:
        return True
