"""What strangers and greedy callers can do to a server: nothing that others would notice."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, closing
from functools import wraps
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx
import pytest

from remanence import Memory
from remanence.api.service import MemoryService
from remanence.config import load_settings
from remanence.errors import ConfigError
from remanence.model.clock import SystemClock
from remanence.server import app as app_module
from remanence.server import health
from remanence.server.access.keys import Keys
from remanence.server.executor import SHARE, Calls
from remanence.server.health import Writes
from remanence.server.mcp import mounting
from remanence.server.problems import Overloaded
from remanence.server.rest import asking, transfers
from remanence.server.serving import check_bind, listening
from remanence.server.wire import Wire
from remanence.testing.patience import HANG_S, until
from remanence.testing.serving import Served, serving
from support import http

LINES = {"content-type": "application/x-ndjson"}
SOON_S = 0.3


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with serving(Memory(tmp_path / "memory.db"), max_import_mb=1) as served:
        yield served


@pytest.fixture
def hasty() -> Iterator[Served]:
    """One that waits for nobody."""
    with serving(head_timeout_s=SOON_S, body_timeout_s=SOON_S, send_timeout_s=SOON_S) as served:
        yield served


def run(test: Callable[[Any], Coroutine[Any, Any, None]]) -> Callable[[Any], None]:
    """A test that is a coroutine."""

    @wraps(test)
    def ran(self: Any) -> None:
        asyncio.run(test(self))

    return ran


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def connected(server: Served) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", httpx.URL(server.url).port or 0))
    made.settimeout(HANG_S)
    return made


def head(server: Served, more: bytes = b"") -> bytes:
    return b"GET /health HTTP/1.1\r\nHost: %s\r\n%s" % (server.url[7:].encode(), more)


def until_closed(line: socket.socket) -> bytes:
    """What is still said before the other side hangs up."""
    told = b""
    try:
        while piece := line.recv(65_536):
            told += piece
    except ConnectionError:
        pass
    return told


def is_cut_off(line: socket.socket, piece: bytes, times: int, every_s: float = 0) -> bool:
    """Whether whoever sends a piece again and again is stopped."""
    try:
        for _ in range(times):
            line.sendall(piece)
            time.sleep(every_s)
    except ConnectionError:
        return True
    return False


def status_of(told: bytes) -> int:
    return int(told.split(b" ", 2)[1])


class TestHeads:
    def test_the_server_listens_with_these_bounds(self) -> None:
        told = listening(load_settings({"connections": 9, "trusted_proxies": "192.0.2.1"}))
        assert told["http"].func is Wire
        there = told["http"].keywords["connections"]
        assert there.settings.connections == 9
        assert ip_network("192.0.2.1") in there.many_callers
        assert not told["proxy_headers"]

    @pytest.mark.parametrize(
        "sent",
        [
            b"X-A: " + b"a" * 70_000,
            b"X-A: " + b"a" * 70_000 + b"\r\n\r\n",
            b"".join(b"X-%d: %s\r\n" % (n, b"a" * 500) for n in range(150)),
            b"".join(b"X-%d: a\r\n" % n for n in range(2_500)) + b"\r\n",
        ],
        ids=["one that goes on", "one", "many that go on", "many short ones"],
    )
    def test_a_head_has_an_end(self, server: Served, sent: bytes) -> None:
        with closing(connected(server)) as line:
            line.sendall(head(server, sent))
            assert status_of(until_closed(line)) == 431

    def test_so_has_a_path(self, server: Served) -> None:
        with closing(connected(server)) as line:
            line.sendall(b"GET /" + b"a" * 70_000)
            assert status_of(until_closed(line)) == 431

    def test_and_what_trails_a_body(self, server: Served) -> None:
        chunked = b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
        trailers = b"".join(b"X-%d: %s\r\n" % (n, b"a" * 500) for n in range(300))
        with closing(connected(server)) as line:
            line.sendall(head(server, chunked).replace(b"GET /health", b"POST /v1/search"))
            assert is_cut_off(line, trailers, 50)

    def test_a_stranger_cannot_go_on_sending(self, server: Served) -> None:
        with closing(connected(server)) as line:
            line.sendall(head(server))
            assert is_cut_off(line, b"X-A: " + b"a" * 1_000_000 + b"\r\n", 100)

    def test_long_bodies_and_ordinary_heads_pass(self, server: Served) -> None:
        body = {"query": "x", "metadata": {}, "filters": {"a": "b" * 300_000}}
        with http.Client(base_url=server.url) as client:
            for _ in range(3):
                headers = {f"x-{n}": "a" * 400 for n in range(50)}
                assert client.get("/health", headers=headers).status_code == 200
                assert client.post("/v1/search", json=body).status_code != 431

    @pytest.mark.parametrize("sent", [b"", b"GET /hea", b"GET /health HTTP/1.1\r\nHost: a\r\n"])
    def test_a_head_that_does_not_come_is_not_waited_for(self, hasty: Served, sent: bytes) -> None:
        with closing(connected(hasty)) as line:
            line.sendall(sent)
            assert until_closed(line)[:12] in (b"", b"HTTP/1.1 408")

    def test_nor_the_second_one(self, hasty: Served) -> None:
        with closing(connected(hasty)) as line:
            line.sendall(head(hasty) + b"\r\nGET /health HT")
            assert b"408" in until_closed(line)

    def test_dripping_holds_nothing_open(self, hasty: Served) -> None:
        with closing(connected(hasty)) as line:
            line.sendall(head(hasty))
            assert is_cut_off(line, b"X-A: b\r\n", 200, every_s=0.02)

    def test_an_answer_may_take_longer_than_a_head(
        self, hasty: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Writes, "check", lambda *_: time.sleep(3 * SOON_S))
        assert http.get(f"{hasty.url}/ready").status_code == 200


class TestFairness:
    def test_one_tenant_cannot_hold_every_thread(
        self, server: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        greedy = server.key("write", "read", tenant="greedy", name="greedy")
        modest = server.key("write", "read", tenant="modest", name="modest")
        go_on, begun = threading.Event(), threading.Semaphore(0)
        real = MemoryService.add

        def slow(memory: MemoryService, text: str, **more: Any) -> Any:
            if memory.tenant == "greedy":
                begun.release()
                go_on.wait(HANG_S)
            return real(memory, text, **more)

        monkeypatch.setattr(MemoryService, "add", slow)
        url, told = f"{server.url}/v1/memories", []

        def add() -> None:
            told.append(
                http.post(
                    url, json={"text": "x"}, headers=bearer(greedy), timeout=HANG_S
                ).status_code
            )

        threads = [threading.Thread(target=add) for _ in range(8)]
        for thread in threads:
            thread.start()
        for _ in range(server.app.state.settings.calls):
            assert begun.acquire(timeout=HANG_S)
        try:
            asked = http.post(url, json={"text": "y"}, headers=bearer(modest), timeout=HANG_S)
            assert asked.status_code == 200
            assert not begun.acquire(timeout=0.1)
        finally:
            go_on.set()
            for thread in threads:
                thread.join()
        assert told == [200] * 8

    @run
    async def test_nor_the_queue(self) -> None:
        calls, at_work, go_on = Calls(1), threading.Event(), threading.Event()

        def hold() -> bool:
            at_work.set()
            return go_on.wait(HANG_S)

        waiting = [asyncio.ensure_future(calls.run(hold, who="a"))]
        assert await asyncio.to_thread(at_work.wait, HANG_S)  # not in the queue any more
        waiting += [asyncio.ensure_future(calls.run(hold, who="a")) for _ in range(SHARE)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await calls.run(int, who="a")
        assert await calls.run(int, who="b") == 0
        assert calls.waiting == SHARE
        go_on.set()
        assert all(await asyncio.gather(*waiting))
        assert calls.waiting == 0
        calls.close()

    @run
    async def test_what_waits_is_done_though_the_server_stops(self) -> None:
        calls = Calls(1)
        done: list[int] = []
        asked = [asyncio.ensure_future(calls.run(done.append, n, who="a")) for n in range(5)]
        await asyncio.sleep(0)
        calls.close()
        assert sorted(done) == [0, 1, 2, 3, 4]
        await asyncio.gather(*asked)

    @run
    async def test_tenants_take_turns(self) -> None:
        calls, go_on, last, done = Calls(1), threading.Event(), threading.Event(), list[str]()

        def work(name: str) -> None:
            (last if name.endswith("2") else go_on).wait(HANG_S)
            done.append(name)
            if name == "c0":
                last.set()

        asked = [calls.run(work, f"{who}{n}", who=who) for who in "abc" for n in range(3)]
        waiting = [asyncio.ensure_future(one) for one in asked]
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(*waiting)
        calls.close()
        # Two threads: whoever is third in line is not behind all that the first two want.
        assert {"a2", "b2"}.isdisjoint(done[: done.index("c0")])
        for who in "abc":
            assert [name for name in done if name[0] == who] == [f"{who}{n}" for n in range(3)]

    @run
    async def test_errors_reach_whoever_waits(self) -> None:
        calls = Calls(1)
        with pytest.raises(ZeroDivisionError):
            await calls.run(lambda: 1 / 0, who="a")
        with pytest.raises(RuntimeError):
            await calls.run(next, iter(()), who="a")
        assert await calls.run(int, who="a") == 0
        calls.close()
        with pytest.raises(RuntimeError):
            await calls.run(int, who="a")

    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("/v1/memories/batch", {"memories": [{"text": "a"}] * 1_001}),
            ("/v1/messages", {"messages": [{"role": "user", "content": "a"}] * 1_001}),
            (
                "/v1/conversations",
                {"session_id": "s", "messages": [{"role": "user", "content": "a"}] * 1_001},
            ),
        ],
    )
    def test_a_batch_has_an_end(self, server: Served, path: str, body: dict[str, Any]) -> None:
        told = http.post(server.url + path, json=body, timeout=HANG_S)
        assert told.status_code == 422, told.text
        assert "1,000 at most" in told.json()["detail"]
        assert server.memory.count() == 0


class TestOpenPaths:
    def test_the_document_is_made_once(
        self, server: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = http.get(f"{server.url}/openapi.json")
        monkeypatch.setattr(app_module, "document", lambda _: pytest.fail("made again"))
        again = http.get(f"{server.url}/openapi.json")
        assert again.status_code == 200
        assert again.content == first.content

    def test_the_store_is_not_asked_each_time_whether_it_is_ready(
        self, server: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[Any] = []
        monkeypatch.setattr(Writes, "check", lambda *given: asked.append(given))
        monkeypatch.setattr(health, "FRESH_S", 60)
        with http.Client(base_url=server.url) as client:
            assert {client.get("/ready").status_code for _ in range(20)} == {200}
        assert len(asked) == 1


class TestWithoutKeys:
    @pytest.mark.parametrize(
        "given",
        [
            {"hosts": "memory.example"},
            {"hosts": "*.example"},
            {"origins": "https://app.example"},
            {"origins": "http://localhost:3000, https://app.example"},
            {"origins": "null"},
        ],
    )
    def test_nobody_else_is_let_in(self, given: dict[str, str], tmp_path: Path) -> None:
        with Memory(tmp_path / "memory.db") as memory:
            keys = Keys(memory.parts.store.documents, SystemClock())
            with pytest.raises(ConfigError, match="rem keys create"):
                check_bind(load_settings(given), keys)
            keys.create("first", tenant="default", grants=["read"])
            check_bind(load_settings(given), keys)

    def test_this_machine_is(self) -> None:
        with Memory(":memory:") as memory:
            keys = Keys(memory.parts.store.documents, SystemClock())
            local = {"hosts": "localhost", "origins": "http://localhost:3000,http://127.0.0.1"}
            check_bind(load_settings(local), keys)

    @pytest.mark.parametrize(
        "name", ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "Via", "X-Real-IP"]
    )
    def test_what_a_proxy_passes_on_needs_a_key(self, server: Served, name: str) -> None:
        url = f"{server.url}/v1/stats"
        assert http.get(url).status_code == 200
        told = http.get(url, headers={name: "for=1.2.3.4"})
        assert told.status_code == 403
        assert "proxy" in told.json()["detail"]
        assert http.get(url).status_code == 200
        key = server.key("read")
        assert http.get(url, headers=bearer(key) | {name: "1.2.3.4"}).status_code == 200


class TestLargeBodies:
    def test_a_large_body_is_read_in_a_thread(
        self, server: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real, where = asking._request_in, []

        def read(*given: Any) -> Any:
            where.append(threading.current_thread().name.partition("_")[0])
            return real(*given)

        monkeypatch.setattr(asking, "_request_in", read)
        url = f"{server.url}/v1/memories"
        for text in ("small", "large " * 60_000):
            http.post(url, json={"text": "t", "metadata": {"a": text}}, timeout=HANG_S)
        assert where == ["server", "call"]

    def test_a_message_to_mcp_has_an_end(self, server: Served) -> None:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "b" * 1_100_000}}
        headers = {"accept": "application/json, text/event-stream"}
        assert mounting.MAX_MB == 1
        assert http.post(f"{server.url}/mcp", json=asked, headers=headers).status_code == 413

    def test_mcp_holds_no_stream_open(self, server: Served) -> None:
        headers = {"accept": "text/event-stream"}
        told = http.get(f"{server.url}/mcp", headers=headers, timeout=HANG_S)
        assert (told.status_code, told.headers["allow"]) == (405, "POST")


class TestTransfers:
    def test_what_is_no_export_is_refused_before_the_rest_is_here(self, server: Served) -> None:
        asked = [0]

        def pieces() -> Iterator[bytes]:
            yield b'{"type": "something"}\n'
            for _ in range(60):
                asked[0] += 1
                yield b"x" * 10_000

        told = http.post(f"{server.url}/v1/import", content=pieces(), headers=LINES, timeout=HANG_S)
        assert told.status_code == 422
        assert "rem export" in told.json()["detail"]

    @pytest.mark.parametrize("line", [b"x" * 100_000, b"\n" * 100_000, b"[1]\n" + b"y" * 100])
    def test_nor_is_its_first_line_waited_for(self, server: Served, line: bytes) -> None:
        told = http.post(f"{server.url}/v1/import", content=line, headers=LINES, timeout=HANG_S)
        assert told.status_code == 422, told.text

    def test_an_import_has_an_end(self, server: Served) -> None:
        export = http.get(f"{server.url}/v1/export").content
        first = export.splitlines(keepends=True)[0]
        body = first + b" " * 1_100_000
        told = http.post(f"{server.url}/v1/import", content=body, headers=LINES, timeout=HANG_S)
        assert told.status_code == 413
        assert "max_import_mb" in told.json()["detail"]
        done = http.post(f"{server.url}/v1/import", content=export, headers=LINES, timeout=HANG_S)
        assert done.status_code == 200, done.text

    def test_they_are_written_down_beside_the_event_loop(
        self, server: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        where: list[str] = []
        kind = type(server.app.state.audit)
        monkeypatch.setattr(
            kind, "record", lambda *_: where.append(threading.current_thread().name)
        )
        export = http.get(f"{server.url}/v1/export").content
        http.post(f"{server.url}/v1/import", content=export, headers=LINES)
        assert [one.partition("_")[0] for one in where] == ["call", "call"]

    def test_only_so_many_exports_at_a_time(
        self, server: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        go_on = threading.Event()

        def slow(_: Memory, file: Any, *_others: Any) -> None:
            file.write(b"{}\n")
            file.flush()
            go_on.wait(HANG_S)

        monkeypatch.setattr(transfers, "export_memory", slow)
        url, key = f"{server.url}/v1/export", server.key("read", tenant="a")
        other = server.key("read", tenant="a", name="other")
        with ExitStack() as streams:

            def begun(key: str) -> httpx.Response:
                asked = http.stream("GET", url, headers=bearer(key), timeout=HANG_S)
                return streams.enter_context(asked)

            assert [begun(key).status_code for _ in range(3)] == [200, 200, 429]
            assert [begun(other).status_code for _ in range(3)] == [200, 200, 429]
            told = begun(server.key("read", tenant="a", name="third"))
            assert (told.status_code, told.headers["retry-after"]) == (429, "1")
            assert begun(server.key("read", tenant="b")).status_code == 200
            go_on.set()
        assert self.free(server)

    def test_a_reader_who_takes_nothing_is_let_go(
        self, hasty: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ended = threading.Event()

        def endless(_: Memory, file: Any, *_others: Any) -> None:
            try:
                while True:
                    file.write(b"x" * 65_536)
            finally:
                ended.set()

        monkeypatch.setattr(transfers, "export_memory", endless)
        with closing(connected(hasty)) as line:
            line.sendall(head(hasty, b"\r\n").replace(b"/health", b"/v1/export"))
            assert ended.wait(HANG_S)
        assert self.free(hasty)

    @staticmethod
    def free(server: Served) -> bool:
        """Whether nobody holds an export or an import any more."""
        state = server.app.state
        return until(lambda: not state.exports.in_use and not state.imports.in_use)


def test_a_failure_is_logged_without_the_path(
    server: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(MemoryService, "get", fails)
    told = http.get(f"{server.url}/v1/memories/the-secret-id")
    assert told.status_code == 500
    assert json.loads(told.content)["request_id"]
    assert "the-secret-id" not in caplog.text
