"""The verbs of conversations: said, windowed, searched, summarised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from remanence.model.conversation import Conversation, Window
from remanence.model.memory import MemoryRecord
from remanence.operations.layer_responses import Conversations, Wording
from remanence.operations.operation import (
    Answer,
    Group,
    Scoping,
    for_long,
    given,
    of_layer,
    where_erasing,
)
from remanence.operations.remembering import QUARANTINED, RETRY
from remanence.operations.responses import Found, Memories, all_untouched
from remanence.operations.scopes import ABOUT_TRUST


@dataclass(frozen=True, slots=True, kw_only=True)
class Of:
    """One conversation of a user."""

    session_id: str = given("the conversation's id", ..., positional=True)
    user_id: str | None = given("the user whose conversation it is", short="-u")


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Turns, in order, together or not at all."""

    messages: tuple[Mapping[str, Any], ...] = given(
        "objects with role, content and optionally name, at, id, metadata, tool_calls",
        ...,
        positional=True,
        piped=True,
    )
    session_id: str = given("the conversation they belong to", ..., short="-s")
    user_id: str | None = given("the user whose conversation it is", short="-u")
    agent_id: str | None = given("the agent that takes part", short="-a")
    source: str | None = given("where the conversation comes from")
    actor: str | None = given("who writes it down")
    trust: float = given("how far to believe it, 0 to 1", 1.0)
    quarantined: bool = given(QUARANTINED, False)
    idempotency_key: str | None = given(RETRY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe(Of):
    """What a conversation is called and what is kept beside it."""

    agent_id: str | None = given("the agent that takes part", short="-a")
    title: str | None = given("what it is called")
    metadata: Mapping[str, Any] | None = given("anything else to keep with it", short="-m")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Whose conversations."""

    user_id: str | None = given("the user whose conversations they are", short="-u")
    all_users: bool = given("every user's conversations", False)
    limit: int = given("how many at most", 100, short="-k")
    offset: int = given("how many to pass over", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages(Of):
    """Messages, oldest first."""

    limit: int = given("how many of the newest at most", 100, short="-k")
    before: str | None = given("only those before this message's id, or this moment")


@dataclass(frozen=True, slots=True, kw_only=True)
class Windowed(Of):
    """How large a window."""

    max_messages: int | None = given("so many messages at most; else the setting")
    max_tokens: int | None = given("so many tokens at most; else the setting")
    min_trust: float | None = given(ABOUT_TRUST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A question to what was said."""

    query: str = given("what to look for", ..., positional=True, piped=True)
    session_id: str | None = given("the conversation", short="-s")
    user_id: str | None = given("the user whose conversations they are", short="-u")
    agent_id: str | None = given("the agent that took part", short="-a")
    within: str = given("everywhere, conversation or window (the short-term memory)", "everywhere")
    limit: int = given("how many at most", 10, short="-k")
    since: datetime | None = given("said at or after this moment")
    until: datetime | None = given("said before this moment")
    min_trust: float | None = given(ABOUT_TRUST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(Of):
    """A conversation, as far as it is trusted."""

    min_trust: float | None = given(ABOUT_TRUST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarise(Of):
    """What to summarise."""

    refine: bool = given("let the language model rewrite, where one is set", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """Which day."""

    day: str = given("the day, such as 2026-05-01", ..., positional=True)
    user_id: str | None = given("the user whose day it was", short="-u")
    agent_id: str | None = given("only what this agent took part in", short="-a")
    refine: bool = given("let the language model rewrite, where one is set", True)
    min_trust: float | None = given(ABOUT_TRUST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget(Of):
    """A conversation to forget."""

    erase: bool = given("remove for good, bytes and all, instead of archiving", False)


def _found(hits: Any) -> Found:
    return Found(hits=tuple(hits), understood=hits.understood, degraded=hits.degraded)


def _memories(found: Any) -> Memories:
    return Memories(memories=tuple(found))


_operation = partial(of_layer, scope=Scoping.SCOPED, group=Group.CONVERSATIONS)

CONVERSATIONS = (
    _operation(
        "conversations.append",
        "Remember turns of a conversation.",
        request=Append,
        response=Memories,
        writes=True,
        wrap=_memories,
        listing="memories",
        answers=Answer.WRITTEN,
        bare=all_untouched,
    ),
    _operation(
        "conversations.describe",
        "Give a conversation a title or metadata.",
        request=Describe,
        response=Conversation,
        writes=True,
    ),
    _operation(
        "conversations.get",
        "Show a conversation.",
        request=Of,
        response=Conversation,
        writes=False,
    ),
    _operation(
        "conversations.list",
        "List conversations, the last spoken in first.",
        request=Listed,
        response=Conversations,
        writes=False,
        wrap=lambda found: Conversations(conversations=tuple(found)),
        listing="conversations",
    ),
    _operation(
        "conversations.messages",
        "Show the messages of a conversation.",
        request=Messages,
        response=Memories,
        writes=False,
        wrap=_memories,
        listing="memories",
    ),
    _operation(
        "conversations.window",
        "Show the short-term window of a conversation.",
        request=Windowed,
        response=Window,
        writes=False,
    ),
    _operation(
        "conversations.search",
        "Search what was said.",
        request=Search,
        response=Found,
        writes=False,
        wrap=_found,
        listing="hits",
    ),
    _operation(
        "conversations.summarise",
        "Summarise what has left the window.",
        request=Summarise,
        response=Memories,
        writes=True,
        wrap=_memories,
        listing="memories",
        lasts=for_long,
    ),
    _operation(
        "conversations.summary",
        "Show the rolling summary of a conversation.",
        request=Summary,
        response=Wording,
        writes=False,
        wrap=lambda text: Wording(text=text),
    ),
    _operation(
        "conversations.day",
        "Summarise a user's day.",
        request=Day,
        response=MemoryRecord,
        writes=True,
        lasts=for_long,
    ),
    _operation(
        "conversations.week",
        "Summarise the week that holds a day.",
        request=Day,
        response=MemoryRecord,
        writes=True,
        lasts=for_long,
    ),
    _operation(
        "conversations.month",
        "Summarise the month that holds a day.",
        request=Day,
        response=MemoryRecord,
        writes=True,
        lasts=for_long,
    ),
    _operation(
        "conversations.forget",
        "Forget a conversation.",
        request=Forget,
        response=Memories,
        writes=True,
        wrap=_memories,
        listing="memories",
        destructive=True,
        erases=where_erasing,
        lasts=for_long,
    ),
)
