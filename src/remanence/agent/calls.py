"""Tool calls in the form of chat APIs: as they go back to the model, and as they are kept."""

from __future__ import annotations

import json
from typing import Any

from remanence.agent.declarations import MAX_ARGUMENTS
from remanence.ports.language_model import ToolCall

CARRIED = frozenset({"content", "old_content", "new_content"})
MOST_KEPT = 2_000  # characters of the arguments
NONE = "{}"


def sent(call: ToolCall) -> dict[str, Any]:
    """The call as the model made it; arguments that an API would refuse are left out."""
    return _written(call, NONE if _read(call.arguments) is None else call.arguments)


def kept(call: ToolCall) -> dict[str, Any]:
    """The call without what it carries: that is in the archive or a block's history now.

    If it was refused as an echo, this must not be where it is remembered all the same.
    """
    given = _read(call.arguments) or {}
    told = {name: "…" if name in CARRIED else value for name, value in given.items()}
    short = json.dumps(told, ensure_ascii=False)
    return _written(call, short if len(short) <= MOST_KEPT else NONE)


def _written(call: ToolCall, arguments: str) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _read(arguments: str) -> dict[str, Any] | None:
    """The arguments if they are one sound JSON object: whole characters, numbers that JSON has."""
    if len(arguments) > MAX_ARGUMENTS:
        return None
    try:
        read = json.loads(arguments)
        json.dumps(read, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None
