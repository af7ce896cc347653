"""Messages as chat APIs have them, tool calls and all, read into what a memory needs; no echoes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from remanence.errors import InvalidInput
from remanence.language.fences import without_fenced
from remanence.model.validation import MAX_LABEL, label_of, metadata_of, moment_of, text_of

CALLS = "tool_calls"
CALL_ID = "tool_call_id"
OF_MEMORY = "memory_tool"  # in a message's metadata: a call of memory's own tools, or its answer
MOST_CALLS = 128
LONGEST_CALL = 1_000
NO_OUTPUT = "(no output)"
# What stands for a tool's answer that was recalled from memory: the call must keep an answer.
RECALLED = "(recalled from memory)"
# In a message's metadata: that something was cut out of it, and what.
CUT, RECALLED_TEXT = "cut", "recalled text"

FIELDS = frozenset({"role", "name", "content", "at", "id", "metadata"})
# What chat APIs put beside the text; a log may hold it, a memory does not.
API_FIELDS = frozenset({CALLS, CALL_ID, "refusal", "annotations", "audio", "function_call"})
LONGEST = 10_000_000  # the setting max_text goes no higher; the record is checked against it


def unechoed(text: str) -> str | None:
    """The text without what memory itself had put there; None if nothing else was in it."""
    own = without_fenced(text)
    return own if own == text or own else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn: who spoke in which role, what was said and when."""

    content: str
    role: str | None = None
    name: str | None = None
    at: datetime | None = None
    id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def message_of(given: Mapping[str, Any], number: int, *, tools: bool = False) -> Message | None:
    """A message from a mapping like {"role": "user", "name": "Ana", "content": "…", "at": when}.

    None for a turn that says nothing in words, and for one that only repeats what memory had put
    into the prompt; where that was cut out of it, the metadata says so. With `tools`, tool calls
    and their answers are kept in the metadata, and one without words has a text that tells of it.
    """
    where = f"messages[{number}]"
    _check_fields(where, given)
    kept = tool_fields(where, given) if tools else {}
    role, name, id = (_label(where, each, given) for each in ("role", "name", "id"))
    at = None if given.get("at") is None else moment_of(f"{where}['at']", given["at"])
    metadata = metadata_of(given.get("metadata"))
    content, cut = _content(where, given, kept)
    if content is None:
        return None
    marked = {CUT: RECALLED_TEXT} if cut else {}
    return Message(
        content=content,
        role=role,
        name=name,
        at=at,
        id=id,
        metadata=metadata_of(marked | metadata | kept),
    )


def _check_fields(where: str, given: object) -> None:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{where} must be a mapping with 'role' and 'content'.")
    unknown = set(given) - FIELDS - API_FIELDS
    if unknown:
        raise InvalidInput(
            f"{where} has {sorted(map(str, unknown))[0]!r}; known: {', '.join(sorted(FIELDS))}. "
            "Put anything else into its 'metadata'."
        )


def _content(
    where: str, given: Mapping[str, Any], kept: Mapping[str, Any]
) -> tuple[str | None, bool]:
    """The text to be kept, and whether something was cut out of it."""
    content = _joined(where, given.get("content"))
    wordless = content is None or (isinstance(content, str) and not content.strip())
    if wordless and (set(given) & API_FIELDS or _in_parts(given.get("content"))):
        return _told(kept, NO_OUTPUT), False
    whole = text_of(f"{where}['content']", content, LONGEST)
    own = unechoed(whole)
    return (_told(kept, RECALLED), True) if own is None else (own, own != whole)


def _told(kept: Mapping[str, Any], answer: str) -> str | None:
    """What stands for a turn without words of its own: its calls, or that a tool answered."""
    if CALLS in kept:
        return spelled(kept[CALLS])
    return answer if CALL_ID in kept else None


def _label(where: str, name: str, given: Mapping[str, Any]) -> str | None:
    value = given.get(name)
    return None if value == "" else label_of(f"{where}[{name!r}]", value)


def _in_parts(content: Any) -> bool:
    return isinstance(content, Sequence) and not isinstance(content, str | bytes)


def _joined(where: str, content: Any) -> Any:
    """The text of a content that comes in parts, as chat APIs send it."""
    if not _in_parts(content):
        return content
    if not all(isinstance(part, Mapping) for part in content):
        raise InvalidInput(f"{where}['content'] must be a text or a list of mappings with 'text'.")
    texts = [part.get("text") for part in content]
    return "\n".join(text for text in texts if isinstance(text, str))


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
