"""`rem serve`: the memory for other programs, until it is told to stop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remanence.cli.common import Database, Tenant, opening
from remanence.cli.outcome import Form, guarded
from remanence.operations.operation import Group

if TYPE_CHECKING:
    from remanence.config import Settings
    from remanence.memory import Memory

Host = Annotated[
    str | None, typer.Option(help="the address to listen at; any but loopback needs keys")
]
Port = Annotated[int | None, typer.Option("--port", "-p", min=0, max=65_535, help="the port")]
Workers = Annotated[
    int | None, typer.Option("--workers", "-w", min=1, help="processes that share the store")
]
Tools = Annotated[str | None, typer.Option(help="which tools MCP shows: default, graph or full")]
Sample = Annotated[bool, typer.Option("--sample", help="load a sample conversation the first time")]
JSON = "content-type:application/json"
TRY = """
Remanence {version} at {url} (Ctrl-C stops it). Three things to try:

  curl '{url}/memory/retrieve?q={asked}&k=2{whose}'
  curl {url}/memory/store -H {json} -d '{{"context": "Ana moved to Lisbon"}}'
  curl {url}/v1/search -H {json} -d '{{"query": "where does Ana live?"}}'

Agents: MCP at {url}/mcp · OpenAI-compatible at {url}/v1 · API at {url}/openapi.json
"""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve", rich_help_panel=Group.CARE.value)(_serve)


def _serve(
    context: typer.Context,
    host: Host = None,
    port: Port = None,
    workers: Workers = None,
    tools: Tools = None,
    sample: Sample = False,
    database: Database = None,
    tenant: Tenant = None,
) -> None:
    """Serve the memory: REST, MCP, mem0's and OpenAI's dialects, on 127.0.0.1:8005.

    Without keys only this machine may call; `rem keys create` makes one.
    """
    with guarded(Form.HUMAN):
        _check_installed()
        given: dict[str, Any] = {"host": host, "port": port, "workers": workers, "tools": tools}
        wanted = {name: value for name, value in given.items() if value is not None}
        asked = opening(context, database, tenant)
        _run(replace(asked.settings(), **wanted), sample)


def _run(settings: Settings, sample: bool) -> None:
    from remanence.clock import SystemClock
    from remanence.memory import Memory
    from remanence.server.access.keys import Keys
    from remanence.server.app import memory_settings
    from remanence.server.serving import check_bind, check_shared, listen, serve, serve_many

    check_shared(settings)
    memory = Memory(settings.database_url, **memory_settings(settings))
    try:
        check_bind(settings, Keys(memory.parts.store, SystemClock()))
        at = listen(settings)
        settings = replace(settings, port=at.getsockname()[1])
        loaded = sample and _load_sample(memory)
        typer.echo(_welcome(settings, sample or loaded), err=True)
        if settings.workers == 1:
            serve(settings, memory, at)
            return
    finally:
        memory.close()
    serve_many(settings, at)


def _load_sample(memory: Memory) -> bool:
    """Put the sample conversation into a memory that does not have it yet."""
    from remanence.cli.demo import USER, remember_sample

    if memory.count(user_id=USER):
        return False
    remember_sample(memory)
    return True


def _welcome(settings: Settings, sample: bool) -> str:
    from remanence.version import __version__

    anywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - no name to call it by
    host = anywhere.get(settings.host, settings.host)
    host = f"[{host}]" if ":" in host else host
    asked, whose = ("where+does+Ana+live", "")
    if sample:
        asked, whose = "what+is+Tom+allergic+to", "&user_id=demo"
    url = f"http://{host}:{settings.port}"
    return TRY.format(json=JSON, version=__version__, url=url, asked=asked, whose=whose)


def _check_installed() -> None:
    from importlib.util import find_spec

    from remanence.errors import ConfigError

    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise ConfigError("The server is not installed: `pip install 'remanence[server]'`.")
