"""Private data is taken out of what callers write; what names things stays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Redact = Callable[[str], str]
# Fields of a request that name things rather than say something.
NAMES = frozenset(
    {
        *("id", "a", "b", "user_id", "agent_id", "session_id", "external_id", "idempotency_key"),
        *("kind", "state", "role", "type", "relation", "predicate", "label", "key", "name"),
        *("source", "actor", "origin", "author", "source_memory", "cron", "zone", "steps", "into"),
        *("filters", "query", "at", "happened_at", "superseded_by", "receipt", "version"),
    }
)
# Fields that hold what has such fields itself; the words of all else are the callers' own.
HOLDING = frozenset({"memories", "messages", "tool_calls", "function"})
KEPT = frozenset({"app_id", "categories", "mem0"})  # of metadata: what mem0's callers find by


def redacted(given: Mapping[str, Any], redact: Redact) -> dict[str, Any]:
    """The fields of a request with every text in them redacted, names aside."""
    return {name: _field(name, value, redact) for name, value in given.items()}


def _field(name: str, value: Any, redact: Redact) -> Any:
    if name in NAMES:
        return value
    return _held(value, redact) if name in HOLDING else _inside(value, redact)


def _held(value: Any, redact: Redact) -> Any:
    match value:
        case Mapping():
            return redacted(value, redact)
        case list() | tuple():
            return type(value)(_held(one, redact) for one in value)
    return _inside(value, redact)


def _inside(value: Any, redact: Redact) -> Any:
    match value:
        case str():
            return redact(value)
        case Mapping():
            return {n: v if n in KEPT else _inside(v, redact) for n, v in value.items()}
        case list() | tuple():
            return type(value)(_inside(one, redact) for one in value)
    return value
