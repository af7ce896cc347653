"""A stored message as a chat API wants it, and what it takes in a prompt."""

from __future__ import annotations

import json
import re
from typing import Any

from remanence.model.memory import GUEST, HALF, MemoryRecord
from remanence.remember.tool_calls import CALL_ID, CALLS, NO_OUTPUT, calls_in, spelled
from remanence.text.tokens import count_tokens

# What a chat template writes around each message: who speaks, where it begins, where it ends.
FRAMING = 4
# What was said once is told, not commanded: these come back as a user's message that says so.
COMMANDING = ("system", "developer")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


def as_chat(record: MemoryRecord) -> dict[str, Any]:
    """The message in a form that chat APIs take, as it was given wherever they take that.

    A bare tool call has None for content. Only assistants call and only tools answer; whoever is
    neither is a `user`, and so is whoever is trusted less than by half. A name is of letters,
    digits, `_` and `-`.
    """
    if record.role == GUEST or record.trust < HALF:
        return {"role": "user", "content": record.text}
    told = _called(record) or _answered(record) or {"role": "user", "content": record.text}
    if record.role == "assistant":
        told["role"] = record.role
    elif record.role in COMMANDING:
        told["content"] = f"[{record.role} message] {record.text}"
    name = _name(record.speaker or "")
    return told | {"name": name} if name else told


def _called(record: MemoryRecord) -> dict[str, Any] | None:
    calls = calls_in(record.metadata.get(CALLS))
    if not calls or record.role in {*COMMANDING, "user", "tool"}:
        return None
    content = None if record.text == spelled(calls) else record.text
    return {"role": "assistant", "content": content, CALLS: calls}


def _answered(record: MemoryRecord) -> dict[str, Any] | None:
    answered = record.metadata.get(CALL_ID)
    if not isinstance(answered, str) or record.role in {*COMMANDING, "user", "assistant"}:
        return None
    content = "" if record.text == NO_OUTPUT else record.text
    return {"role": "tool", "content": content, CALL_ID: answered}


def tokens_of(record: MemoryRecord) -> int:
    """How many tokens the message takes in a prompt, its framing included."""
    told = as_chat(record)
    texts = [told["content"] or "", told.get("name", ""), told.get(CALL_ID, "")]
    if CALLS in told:
        texts.append(json.dumps(told[CALLS], ensure_ascii=False))
    return FRAMING + sum(count_tokens(text) for text in texts if text)


def _name(speaker: str) -> str:
    name = _NOT_IN_A_NAME.sub("_", speaker)[:_LONGEST_NAME]
    return name if name.strip("_-") else ""
