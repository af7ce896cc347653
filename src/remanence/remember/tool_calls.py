"""Tool calls as a chat API writes them: checked, kept as metadata, spelled out to be found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from remanence.errors import InvalidInput
from remanence.model.accept import MAX_LABEL, metadata_of, text_of
from remanence.text.fences import without_fenced

CALLS = "tool_calls"
CALL_ID = "tool_call_id"
OF_MEMORY = "memory_tool"  # in a message's metadata: a call of memory's own tools, or its answer
MOST_CALLS = 128
LONGEST_CALL = 1_000
NO_OUTPUT = "(no output)"


def tool_fields(where: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a message's tool calls, or of the call that it answers; `{}` for neither."""
    kept: dict[str, Any] = {}
    if given.get(CALLS):
        kept |= metadata_of({CALLS: _checked(where, given[CALLS])})
    if given.get(CALL_ID) is not None:
        kept[CALL_ID] = text_of(f"{where}[{CALL_ID!r}]", given[CALL_ID], MAX_LABEL)
    return kept


def spelled(calls: object) -> str:
    """Calls in words, one a line; always the same for the same calls.

    >>> spelled([{"function": {"name": "search", "arguments": '{"query": "tea", "limit": 3}'}}])
    'search(query="tea", limit=3)'
    """
    text = "\n".join(_call(call)[:LONGEST_CALL] for call in calls_in(calls))
    whole = text.replace("\0", "").encode("utf-8", "replace").decode()
    return without_fenced(whole).strip() or "(a tool call)"


def says_nothing(text: str, metadata: Mapping[str, Any]) -> bool:
    """Whether a message is a bare call, or about memory itself: kept, and never worth recalling."""
    calls = calls_in(metadata.get(CALLS))
    return metadata.get(OF_MEMORY) is True or bool(calls and text == spelled(calls))


def calls_in(value: object) -> list[Mapping[str, Any]]:
    """The calls in what metadata holds; anything that is no list of mappings holds none."""
    if not isinstance(value, list) or not all(isinstance(call, Mapping) for call in value):
        return []
    return value


def _checked(where: str, calls: object) -> list[Any]:
    listed = list(calls) if isinstance(calls, list | tuple) else [None]
    if not all(isinstance(call, Mapping) for call in listed):
        raise InvalidInput(f"{where}[{CALLS!r}] must be a list of mappings, as chat APIs send it.")
    if len(listed) > MOST_CALLS:
        raise InvalidInput(f"{where} has {len(listed)} tool calls; at most {MOST_CALLS} are kept.")
    return listed


def _call(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    named = function if isinstance(function, Mapping) else call
    name = named.get("name") or "tool"
    return f"{name}({_arguments(named.get('arguments', ''))})"


def _arguments(given: object) -> str:
    try:
        read = json.loads(given) if isinstance(given, str) else given
        if isinstance(read, Mapping):
            return ", ".join(f"{n}={json.dumps(v, ensure_ascii=False)}" for n, v in read.items())
    except (ValueError, RecursionError):
        pass
    return str(given)
