"""Private data is taken out of what callers write; what they are found by stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from remanence.errors import InvalidInput

Redact = Callable[[str], str]
# Fields of a request, or of a line of an import, that say who or which one, or when.
NAMES = frozenset(
    {
        *("id", "a", "b", "user_id", "agent_id", "session_id", "external_id", "idempotency_key"),
        *("agent", "actor", "author", "label", "key", "state", "shelf", "superseded_by"),
        *("cron", "zone", "steps", "filters", "source_memory", "receipt", "version"),
        *("at", "happened_at", "created_at", "updated_at", "observed_at", "recorded_at"),
        *("used_at", "expires_at", "rested_at", "retired_at", "run", "scope"),
    }
)
# What is there already is looked for as it was written, perhaps before anything was taken out.
SOUGHT: Mapping[str, frozenset[str]] = {
    "graph.erase": frozenset({"name"}),
    "graph.merge": frozenset({"name"}),
    "graph.unmerge": frozenset({"name"}),
    "purge": frozenset({"source", "origin"}),
    "schedules.remove": frozenset({"name"}),
    "schedules.set": frozenset({"name"}),
    "snapshots.delete": frozenset({"name"}),
    "snapshots.restore": frozenset({"name"}),
    "snapshots.take": frozenset({"name"}),
}
# What something new is found by from then on: with private data in it, it is refused.
CALLED: Mapping[str, str] = {
    "blocks.create": "label",
    "snapshots.take": "name",
    "working.set": "key",
}
# Fields that hold what has such fields itself; the words of all else are the callers' own.
HOLDING = frozenset({"before", "function", "memories", "messages", "tool_calls"})
APP = "app_id"  # of metadata: an identity, as mem0 has it
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def redacted(what: str, given: Mapping[str, Any], redact: Redact) -> dict[str, Any]:
    """The fields of a request, by its operation, with every text in them redacted; names aside."""
    called = CALLED.get(what, "")
    name = given.get(called)
    if isinstance(name, str) and redact(name) != name:
        raise InvalidInput(
            f"{called} holds private data, which is taken out here (the setting `redact`), and "
            "would not be found again; choose another."
        )
    sought = SOUGHT.get(what, frozenset())
    return {n: v if n in sought else _field(n, v, redact) for n, v in given.items()}


def words_redacted(value: Any, redact: Redact) -> Any:
    """Any JSON value with every text in it redacted, keys too."""
    match value:
        case str():
            return value if _UUID.fullmatch(value) else redact(value)
        case Mapping():
            return _mapping(value, redact)
        case list() | tuple():
            return type(value)(words_redacted(one, redact) for one in value)
    return value


def _field(name: str, value: Any, redact: Redact) -> Any:
    if name in NAMES:
        return value
    return _held(value, redact) if name in HOLDING else words_redacted(value, redact)


def _held(value: Any, redact: Redact) -> Any:
    match value:
        case Mapping():
            return {name: _field(name, one, redact) for name, one in value.items()}
        case list() | tuple():
            return type(value)(_held(one, redact) for one in value)
    return words_redacted(value, redact)


def _mapping(value: Mapping[Any, Any], redact: Redact) -> dict[Any, Any]:
    """Keys that come to the same are told apart by a number."""
    told: dict[Any, Any] = {}
    alike: dict[str, int] = {}
    for key, one in value.items():
        name = redact(key) if isinstance(key, str) else key
        if name != key:
            alike[name] = count = alike.get(name, 0) + 1
            name = f"{name} {count}" if count > 1 else name
        is_app = key == APP and isinstance(one, str)
        told[name] = one if is_app else words_redacted(one, redact)
    return told
