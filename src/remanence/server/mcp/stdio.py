"""MCP over standard input and output: for a client that starts the server itself."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from remanence.clock import SystemClock
from remanence.config import Settings
from remanence.memory import Memory
from remanence.server.access.audit import Audit
from remanence.server.access.gate import Gate
from remanence.server.calls import Calls
from remanence.server.door import Door
from remanence.server.mcp.server import make_mcp
from remanence.server.mcp.visitor import Visitor
from remanence.server.tenants import Tenants
from remanence.text.redaction import redactor


def serve_stdio(
    memory: Memory, settings: Settings, *, profile: str, scope: Mapping[str, str]
) -> None:
    """Serve until the input ends. Whoever started it is the local caller; logs go to stderr."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, force=True)
    audit = Audit(memory.parts.store, SystemClock())
    redact = redactor(settings.redact) if settings.redact else None
    door = Door(Tenants(memory), recorder=audit, redact=redact)
    visitor = Visitor(caller=Gate(memory.tenant).local, scope=scope)
    calls = Calls(settings.calls, settings.call_timeout_s or None)
    try:
        server = make_mcp(door, calls, profile=profile, visitor_of=lambda _: visitor)
        anyio.run(_serve, server)
    finally:
        calls.close()


async def _serve(server: Any) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
