"""The verbs of conversations: said, windowed, searched, summarised."""

from __future__ import annotations

import builtins
from datetime import date, datetime
from typing import Annotated, TypedDict, Unpack

from remanence.api import answers
from remanence.api.answers import listed
from remanence.api.parameters import (
    LABEL,
    NAME,
    SIZE,
    Actor,
    AgentId,
    AllUsers,
    Erase,
    IdempotencyKey,
    Limit,
    Messages,
    Metadata,
    MinTrust,
    Offset,
    Quarantined,
    Query,
    Since,
    Source,
    Trust,
    Until,
    UserId,
)
from remanence.api.verb import F, Group, Holds, Layer, Says, for_long, verb
from remanence.model.conversation import Conversation, Window
from remanence.model.hit import Hits
from remanence.model.memory import MemoryRecord

SessionId = Annotated[str, Says("the conversation's id", bounds=NAME)]
Before = Annotated[
    str | datetime | None,
    Says("only those before this message's id, or this moment", wire=str | None),
]
MaxMessages = Annotated[int | None, Says("so many messages at most; else the setting", bounds=SIZE)]
MaxTokens = Annotated[int | None, Says("so many tokens at most; else the setting", bounds=SIZE)]
Within = Annotated[
    str,
    Says(
        "everywhere, conversation or window (the short-term memory)",
        bounds={"enum": ["everywhere", "conversation", "window"]},
    ),
]
Refine = Annotated[bool, Says("let the language model rewrite, where one is set")]
DayDay = Annotated[
    date | str, Says("the day, such as 2026-05-01", bounds={"format": "date"}, wire=str)
]

ConversationList = listed(
    "ConversationList",
    "Several conversations, the last spoken in first.",
    conversations=Conversation,
)


class Spoken(TypedDict, total=False):
    """Whose words are summarised, and how far they must be trusted."""

    user_id: UserId
    agent_id: AgentId
    min_trust: MinTrust


class Conversations(Layer[F], layer="conversations", group=Group.CONVERSATIONS):
    """Conversations of one tenant: a session of a user is one as soon as a message is in it."""

    @verb(
        "POST /v1/conversations",
        holds=Holds.WRITTEN,
        bare=answers.all_untouched,
        example={
            "messages": [{"role": "user", "content": "My train leaves at nine."}],
            "session_id": "trip",
            "user_id": "alice",
        },
    )
    def append(
        self,
        messages: Messages,
        *,
        session_id: Annotated[str, Says("the conversation they belong to", "-s", bounds=NAME)],
        user_id: UserId = None,
        agent_id: AgentId = None,
        source: Source = None,
        actor: Actor = None,
        trust: Trust = 1.0,
        quarantined: Quarantined = False,
        idempotency_key: IdempotencyKey = None,
    ) -> builtins.list[MemoryRecord]:
        """Remember turns of a conversation.

        Add messages at the end of a conversation, together or not at all; durable on return.

        Each is {"role", "content"} and optionally "name", "at", "id", "metadata", "tool_calls",
        "tool_call_id". What memory itself had put into a prompt is cut out, and a message that
        was nothing else is passed over. What leaves the window is summarised, without a model.
        Those that are `quarantined` are not part of the conversation until they are let in.
        """

    @verb("POST /v1/conversations/describe")
    def describe(
        self,
        session_id: SessionId,
        *,
        title: Annotated[str | None, Says("what it is called", bounds=LABEL)] = None,
        metadata: Metadata = None,
        user_id: UserId = None,
        agent_id: AgentId = None,
    ) -> Conversation:
        """Give a conversation a title or metadata; what is left out stays as it is."""

    @verb("GET /v1/conversations/get")
    def get(self, session_id: SessionId, *, user_id: UserId = None) -> Conversation:
        """Show a conversation.

        The conversation; `NotFound` if nothing was said in it and nobody described it.
        """

    @verb("GET /v1/conversations", answer=ConversationList)
    def list(
        self,
        *,
        user_id: UserId = None,
        all_users: AllUsers = False,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> builtins.list[Conversation]:
        """List conversations, the last spoken in first."""

    @verb("GET /v1/conversations/messages")
    def messages(
        self,
        session_id: SessionId,
        *,
        user_id: UserId = None,
        limit: Limit = 100,
        before: Before = None,
    ) -> builtins.list[MemoryRecord]:
        """Show the messages of a conversation.

        The last `limit` messages, oldest first; with `before`, those before a message or moment.

        A message is named by its id, a moment is a datetime or ISO 8601.
        """

    @verb("GET /v1/conversations/window")
    def window(
        self,
        session_id: SessionId,
        *,
        user_id: UserId = None,
        max_messages: MaxMessages = None,
        max_tokens: MaxTokens = None,
        min_trust: MinTrust = None,
    ) -> Window:
        """Show the short-term window of a conversation.

        The short-term window: the newest messages that fit, whole, oldest first.

        What an agent's tools did to memory itself is no part of it. The newest half of the tokens
        stays without exception, of what is older the least important go first, and a tool's answer
        goes with its call. The newest message is always in. What is trusted less than by half has
        only the room that the others leave; with `min_trust`, what is trusted less is not there.
        """

    @verb(
        "POST /v1/conversations/search",
        writes=False,
        example={"query": "When does the train leave?", "user_id": "alice"},
    )
    def search(
        self,
        query: Query,
        *,
        session_id: Annotated[str | None, Says("the conversation", "-s", bounds=NAME)] = None,
        user_id: UserId = None,
        agent_id: AgentId = None,
        within: Within = "everywhere",
        limit: Limit = 10,
        since: Since = None,
        until: Until = None,
        min_trust: MinTrust = None,
    ) -> Hits:
        """Search what was said.

        Messages and summaries that answer best: in all conversations, in one, or its window.

        `everywhere` looks in every conversation of the user, whatever `session_id` is.
        """

    @verb("POST /v1/conversations/summarise", lasts=for_long)
    def summarise(
        self, session_id: SessionId, *, user_id: UserId = None, refine: Refine = True
    ) -> builtins.list[MemoryRecord]:
        """Summarise what has left the window.

        Summarise all that has left the window and is in no summary yet; what was written.

        Each level of trust has its own summaries, which what is trusted less does not touch. With
        `refine` and a language model, the model writes the summaries anew; where it fails, the
        extracted ones stand.
        """

    @verb("GET /v1/conversations/summary")
    def summary(
        self, session_id: SessionId, *, user_id: UserId = None, min_trust: MinTrust = None
    ) -> str:
        """Show the rolling summary of a conversation.

        What was said before the window, in short; `""` if all of it is in the window.

        With `min_trust` it is as if nothing that is trusted less had been said.
        """

    @verb("POST /v1/conversations/day", lasts=for_long)
    def day(self, day: DayDay, *, refine: Refine = True, **whose: Unpack[Spoken]) -> MemoryRecord:
        """Summarise a user's day.

        The summary of a user's day (in UTC) over all conversations, made when asked for.

        `NotFound` if nothing was said on that day. What is trusted less than by half, or than
        `min_trust`, is told only where there is nothing else.
        """

    @verb("POST /v1/conversations/week", lasts=for_long)
    def week(self, day: DayDay, *, refine: Refine = True, **whose: Unpack[Spoken]) -> MemoryRecord:
        """Summarise the week that holds a day.

        The summary of the week (Monday to Sunday, in UTC) that holds the day, from its days.

        `NotFound` if nothing was said in that week. As with `day`, trust decides what is told.
        """

    @verb("POST /v1/conversations/month", lasts=for_long)
    def month(self, day: DayDay, *, refine: Refine = True, **whose: Unpack[Spoken]) -> MemoryRecord:
        """Summarise the month that holds a day.

        The summary of the month (in UTC) that holds the day, from its weeks and days.

        `NotFound` if nothing was said in that month. As with `day`, trust decides what is told.
        """

    @verb("POST /v1/conversations/forget", destructive=True, lasts=for_long)
    def forget(
        self, session_id: SessionId, *, user_id: UserId = None, erase: Erase = False
    ) -> builtins.list[MemoryRecord]:
        """Forget a conversation: its messages, summaries and description.

        They are archived, or with `erase=True` removed for good. What was merged into them from
        other conversations is active again.
        """
