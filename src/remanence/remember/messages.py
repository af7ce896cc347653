"""Messages of a conversation as callers have them, read into what a memory needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from remanence.errors import InvalidInput
from remanence.model.accept import label_of, metadata_of, moment_of, text_of

FIELDS = frozenset({"role", "name", "content", "at", "id", "metadata"})
# What chat APIs put beside the text; a log may hold it, a memory does not.
API_FIELDS = frozenset(
    {"tool_calls", "tool_call_id", "refusal", "annotations", "audio", "function_call"}
)
LONGEST = 10_000_000  # the setting max_text goes no higher; the record is checked against it


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn: who spoke in which role, what was said and when."""

    content: str
    role: str | None = None
    name: str | None = None
    at: datetime | None = None
    id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def message_of(given: Mapping[str, Any], number: int) -> Message | None:
    """A message from a mapping like {"role": "user", "name": "Ana", "content": "…", "at": when}.

    None for a turn that is a tool call or a picture and says nothing in words.
    """
    where = f"messages[{number}]"
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{where} must be a mapping with 'role' and 'content'.")
    unknown = set(given) - FIELDS - API_FIELDS
    if unknown:
        raise InvalidInput(
            f"{where} has {sorted(map(str, unknown))[0]!r}; known: {', '.join(sorted(FIELDS))}. "
            "Put anything else into its 'metadata'."
        )
    content = _joined(where, given.get("content"))
    wordless = content is None or (isinstance(content, str) and not content.strip())
    if wordless and (set(given) & API_FIELDS or _in_parts(given.get("content"))):
        return None
    at = given.get("at")
    return Message(
        content=text_of(f"{where}['content']", content, LONGEST),
        role=_label(where, "role", given),
        name=_label(where, "name", given),
        at=None if at is None else moment_of(f"{where}['at']", at),
        id=_label(where, "id", given),
        metadata=metadata_of(given.get("metadata")),
    )


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
