"""Messages of a conversation as callers have them, read into what a memory needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from remanence.errors import InvalidInput
from remanence.model.accept import label_of, metadata_of, moment_of, text_of
from remanence.remember.echo import CUT, RECALLED, RECALLED_TEXT, unechoed
from remanence.remember.tool_calls import CALL_ID, CALLS, NO_OUTPUT, spelled, tool_fields

FIELDS = frozenset({"role", "name", "content", "at", "id", "metadata"})
# What chat APIs put beside the text; a log may hold it, a memory does not.
API_FIELDS = frozenset({CALLS, CALL_ID, "refusal", "annotations", "audio", "function_call"})
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
