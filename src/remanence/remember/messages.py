"""Messages of a conversation as callers have them, read into what a memory needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from remanence.errors import InvalidInput
from remanence.model.accept import label_of, metadata_of, moment_of, text_of

FIELDS = frozenset({"role", "name", "content", "at", "id", "metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn: who spoke in which role, what was said and when."""

    content: str
    role: str | None = None
    name: str | None = None
    at: datetime | None = None
    id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def message_of(given: Mapping[str, Any], number: int) -> Message:
    """A message from a mapping like {"role": "user", "name": "Ana", "content": "…", "at": when}."""
    where = f"messages[{number}]"
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{where} must be a mapping with 'role' and 'content'.")
    unknown = set(given) - FIELDS
    if unknown:
        raise InvalidInput(
            f"{where} has {sorted(map(str, unknown))[0]!r}; known: {', '.join(sorted(FIELDS))}. "
            "Put anything else into its 'metadata'."
        )
    at = given.get("at")
    return Message(
        content=text_of(f"{where}['content']", _joined(given.get("content"))),
        role=label_of(f"{where}['role']", given.get("role")),
        name=label_of(f"{where}['name']", given.get("name")),
        at=None if at is None else moment_of(f"{where}['at']", at),
        id=label_of(f"{where}['id']", given.get("id")),
        metadata=metadata_of(given.get("metadata")),
    )


def _joined(content: Any) -> Any:
    """The text of a content that comes in parts, as chat APIs send it."""
    if isinstance(content, Sequence) and not isinstance(content, str | bytes):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content
