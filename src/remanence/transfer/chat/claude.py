"""Claude's `conversations.json`: every conversation is a list of messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remanence.transfer.chat.report import Reason
from remanence.transfer.chat.talks import (
    Passed,
    Read,
    Talk,
    listed,
    mapping,
    message,
    moment,
    talk_of,
)

ROLES = {"human": "user", "user": "user", "assistant": "assistant", "system": "system"}


def talk(given: Mapping[str, Any], max_text: int) -> Talk:
    """A conversation with its messages in the order of the file."""
    return talk_of(
        given.get("uuid"),
        [_read(each, max_text) for each in listed(given.get("chat_messages"))],
        source="claude",
        title=given.get("name"),
        begun=moment(given.get("created_at")),
    )


def _read(said: Any, max_text: int) -> Read:
    sender = mapping(said).get("sender")
    role = ROLES.get(sender) if isinstance(sender, str) else None
    if role is None:
        return Passed(Reason.BROKEN, None, "a message without a known sender")
    return message(
        text_of(said),
        id=said.get("uuid"),
        role=role,
        at=moment(said.get("created_at")),
        max_text=max_text,
    )


def text_of(said: Mapping[str, Any]) -> str | None:
    """What was said: the text blocks, without thoughts and tools; else the plain `text`."""
    blocks = [mapping(each) for each in listed(said.get("content"))]
    texts = [each.get("text") for each in blocks if each.get("type", "text") == "text"]
    told = "\n".join(each for each in texts if isinstance(each, str) and each.strip())
    plain = said.get("text")
    return told or (plain if isinstance(plain, str) else None)
