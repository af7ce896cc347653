"""A server without its model says what is missing; where on the machine, only to an admin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remanence import Memory
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving
from support import http

DOORS = {
    "search": ("POST", "/v1/search", {"query": "parrot"}),
    "context": ("POST", "/v1/context", {"query": "parrot"}),
    "mcp": (
        "POST",
        "/mcp",
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "search_memories", "arguments": {"query": "parrot"}},
        },
    ),
    "an older dialect": ("GET", "/memory/retrieve?q=parrot", None),
}


@pytest.fixture
def blind(tmp_path: Path) -> Iterator[Served]:
    folder = tmp_path / "secret-folder"
    folder.mkdir()
    memory = Memory(tmp_path / "memory.db", embedder=str(folder), cache=folder)
    memory.add("The parrot repeats every word")
    with serving(memory) as served:
        yield served


def told(served: Served, door: str, key: str | None) -> str:
    method, path, body = DOORS[door]
    headers = {"accept": "application/json, text/event-stream"}
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    answer = http.request(method, served.url + path, json=body, headers=headers, timeout=HANG_S)
    assert answer.status_code == 200, answer.text
    return f"{answer.headers} {answer.text}"


@pytest.mark.parametrize("door", DOORS)
def test_where_the_model_should_be_is_for_admins_alone(blind: Served, door: str) -> None:
    assert "secret-folder" in told(blind, door, None)
    admin, reader = blind.key("admin"), blind.key("read", "write")
    assert "secret-folder" in told(blind, door, admin)
    hidden = told(blind, door, reader)
    assert "secret-folder" not in hidden
    assert str(Path.home()) not in hidden
    assert "vectors: not there now" in hidden
