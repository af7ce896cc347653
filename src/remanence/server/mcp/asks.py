"""The arguments of the default tools: few, and described for a model that has never seen us."""

# ruff: noqa: RUF009 - `parameter` makes a field, it is no default

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from remanence.api.parameters import KEYS, LABEL, NAME, OFFSET, QUERY, SHARE, SIZE, TEXT, parameter
from remanence.model.memory import Kind
from remanence.server.mcp.answers import MOST_HITS, MOST_LISTED

WHOSE = "the user it is about; leave it out for what belongs to no user in particular"
AGENT = "only what belongs to this agent; leave it out for any agent's"
CONVERSATION = "the conversation it belongs to"
ID = "the memory's id, as a search shows it"
TIME = "ISO 8601 with a time zone, such as 2026-05-01T09:30:00Z"
KINDS = "only these kinds"


def _few(default: int, most: int) -> Any:
    """How many, within narrower bounds than the memory's own: a model reads all of it."""
    bounds = {"minimum": 1, "maximum": most}
    return parameter(f"how many at most, 1 to {most}", default, bounds=bounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMemory:
    """Something worth remembering."""

    text: str = parameter(
        "one thing worth remembering, as a sentence that can be understood alone: with names "
        "instead of pronouns, and dates instead of `yesterday`",
        ...,
        bounds=TEXT,
    )
    kind: Kind = parameter(
        "episodic: something that happened; semantic: a lasting fact or preference; procedural: "
        "how to do something; reflection: a conclusion drawn from other memories",
        Kind.EPISODIC,
    )
    importance: float | None = parameter(
        "0 to 1: how much it matters; worked out when left out", bounds=SHARE
    )
    happened_at: datetime | None = parameter(f"when it happened, if not now: {TIME}")
    metadata: Mapping[str, Any] | None = parameter(
        "anything else to keep with it, as JSON", bounds=KEYS
    )
    user_id: str | None = parameter(WHOSE, bounds=NAME)
    agent_id: str | None = parameter(
        "the agent it belongs to, if it is for one agent only", bounds=NAME
    )
    session_id: str | None = parameter(CONVERSATION, bounds=NAME)


@dataclass(frozen=True, kw_only=True)
class Which:
    """Which memories."""

    kinds: tuple[Kind, ...] = parameter(KINDS, ())
    since: datetime | None = parameter(f"only what happened at or after: {TIME}")
    until: datetime | None = parameter(f"only what happened before: {TIME}")
    user_id: str | None = parameter(WHOSE, bounds=NAME)
    agent_id: str | None = parameter(AGENT, bounds=NAME)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What comes first, since a model reads a schema from the top."""

    query: str = parameter(
        "a question or what to look for, in plain words; names and dates help", ..., bounds=QUERY
    )
    limit: int = _few(10, MOST_HITS)


@dataclass(frozen=True, kw_only=True)
class Turning:
    """Which page."""

    limit: int = _few(20, MOST_LISTED)
    offset: int = parameter("leave out so many first: to turn the page", 0, bounds=OFFSET)


@dataclass(frozen=True, kw_only=True)
class SearchMemories(Which, Question):
    """A question, and what to look at."""


@dataclass(frozen=True, kw_only=True)
class GetMemories(Which, Turning):
    """A page of memories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMemory:
    """One memory."""

    memory_id: str = parameter(ID, ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMemory(GetMemory):
    """New values; what is left out stays."""

    text: str | None = parameter("the new text", bounds=TEXT)
    importance: float | None = parameter("0 to 1: how much it matters", bounds=SHARE)
    metadata: Mapping[str, Any] | None = parameter(
        "replaces the old metadata as a whole", bounds=KEYS
    )
    pinned: bool | None = parameter("true: no rule may ever forget it")
    reason: str | None = parameter("why it changes; kept in its history", bounds=LABEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteMemory(GetMemory):
    """A memory to forget."""

    erase: bool = parameter(
        "true: remove it for good, which cannot be undone; false: archive it", False
    )
    reason: str | None = parameter("why; kept in its history", bounds=LABEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetContext:
    """What a prompt is for."""

    query: str | None = parameter(
        "what is asked; else the last thing said in the conversation", bounds=QUERY
    )
    max_tokens: int = parameter("so many tokens at most", 1500, bounds=SIZE)
    user_id: str | None = parameter(WHOSE, bounds=NAME)
    agent_id: str | None = parameter(AGENT, bounds=NAME)
    session_id: str | None = parameter("the conversation that is going on", bounds=NAME)


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn."""

    role: Role = parameter("who speaks", ..., bounds=LABEL)
    content: str = parameter("what was said, word for word", ...)
    name: str | None = parameter("the speaker's name", bounds=TEXT)
    at: datetime | None = parameter(f"when it was said, if not now: {TIME}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddConversation:
    """Turns of a conversation, in order."""

    messages: tuple[Message, ...] = parameter("the turns, oldest first", ...)
    session_id: str | None = parameter(
        "the conversation they belong to: the same id for the whole of it. Needed, unless the "
        "connection is for one conversation",
        bounds=NAME,
    )
    user_id: str | None = parameter("the user who takes part", bounds=NAME)
    agent_id: str | None = parameter("the agent who takes part", bounds=NAME)
