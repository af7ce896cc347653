"""A call that takes too long is answered 503 in each dialect, and its tenant's others go on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from remanence.api.memory import Memory
from remanence.api.service import MemoryService
from remanence.model import deadline
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving
from support import http
from support.neighbours import street


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(Memory(":memory:", embedder="none"), call_timeout_s=0.2) as server:
        yield server


@pytest.fixture
def client(served: Served) -> Iterator[httpx.Client]:
    with http.Client(base_url=served.url, timeout=HANG_S) as client:
        yield client


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searching and adding go on until they are stopped."""

    def never_done(*_: Any, **__: Any) -> Any:
        while True:
            deadline.check()

    monkeypatch.setattr(MemoryService, "search", never_done)
    monkeypatch.setattr(MemoryService, "add", never_done)


@pytest.mark.usefixtures("endless")
def test_over_rest_it_is_a_problem_that_says_what_to_do(client: httpx.Client) -> None:
    answer = client.post("/v1/search", json={"query": "anything"})
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (503, "urn:remanence:deadline")
    assert answer.headers["content-type"] == "application/problem+json"
    for said in ("0.2 s", "nothing was changed", "call_timeout_s", "respond-async"):
        assert said in problem["detail"]
    assert "retry-after" not in answer.headers  # the same again would take as long


def test_a_key_of_a_call_that_was_stopped_is_free_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any, **__: Any) -> Any:
        with deadline.within(deadline.Deadline(0)):
            deadline.check()

    with (
        serving(Memory(":memory:", embedder="none")) as server,
        http.Client(base_url=server.url, timeout=HANG_S) as client,
    ):
        sent: dict[str, Any] = {"json": {"text": "Ana"}, "headers": {"idempotency-key": "k"}}
        with monkeypatch.context() as patch:
            patch.setattr(MemoryService, "add", stopped)
            assert client.post("/v1/memories", **sent).status_code == 503
        said = client.post("/v1/memories", **sent).raise_for_status().json()
        assert client.post("/v1/memories", **sent).json()["id"] == said["id"]
        pin: dict[str, Any] = {"json": {}, "headers": {"idempotency-key": "p"}}
        path = f"/v1/memories/{said['id']}/pin"
        with monkeypatch.context() as patch:
            patch.setattr(MemoryService, "pin", stopped)
            assert client.put(path, **pin).status_code == 503
        assert client.put(path, **pin).status_code == 200
        assert client.post("/v1/memories/count", json={}).json()["count"] == 1


@pytest.mark.usefixtures("endless")
def test_over_mem0_it_is_an_error_of_its_form(client: httpx.Client) -> None:
    answer = client.post("/v3/memories/search/", json={"query": "x", "filters": {"user_id": "a"}})
    assert answer.status_code == 503
    assert "nothing was changed" in answer.text


@pytest.mark.usefixtures("endless")
def test_over_mcp_the_model_is_told(client: httpx.Client) -> None:
    headers = {"accept": "application/json, text/event-stream"}
    call = {"name": "search_memories", "arguments": {"query": "x"}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    told = client.post("/mcp", json=asked, headers=headers)
    assert "nothing was changed" in told.text


def test_what_takes_long_has_no_deadline(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[float] = []

    def forget(*_: Any, **__: Any) -> Any:
        ends.append(deadline.left(1e9))
        raise deadline.Deadline(0).error()

    monkeypatch.setattr(MemoryService, "forget", forget)
    client.post("/v1/memories/forget", json={"user_id": "ana", "erase": True})
    client.delete("/v1/memories/?user_id=ana")  # mem0's
    assert ends == [1e9, 1e9]


def test_a_quiet_tenant_sees_no_error_beside_a_loud_one(tmp_path: Any) -> None:
    with street(tmp_path / "memory.db") as both:
        both.fill()
        with both.noise(lines=3, size=20_000) as loud:
            seen = both.ask(12)
            more = both.ask(12)
    assert (seen.errors, more.errors) == (0, 0), (seen.answers, more.answers)
    assert sum(loud.answers.values()) > 0
