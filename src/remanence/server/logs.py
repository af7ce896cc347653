"""Structured logs: one line for each request, and what went wrong. No text, no key, no query.

Python's own logging on purpose: structlog loads Rich with it, 4 MB for what two formatters do.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus

from remanence.config import shown
from remanence.errors import RemanenceError
from remanence.server.access.caller import request_id

NAME = "remanence"
_QUIET = frozenset({"/health", "/ready", "/metrics"})
_CHATTY = ("uvicorn.access", "httpx", "httpcore", "mcp", "opentelemetry")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRequest:
    """A request that is over, as the log and the figures have it; nothing of what it said."""

    method: str
    path: str
    status: int
    seconds: float
    caller: str
    tenant: str
    request_id: str


class LineFormatter(logging.Formatter):
    """A record as a line for people."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and below it the exception if there is one."""
        fields = " ".join(f"{name}={value}" for name, value in fields_of(record).items())
        line = f"{moment_of(record)} {record.levelname.lower():8} {said(record)}"
        return "\n".join(
            filter(None, (f"{line}  [{record.name}] {fields}".rstrip(), raised(record)))
        )


class JsonFormatter(logging.Formatter):
    """A record as a JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The object."""
        told = {"event": said(record), "level": record.levelname.lower()}
        told |= {"logger": record.name, "timestamp": moment_of(record), **fields_of(record)}
        if trace := raised(record):
            told["exception"] = trace
        return json.dumps(told, ensure_ascii=False)


def set_up(format: str) -> None:
    """Send the logs of this process to stderr, as lines for people or as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(format))
    handler.addFilter(once)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)


def formatter(format: str) -> logging.Formatter:
    """What makes a line of a record."""
    return LineFormatter() if format == "text" else JsonFormatter()


def log_request(seen: LoggedRequest) -> None:
    """One line for a request that is over."""
    if seen.path in _QUIET and seen.status < 400:
        return
    failed = seen.status >= 500 and seen.status != HTTPStatus.NOT_IMPLEMENTED  # a plain answer
    level = logging.ERROR if failed else logging.INFO
    told = f"{seen.method} {seen.path} {seen.status} {seen.seconds * 1000:.1f} ms"
    fields = {"caller": seen.caller, "tenant": seen.tenant, "id": seen.request_id}
    logging.getLogger(f"{NAME}.requests").log(level, told, extra={"fields": fields})


def once(record: logging.LogRecord) -> bool:
    """Whether a record is written: an error that was told already is not told again."""
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return True
    told: bool = getattr(error, "told_in_log", False)
    with suppress(AttributeError):  # one that takes no attribute is told twice
        error.told_in_log = True  # type: ignore[attr-defined]
    return not told


def moment_of(record: logging.LogRecord) -> str:
    """When it was, in UTC."""
    return datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z")


def fields_of(record: logging.LogRecord) -> dict[str, str]:
    """What the record tells besides its words."""
    fields = getattr(record, "fields", None) or {"id": request_id.get("")}
    return {name: value for name, value in fields.items() if value}


def said(record: logging.LogRecord) -> str:
    """The record's words, without those of an error that is not ours: they may be anybody's."""
    line = record.getMessage().strip()
    for each in _chain(record):
        if not isinstance(each, RemanenceError) and str(each):
            line = line.replace(str(each), "…")
    return line


def raised(record: logging.LogRecord) -> str:
    """Of what kind an error is and where it happened; only our own say what, too."""
    return "\n".join(line for each in _chain(record) for line in _told(each))


def _told(error: BaseException) -> Iterator[str]:
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    yield f"{kind}: {shown(str(error))}" if isinstance(error, RemanenceError) else kind
    for frame in traceback.extract_tb(error.__traceback__):
        yield f"  {frame.filename}:{frame.lineno} in {frame.name}"


def _chain(record: logging.LogRecord) -> Iterator[BaseException]:
    """The record's error and what caused it, each once."""
    seen: set[int] = set()
    current = record.exc_info[1] if record.exc_info else None
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__
