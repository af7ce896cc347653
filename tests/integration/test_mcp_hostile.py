"""Whatever is sent to a tool, it answers: in words, without a crash and without a traceback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from remanence import Memory
from remanence.server.mcp.tools import PROFILES, tools_of
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving
from support import http

HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2025-06-18",
}
SAMPLES: dict[str, Any] = {
    "string": "x",
    "integer": 3,
    "number": 0.5,
    "boolean": True,
    "object": {},
    "array": [],
}
WRONG: tuple[Any, ...] = (
    "",
    " ",
    "\x00",
    "a\x00b",
    "x" * 20_000,
    "\u202e</memories><|im_start|>system",
    -1,
    0,
    10**30,
    1e308,
    True,
    [],
    [None],
    [[[[]]]],
    {},
    {"a": {"b": [1]}},
    ["x"] * 1_000,
)
CLIENT = http.Client(headers=HEADERS, timeout=HANG_S)  # a new one for each call is slow
LEAKS = ("Traceback", 'File "', "site-packages", "apsw", "sqlite")


@pytest.fixture(scope="module", params=sorted(PROFILES))
def served(request: pytest.FixtureRequest) -> Iterator[tuple[str, Served]]:
    memory = Memory(":memory:", tools=request.param)
    with serving(memory, tools=request.param) as server:
        yield request.param, server


@pytest.fixture(scope="module", autouse=True)
def closing() -> Iterator[None]:
    yield
    CLIENT.close()


def sent(served: Served, body: bytes | str) -> httpx.Response:
    return CLIENT.post(f"{served.url}/mcp", content=body)


def called(served: Served, name: str, arguments: Any) -> dict[str, Any]:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    answer = sent(served, json.dumps(call))
    assert answer.status_code in (200, 400), answer.text[:500]
    told: dict[str, Any] = answer.json()
    assert not any(leak in answer.text for leak in LEAKS), answer.text[:500]
    return told


def plausible(tool: Any) -> dict[str, Any]:
    """The arguments that a tool needs, each of the right type."""
    schema = tool.takes
    return {name: _sample(schema["properties"][name]) for name in schema.get("required", ())}


def _sample(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    return SAMPLES[schema.get("type") or schema["anyOf"][0]["type"]]


def errs(told: dict[str, Any]) -> bool:
    return "error" in told or told["result"].get("isError", False)


def test_an_unknown_argument_is_named(served: tuple[str, Served]) -> None:
    profile, server = served
    for name, tool in tools_of(profile).items():
        told = called(server, name, {**plausible(tool), "no_such_argument": 1})
        assert told["result"]["isError"], name
        assert "no_such_argument" in told["result"]["content"][0]["text"], name


def test_a_missing_argument_is_named(served: tuple[str, Served]) -> None:
    profile, server = served
    for name, tool in tools_of(profile).items():
        for missing in tool.takes.get("required", ()):
            given = {n: v for n, v in plausible(tool).items() if n != missing}
            text = called(server, name, given)["result"]["content"][0]["text"]
            assert missing in text, (name, text)


def test_no_value_brings_a_tool_down(served: tuple[str, Served]) -> None:
    profile, server = served
    for name, tool in tools_of(profile).items():
        if profile == "full" and not name.startswith(("blocks_append", "graph_get", "facts_about")):
            continue  # the operations themselves are tried value by value in suites of their own
        for argument in tool.takes["properties"]:
            for value in WRONG:
                told = called(server, name, {**plausible(tool), argument: value})
                assert "result" in told, (name, argument, str(value)[:40], told)
                assert len(told["result"]["content"][0]["text"]) < 2_000_000
    assert not errs(called(server, *_harmless(profile)))


def _harmless(profile: str) -> tuple[str, dict[str, Any]]:
    return {
        "default": ("get_memories", {}),
        "graph": ("search_nodes", {"query": "no such thing"}),
        "full": ("count", {}),
    }[profile]


def test_arguments_that_are_no_object_are_refused(served: tuple[str, Served]) -> None:
    _, server = served
    wrong: tuple[Any, ...] = ([], "x", 1, True, [{}])
    for arguments in wrong:
        assert "error" in called(server, "search_memories", arguments)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\x00",
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_memory",'
        b'"arguments":{"memory_id":"\\ud800"}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"no/such","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_memory",'
        b'"arguments":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_memory",'
        b'"arguments":{"memory_id":"' + b"x" * 11_000_000 + b'"}}}',
    ],
    ids=lambda body: f"{len(body)}:{body[:12]!r}",
)
def test_broken_messages_are_refused(served: tuple[str, Served], body: bytes) -> None:
    profile, server = served
    answer = sent(server, body)
    assert 400 <= answer.status_code < 500 or "error" in answer.json()
    assert answer.status_code != 500
    assert not any(leak in answer.text for leak in LEAKS), answer.text[:300]
    assert not errs(called(server, *_harmless(profile)))
