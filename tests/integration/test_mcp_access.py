"""Who may do what over MCP, with the official client; and when the SDK is loaded."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from remanence.api.verb import Grant, Scoping
from remanence.api.verbs import table
from remanence.server.mcp.tools import PROFILES, tools_of
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving
from support import http

from .test_server_access import GRANTS, allowed, only_tells

READING = {"search_memories", "get_memories", "get_memory", "get_context"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as server:
        server.key(name="first")
        yield server


def asked(served: Served, key: str, work: Callable[[Client], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        import httpx2

        headers = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(f"{served.url}/mcp", http_client=http)
            async with Client(transport) as client:
                return await work(client)

    return asyncio.run(run())


def test_a_reading_key_sees_and_calls_reading_tools_only(served: Served) -> None:
    writer, reader = served.key("read", "write", name="w"), served.key("read", name="r")

    async def add(client: Client) -> Any:
        assert {tool.name for tool in (await client.list_tools()).tools} == set(tools_of("default"))
        return await client.call_tool("add_memory", {"text": "Ana likes tea."})

    id = asked(served, writer, add).structured_content["id"]

    async def look(client: Client) -> None:
        shown = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(shown) == READING
        hints = [tool.annotations for tool in shown.values()]
        assert all(each is not None and each.read_only_hint for each in hints)
        found = await client.call_tool("get_memory", {"memory_id": id})
        assert found.structured_content["text"] == "Ana likes tea."
        for name, arguments in (
            ("add_memory", {"text": "x"}),
            ("update_memory", {"memory_id": id, "text": "x"}),
            ("delete_memory", {"memory_id": id}),
            ("add_conversation", {"messages": [], "session_id": "s"}),
        ):
            refused = await client.call_tool(name, arguments)
            assert refused.is_error
            assert "scope `write`" in str(refused.content)
        assert {each.name for each in (await client.list_prompts()).prompts} == {
            "recall",
            "remember",
            "reflect",
        }

    asked(served, reader, look)


def test_one_tenant_never_sees_another(served: Served) -> None:
    ours, theirs = served.key(tenant="a", name="a"), served.key(tenant="b", name="b")

    async def add(client: Client) -> Any:
        return await client.call_tool("add_memory", {"text": "The secret word is marmalade."})

    id = asked(served, ours, add).structured_content["id"]

    async def look(client: Client) -> None:
        found = await client.call_tool("search_memories", {"query": "marmalade"})
        assert found.structured_content["memories"] == []
        assert (await client.call_tool("get_memory", {"memory_id": id})).is_error
        read = await client.read_resource("memory://recent")
        assert "marmalade" not in str(read.contents)

    asked(served, theirs, look)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_nobody_comes_in_without_a_key(served: Served, path: str) -> None:
    for key in ({}, {"Authorization": "Bearer nonsense"}):
        answer = http.post(f"{served.url}{path}", json=HELLO, headers={**ACCEPT, **key})
        assert answer.status_code == 401
    good = {"Authorization": f"Token {served.key('read', name='t')}"}
    answer = http.post(f"{served.url}{path}", json=HELLO, headers={**ACCEPT, **good})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/json")
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({}, 200),
    ],
)
def test_foreign_hosts_and_pages_are_refused(headers: dict[str, str], status: int) -> None:
    with serving() as server:
        answer = http.post(f"{server.url}/mcp", json=HELLO, headers={**ACCEPT, **headers})
        assert answer.status_code == status


def test_a_message_that_no_guard_let_in_is_refused() -> None:
    """Behind the guard a caller is always known; without one, no tool is even listed."""
    from starlette.applications import Starlette
    from starlette.testclient import TestClient

    from remanence.server.mcp.mounting import mount_mcp

    with serving() as server:
        bare = Starlette(lifespan=lambda app: app.state.closing[0](app))
        for name in ("door", "calls", "settings"):
            setattr(bare.state, name, getattr(server.app.state, name))
        bare.state.closing = []
        mount_mcp(bare)
        with TestClient(bare, base_url="http://127.0.0.1") as client:
            call = {"method": "tools/call", "params": {"name": "get_memories", "arguments": {}}}
            for message in (LIST, {**LIST, **call}):
                answer = client.post("/mcp", json=message, headers=ACCEPT).json()
                assert "result" not in answer
                assert "Send a key" in answer["error"]["message"]


def test_an_unknown_tool_is_an_error_of_the_protocol(served: Served) -> None:
    async def work(client: Client) -> None:
        with pytest.raises(MCPError, match="no tool 'nothing'"):
            await client.call_tool("nothing", {})

    asked(served, served.key(name="u"), work)


@pytest.fixture(scope="module")
def full() -> Iterator[Served]:
    with serving(tools="full") as server:
        server.key(name="first")
        yield server


def told(server: Served, key: str, method: str, **params: Any) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {**ACCEPT, "Authorization": f"Bearer {key}"}
    answer = http.post(f"{server.url}/mcp", json=message, headers=headers, timeout=HANG_S)
    found: dict[str, Any] = answer.raise_for_status().json()["result"]
    return found


@pytest.mark.parametrize("grants", GRANTS, ids=lambda some: "+".join(sorted(some)))
def test_every_operation_lets_in_whom_it_lets_in_elsewhere(
    grants: set[Grant], full: Served
) -> None:
    """The matrix of scopes that tests/integration/test_server_access.py has for served."""
    own, key = frozenset(grants), full.key(*grants)
    seen = {tool["name"] for tool in told(full, key, "tools/list")["tools"]}
    for route in table.served():
        name, of_all = (
            route.name.replace(".", "_"),
            route.scope is Scoping.STORE,
        )
        may = all(allowed(own, one) for one in route.needs) and not of_all
        assert (name in seen) == may, name
        may = may and (allowed(own, Grant.READ) or not only_tells(route))
        answer = told(full, key, "tools/call", name=name, arguments={})
        said = " ".join(part.get("text", "") for part in answer["content"])
        refused = bool(answer.get("isError")) and ("scope `" in said or "operator" in said)
        assert refused != may, (name, said)
        assert not refused or answer.get("structuredContent") is None
    assert seen <= {route.name.replace(".", "_") for route in table.served()}


def test_hints_follow_from_the_operations() -> None:
    for profile in PROFILES:
        for tool in tools_of(profile).values():
            assert tool.about.strip()
            assert tool.takes["additionalProperties"] is False
            assert tool.writes == any(each.writes for each in tool.operations)
            for name, field in tool.takes["properties"].items():
                assert field["description"].strip(), (tool.name, name)


def test_the_sdk_is_loaded_by_the_first_message_only() -> None:
    code = (
        "import sys; from remanence.server.app import make_app; "
        "import remanence.server.mcp.tools, remanence.cli.app; "
        "sys.exit('mcp' in sys.modules or 'mcp_types' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=HANG_S)
    assert done.returncode == 0
