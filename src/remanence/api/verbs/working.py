"""The verbs of working memory: the state of a task, for as long as its session lives."""

from __future__ import annotations

from typing import Annotated, Any

from remanence.api import answers
from remanence.api.answers import listed
from remanence.api.parameters import NAME, SHARE, AddKind, AgentId, Importance, Now, Trust, UserId
from remanence.api.verb import (
    F,
    Group,
    Holds,
    Layer,
    Says,
    Scoping,
    always,
    verb,
    where_dated,
)
from remanence.layers.working import _Required
from remanence.model.memory import Json, Kind, MemoryRecord
from remanence.model.session import WorkingItem

SessionId = Annotated[str, Says("the session", "-s", bounds=NAME)]
Key = Annotated[str, Says("what it is called", bounds=NAME)]
SetValue = Annotated[Json, Says("what to keep: JSON, or a text", piped=True, json=True)]
TtlS = Annotated[
    float | None, Says("seconds to keep it", flag="--ttl", bounds={"exclusiveMinimum": 0})
]
SetImportance = Annotated[
    float | None, Says("0 to 1; from 0.8 it is remembered for good", "-i", bounds=SHARE)
]

WorkingItems = listed("WorkingItems", "What is kept for a task, by key.", items=WorkingItem)


class Working(Layer[F]):
    """Working memory of one tenant: JSON values by session and key."""

    layer = "working"
    group = Group.WORKING

    @verb(
        "POST /v1/working/set",
        writes=True,
        holds=Holds.WRITTEN,
        example={
            "session_id": "trip",
            "user_id": "alice",
            "key": "destination",
            "value": {"city": "Porto"},
        },
    )
    def set(
        self,
        key: Key,
        value: SetValue,
        *,
        session_id: SessionId,
        user_id: UserId = None,
        agent_id: AgentId = None,
        ttl_s: TtlS = None,
        importance: SetImportance = None,
        trust: Trust = 1.0,
    ) -> WorkingItem:
        """Keep a value under a key, in place of what was there.

        At most 16 KB each and 100 keys a session; writers at the same moment may pass that a
        little. With an importance of 0.8 or more it is promoted at once, unless it is too long for
        a memory. What is promoted is trusted as much as the item: give the least of what it is
        made of.
        """

    @verb("GET /v1/working/get", answer=answers.Value)
    def get(
        self,
        key: Key,
        *,
        session_id: SessionId,
        user_id: UserId = None,
        default: Any = _Required.DEFAULT,
    ) -> Any:
        """Show a value.

        The value under a key; `NotFound` if there is none and no default is given.
        """

    @verb("GET /v1/working/items", answer=WorkingItems, command="list")
    def items(self, *, session_id: SessionId, user_id: UserId = None) -> list[WorkingItem]:
        """List what is kept for a session, by key."""

    @verb("POST /v1/working/remove", writes=True, answer=answers.Acknowledgement)
    def remove(self, key: Key, *, session_id: SessionId, user_id: UserId = None) -> bool:
        """Let go of a value."""

    @verb("POST /v1/working/clear", writes=True, answer=answers.Count, erases=always)
    def clear(self, *, session_id: SessionId, user_id: UserId = None) -> int:
        """Let go of all values of a session."""

    @verb(
        "POST /v1/working/cleanup",
        writes=True,
        scope=Scoping.TENANT,
        answer=answers.Count,
        erases=where_dated,
    )
    def cleanup(self, *, now: Now = None) -> int:
        """Remove the values whose time has run out."""

    @verb("POST /v1/working/promote", writes=True)
    def promote(
        self,
        key: Key,
        *,
        session_id: SessionId,
        user_id: UserId = None,
        kind: AddKind = Kind.SEMANTIC,
        importance: Importance = None,
    ) -> MemoryRecord:
        """Remember a value for good.

        Put an item into long-term memory, as the text "key: value"; it stays here too.

        Once for each value that was set: asked again, it gives the same memory, or a new one if
        that was forgotten or erased.
        """
