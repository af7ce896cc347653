"""Long runs told as events, and whole memories as streams in and out."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.api.service import MemoryService
from remanence.api.verb import AnyVerb
from remanence.api.verbs.table import served
from remanence.errors import StoreBusy
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving
from support import http

EVENTS = {"accept": "text/event-stream"}
LINES = {"content-type": "application/x-ndjson"}
LONG = [each for each in served() if each.reports]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with serving(Memory(tmp_path / "memory.db")) as served:
        yield served


def events(body: str) -> list[tuple[str, Any]]:
    """The events of a stream; comments are passed over."""
    found = []
    for part in body.split("\n\n"):
        lines = [line for line in part.split("\n") if line and not line.startswith(":")]
        if lines:
            named, data = lines
            told = json.loads(data.removeprefix("data: "))
            found.append((named.removeprefix("event: "), told))
    return found


def settled(answer: Any) -> Any:
    """An answer without what differs from run to run."""
    if isinstance(answer, dict):
        own = ("id", "at", "began_at", "ended_at", "started_at", "seconds", "took_s", "took_ms")
        return {name: settled(one) for name, one in answer.items() if name not in own}
    return [settled(one) for one in answer] if isinstance(answer, list) else answer


class TestEvents:
    @pytest.mark.parametrize("route", LONG, ids=lambda route: route.name)
    def test_a_long_run_tells_of_itself_and_gives_the_same_answer(
        self, route: AnyVerb, server: Served
    ) -> None:
        server.memory.add_many([f"note {n} about the garden" for n in range(5)])
        url = server.url + route.path
        plain = http.request(route.method, url, timeout=HANG_S)
        told = http.request(route.method, url, headers=EVENTS, timeout=HANG_S)
        assert plain.status_code == 200, plain.text
        assert told.headers["content-type"].startswith("text/event-stream")
        *reports, (last, answer) = events(told.text)
        assert last == "result", answer
        assert settled(answer).keys() == settled(plain.json()).keys()
        assert {name for name, _ in reports} <= {"progress"}
        assert all(0 <= one["done"] <= one["total"] for _, one in reports)

    def test_progress_is_told_and_the_result_is_the_json_answer(self, server: Served) -> None:
        server.memory.add_many([f"note {n}" for n in range(50)])
        told = http.post(f"{server.url}/v1/admin/reembed", headers=EVENTS, timeout=HANG_S)
        plain = http.post(f"{server.url}/v1/admin/reembed", timeout=HANG_S)
        assert settled(events(told.text)[-1][1]) == settled(plain.json())

    def test_an_error_is_an_event_too(
        self, server: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(*_: Any, **__: Any) -> Any:
            raise StoreBusy("somebody else writes at /srv/secret.db")

        monkeypatch.setattr(MemoryService, "reembed", fails)
        headers = EVENTS | {"x-request-id": "long-1"}
        told = http.post(f"{server.url}/v1/admin/reembed", headers=headers)
        ((name, problem),) = events(told.text)
        assert name == "error"
        assert (problem["status"], problem["type"]) == (503, "urn:remanence:store-busy")
        assert problem["request_id"] == "long-1"
        assert "secret" not in told.text

    def test_what_is_malformed_is_refused_before_any_event(self, server: Served) -> None:
        body = {"colour": "blue"}
        told = http.post(f"{server.url}/v1/sleep/runs", json=body, headers=EVENTS)
        assert told.status_code == 400
        assert told.headers["content-type"] == "application/problem+json"

    def test_what_was_begun_is_finished_though_nobody_listens(
        self, server: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun, go_on, done = threading.Event(), threading.Event(), threading.Event()
        real = MemoryService.reembed

        def slow(memory: MemoryService, *given: Any, **more: Any) -> Any:
            begun.set()
            go_on.wait(HANG_S)
            answer = real(memory, *given, **more)
            done.set()
            return answer

        monkeypatch.setattr(MemoryService, "reembed", slow)
        with http.stream("POST", f"{server.url}/v1/admin/reembed", headers=EVENTS):
            assert begun.wait(HANG_S)
        go_on.set()
        assert done.wait(HANG_S)


class TestTransfers:
    @pytest.fixture
    def filled(self, server: Served) -> Served:
        made = server.memory.add("Ana moved to Lisbon", user_id="ana", metadata={"n": 1})
        server.memory.update(made.id, text="Ana moved to Porto")
        server.memory.blocks.create("human", "Ana likes boats", user_id="ana")
        server.memory.facts.add("Ana", "works at", "the bakery", user_id="ana")
        return server

    def test_there_and_back(self, filled: Served, tmp_path: Path) -> None:
        out = http.get(f"{filled.url}/v1/export", timeout=HANG_S)
        assert out.headers["content-type"].startswith("application/x-ndjson")
        lines = [json.loads(line) for line in out.text.splitlines()]
        assert lines[-1]["type"] == "end"
        with serving(Memory(tmp_path / "other.db")) as other:
            key = other.key(tenant="acme")
            headers = LINES | {"authorization": f"Bearer {key}"}
            url = f"{other.url}/v1/import"
            done = http.post(url, content=out.content, headers=headers, timeout=HANG_S)
            assert done.status_code == 200, done.text
            assert (done.json()["memories"], done.json()["skipped"]) == (1, 0)
            again = http.post(url, content=out.content, headers=headers, timeout=HANG_S).json()
            assert (again["memories"], again["skipped"]) == (0, 1)
            back = http.get(f"{other.url}/v1/export", headers=headers, timeout=HANG_S)
            kept: dict[str, Any] = {"headers": headers, "params": {"user_id": "ana"}}
            assert http.get(f"{other.url}/v1/blocks/human", **kept).json()["value"]
            assert http.get(f"{other.url}/v1/facts", **kept).json()["facts"]
        assert self.told(back.text) == self.told(out.text)

    @staticmethod
    def told(text: str) -> list[Any]:
        """The memories of an export, whoever's they are."""
        lines = [json.loads(line) for line in text.splitlines()]
        found = [one for one in lines if one["type"] not in ("remanence-export", "end")]
        for one in found:
            one.pop("tenant", None)
        return sorted(found, key=lambda one: json.dumps(one, sort_keys=True))

    def test_an_export_holds_nothing_of_another_tenant(self, server: Served) -> None:
        server.memory.add("of the default tenant")
        headers = {"authorization": f"Bearer {server.key(tenant='acme')}"}
        out = http.get(f"{server.url}/v1/export", headers=headers, timeout=HANG_S)
        assert "of the default tenant" not in out.text
        assert "rem_" not in out.text

    def test_an_import_may_be_larger_than_a_body(self, tmp_path: Path) -> None:
        big = "wide open fields " * 400
        with serving(Memory(tmp_path / "a.db")) as server:
            for n in range(4):
                server.memory.add(f"{n} {big}")
            out = http.get(f"{server.url}/v1/export", timeout=HANG_S).content
        assert len(out) > 20_000

        def pieces() -> Iterator[bytes]:
            for start in range(0, len(out), 5_000):
                yield out[start : start + 5_000]

        with serving(Memory(tmp_path / "b.db"), max_body_mb=0.01) as server:
            over = http.post(f"{server.url}/v1/memories", json={"text": big * 2})
            assert over.status_code == 413
            url = f"{server.url}/v1/import"
            done = http.post(url, content=pieces(), headers=LINES, timeout=HANG_S)
            assert done.json()["memories"] == 4

    def test_an_import_that_is_none_changes_nothing(self, server: Served) -> None:
        url = f"{server.url}/v1/import"
        for content in (b"", b"{}", b"[1]\n", b"nonsense\n", b"\xff\xfe\n", b'{"type":"header"}\n'):
            assert http.post(url, content=content, headers=LINES).status_code in (400, 422)
        other = http.post(url, json={"type": "header"})
        assert other.status_code == 400
        assert server.memory.count() == 0

    @pytest.mark.parametrize("limited", [{"trust": 0.5}, {"quarantine": True}])
    def test_a_key_of_limited_trust_imports_nothing(
        self, server: Served, limited: dict[str, Any]
    ) -> None:
        key = server.key("read", "write", **limited)
        headers = LINES | {"authorization": f"Bearer {key}"}
        answer = http.post(f"{server.url}/v1/import", content=b"{}\n", headers=headers)
        assert answer.status_code == 403

    def test_a_client_that_leaves_midway_holds_nothing_up(self, server: Served) -> None:
        wide = {"kept": "far and wide " * 4_000}
        server.memory.add_many([{"text": f"note {n}", "metadata": wide} for n in range(200)])
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as line:
            line.sendall(b"GET /v1/export HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert line.recv(100).startswith(b"HTTP/1.1 200")
        with socket.create_connection((host, int(port))) as line:
            head = b"POST /v1/import HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9999\r\n"
            line.sendall(head + b"content-type: application/x-ndjson\r\n\r\n" + b'{"type":')
        for one in [each for each in threading.enumerate() if each.name == "export"]:
            one.join(HANG_S)
            assert not one.is_alive()
        whole = http.get(f"{server.url}/v1/export", timeout=HANG_S)
        assert json.loads(whole.text.splitlines()[-1])["type"] == "end"
