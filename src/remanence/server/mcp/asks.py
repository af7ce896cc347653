"""The arguments of the default tools: few, and described for a model that has never seen us."""

# ruff: noqa: RUF009 - `given` makes a field, it is no default

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from remanence.model.memory import Kind
from remanence.operations.operation import given
from remanence.server.mcp.answers import MOST_HITS, MOST_LISTED

WHOSE = "the user it is about; leave it out for what belongs to no user in particular"
AGENT = "only what belongs to this agent; leave it out for any agent's"
CONVERSATION = "the conversation it belongs to"
ID = "the memory's id, as a search shows it"
TIME = "ISO 8601 with a time zone, such as 2026-05-01T09:30:00Z"
KINDS = "only these kinds"


def _few(default: int, most: int) -> Any:
    """How many, within narrower bounds than the memory's own: a model reads all of it."""
    about = f"how many at most, 1 to {most}"
    bounds = {"minimum": 1, "maximum": most}
    return field(default=default, metadata={"help": about, "bounds": bounds})


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMemory:
    """Something worth remembering."""

    text: str = given(
        "one thing worth remembering, as a sentence that can be understood alone: with names "
        "instead of pronouns, and dates instead of `yesterday`",
        ...,
    )
    kind: Kind = given(
        "episodic: something that happened; semantic: a lasting fact or preference; procedural: "
        "how to do something; reflection: a conclusion drawn from other memories",
        Kind.EPISODIC,
    )
    importance: float | None = given("0 to 1: how much it matters; worked out when left out")
    happened_at: datetime | None = given(f"when it happened, if not now: {TIME}")
    metadata: Mapping[str, Any] | None = given("anything else to keep with it, as JSON")
    user_id: str | None = given(WHOSE)
    agent_id: str | None = given("the agent it belongs to, if it is for one agent only")
    session_id: str | None = given(CONVERSATION)


@dataclass(frozen=True, kw_only=True)
class Which:
    """Which memories."""

    kinds: tuple[Kind, ...] = given(KINDS, ())
    since: datetime | None = given(f"only what happened at or after: {TIME}")
    until: datetime | None = given(f"only what happened before: {TIME}")
    user_id: str | None = given(WHOSE)
    agent_id: str | None = given(AGENT)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What comes first, since a model reads a schema from the top."""

    query: str = given("a question or what to look for, in plain words; names and dates help", ...)
    limit: int = _few(10, MOST_HITS)


@dataclass(frozen=True, kw_only=True)
class Turning:
    """Which page."""

    limit: int = _few(20, MOST_LISTED)
    offset: int = given("leave out so many first: to turn the page", 0)


@dataclass(frozen=True, kw_only=True)
class SearchMemories(Which, Question):
    """A question, and what to look at."""


@dataclass(frozen=True, kw_only=True)
class GetMemories(Which, Turning):
    """A page of memories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMemory:
    """One memory."""

    memory_id: str = given(ID, ...)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMemory(GetMemory):
    """New values; what is left out stays."""

    text: str | None = given("the new text")
    importance: float | None = given("0 to 1: how much it matters")
    metadata: Mapping[str, Any] | None = given("replaces the old metadata as a whole")
    pinned: bool | None = given("true: no rule may ever forget it")
    reason: str | None = given("why it changes; kept in its history")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteMemory(GetMemory):
    """A memory to forget."""

    erase: bool = given(
        "true: remove it for good, which cannot be undone; false: archive it", False
    )
    reason: str | None = given("why; kept in its history")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetContext:
    """What a prompt is for."""

    query: str | None = given("what is asked; else the last thing said in the conversation")
    max_tokens: int = given("so many tokens at most", 1500)
    user_id: str | None = given(WHOSE)
    agent_id: str | None = given(AGENT)
    session_id: str | None = given("the conversation that is going on")


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn."""

    role: Role = given("who speaks", ...)
    content: str = given("what was said, word for word", ...)
    name: str | None = given("the speaker's name")
    at: datetime | None = given(f"when it was said, if not now: {TIME}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddConversation:
    """Turns of a conversation, in order."""

    messages: tuple[Message, ...] = given("the turns, oldest first", ...)
    session_id: str | None = given(
        "the conversation they belong to: the same id for the whole of it. Needed, unless the "
        "connection is for one conversation"
    )
    user_id: str | None = given("the user who takes part")
    agent_id: str | None = given("the agent who takes part")
