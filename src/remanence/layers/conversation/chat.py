"""A stored message as a chat API wants it, and what it takes in a prompt."""

from __future__ import annotations

import json
from typing import Any

from remanence.model.memory import MemoryRecord
from remanence.remember.tool_calls import CALL_ID, CALLS, NO_OUTPUT, calls_in, spelled
from remanence.text.tokens import count_tokens

# What a chat template writes around each message: who speaks, where it begins, where it ends.
FRAMING = 4


def as_chat(record: MemoryRecord) -> dict[str, Any]:
    """The message as it was given: role, content (None for a bare tool call), name, tool calls."""
    calls = calls_in(record.metadata.get(CALLS))
    answered = record.metadata.get(CALL_ID)
    content: str | None = record.text
    if calls and record.text == spelled(calls):
        content = None
    elif isinstance(answered, str) and record.text == NO_OUTPUT:
        content = ""
    told: dict[str, Any] = {"role": record.role or "user", "content": content}
    if record.speaker:
        told["name"] = record.speaker
    if calls:
        told[CALLS] = calls
    if isinstance(answered, str):
        told[CALL_ID] = answered
    return told


def tokens_of(record: MemoryRecord) -> int:
    """How many tokens the message takes in a prompt, its framing included."""
    told = as_chat(record)
    texts = [told["content"] or "", told.get("name", ""), told.get(CALL_ID, "")]
    if CALLS in told:
        texts.append(json.dumps(told[CALLS], ensure_ascii=False))
    return FRAMING + sum(count_tokens(text) for text in texts if text)
