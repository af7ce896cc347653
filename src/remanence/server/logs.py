"""Structured logs: one line for each request, and what went wrong. No text, no key, no query."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

from remanence.server.access.request import request_id
from remanence.server.guard import Seen

NAME = "remanence"
_QUIET = frozenset({"/health", "/ready", "/metrics"})


def set_up(format: str) -> None:
    """Send the logs of this process to stderr, as lines for people or as JSON."""
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _with_request,
        structlog.processors.format_exc_info,
    ]
    last: Any = structlog.processors.JSONRenderer()
    if format == "text":
        last = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    formatter = structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processor=last)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for name in ("uvicorn.access", "httpx", "httpcore", "mcp"):
        logging.getLogger(name).setLevel(logging.WARNING)


def log_request(seen: Seen) -> None:
    """One line for a request that is over."""
    if seen.path in _QUIET and seen.status < 400:
        return
    level = logging.ERROR if seen.status >= 500 else logging.INFO
    told = f"{seen.method} {seen.path} {seen.status} {seen.seconds * 1000:.1f} ms"
    fields = {"caller": seen.caller, "tenant": seen.tenant, "id": seen.request_id}
    logging.getLogger(f"{NAME}.requests").log(level, told, extra={"fields": fields})


def _with_request(_logger: Any, _method: str, event: dict[str, Any]) -> dict[str, Any]:
    record = event.get("_record")
    fields = getattr(record, "fields", None) or {"id": request_id.get("")}
    return event | {name: value for name, value in fields.items() if value}
