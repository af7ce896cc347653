"""The verbs of sessions, and of working memory: the state of a task while its session lives."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from remanence.api import answers
from remanence.api.answers import listed
from remanence.api.parameters import (
    NAME,
    SHARE,
    AddKind,
    AgentId,
    AllUsers,
    Importance,
    Limit,
    Now,
    Trust,
    UserId,
    Version,
)
from remanence.api.verb import F, Group, Holds, Layer, Says, Scoping, always, verb, where_dated
from remanence.layers.working import _Required
from remanence.model.memory import Json, Kind, MemoryRecord
from remanence.model.session import Session, WorkingItem

TtlS = Annotated[
    float | None,
    Says("seconds it lives after its last use", flag="--ttl", bounds={"exclusiveMinimum": 0}),
]
SessionId = Annotated[str, Says("the session's id", bounds=NAME)]
Changes = Annotated[
    Mapping[str, Any], Says("what to set; null removes", "-d", flag="--data", argument=False)
]

SessionList = listed("SessionList", "Several sessions, the last used first.", sessions=Session)


class Sessions(Layer[F], layer="sessions", group=Group.SESSIONS):
    """Sessions of one tenant. They belong to a user, or to none."""

    @verb(
        "POST /v1/sessions",
        holds=Holds.WRITTEN,
        example={"session_id": "trip", "user_id": "alice", "data": {"mood": "hurried"}},
    )
    def create(
        self,
        session_id: Annotated[str | None, Says("its id; made when left out", bounds=NAME)] = None,
        *,
        user_id: UserId = None,
        agent_id: AgentId = None,
        data: Annotated[Mapping[str, Any] | None, Says("what it knows at first", "-d")] = None,
        ttl_s: TtlS = None,
    ) -> Session:
        """Begin a session.

        `Conflict` if one of that id is alive. One that ended or ran out is begun anew, with nothing
        of its old data. One that ran out more than a year ago by a clock that `cleanup` would not
        believe is left as it is (`InvalidInput`): if the clock is right, `erase` it first.
        """

    @verb("POST /v1/sessions/get")
    def get(self, session_id: SessionId, *, user_id: UserId = None) -> Session:
        """Show a session; it lives on.

        The session, whose time to live starts anew; `NotFound` if it is not there or ran out.

        One that ended can be read, with `ended_at` set, until its time has run out; reading does
        not prolong it.
        """

    @verb("POST /v1/sessions/update")
    def update(
        self,
        session_id: SessionId,
        changes: Changes,
        *,
        user_id: UserId = None,
        version: Version = None,
    ) -> Session:
        """Change what a session knows.

        Merge changes into the data, key by key; None removes a key.

        Writers that change different keys never undo each other. With `version`, `Conflict` unless
        the data is still of that version; also `Conflict` when the session has ended.
        """

    @verb("POST /v1/sessions/end")
    def end(self, session_id: SessionId, *, user_id: UserId = None) -> Session:
        """End a session; one that has ended stays as it is."""

    @verb("POST /v1/sessions/erase", destructive=True, erases=always)
    def erase(self, session_id: SessionId, *, user_id: UserId = None) -> bool:
        """Remove a session for good; its messages stay."""

    @verb("GET /v1/sessions", answer=SessionList, command="list")
    def active(
        self,
        *,
        user_id: UserId = None,
        all_users: AllUsers = False,
        since: Annotated[datetime | None, Says("used at or after this moment")] = None,
        limit: Limit = 100,
    ) -> list[Session]:
        """List the sessions that are alive, the one last used first.

        `since` leaves out those not used from then on. Without a cache the moment of last use is
        known to within 1 % of the time to live.
        """

    @verb("GET /v1/sessions/recent")
    def recent(
        self, session_id: SessionId, *, user_id: UserId = None, limit: Limit = 100
    ) -> list[MemoryRecord]:
        """Show the last messages of a session, oldest first.

        They are there whether or not the session itself was created or still lives.
        """

    @verb("POST /v1/sessions/cleanup", scope=Scoping.TENANT, erases=where_dated)
    def cleanup(self, *, now: Now = None) -> int:
        """Remove the sessions whose time has run out.

        A clock that stands a year after anything was put is not believed (`InvalidInput`): pass
        `now` to say that it is right.
        """


OfSession = Annotated[str, Says("the session", "-s", bounds=NAME)]
Key = Annotated[str, Says("what it is called", bounds=NAME)]
KeptS = Annotated[
    float | None, Says("seconds to keep it", flag="--ttl", bounds={"exclusiveMinimum": 0})
]
SetImportance = Annotated[
    float | None, Says("0 to 1; from 0.8 it is remembered for good", "-i", bounds=SHARE)
]

WorkingItems = listed("WorkingItems", "What is kept for a task, by key.", items=WorkingItem)


class Working(Layer[F], layer="working", group=Group.WORKING):
    """Working memory of one tenant: JSON values by session and key."""

    @verb(
        "POST /v1/working/set",
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
        value: Annotated[Json, Says("what to keep: JSON, or a text", piped=True, json=True)],
        *,
        session_id: OfSession,
        user_id: UserId = None,
        agent_id: AgentId = None,
        ttl_s: KeptS = None,
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
        session_id: OfSession,
        user_id: UserId = None,
        default: Any = _Required.DEFAULT,
    ) -> Any:
        """Show a value.

        The value under a key; `NotFound` if there is none and no default is given.
        """

    @verb("GET /v1/working/items", answer=WorkingItems, command="list")
    def items(self, *, session_id: OfSession, user_id: UserId = None) -> list[WorkingItem]:
        """List what is kept for a session, by key."""

    @verb("POST /v1/working/remove")
    def remove(self, key: Key, *, session_id: OfSession, user_id: UserId = None) -> bool:
        """Let go of a value."""

    @verb("POST /v1/working/clear", erases=always)
    def clear(self, *, session_id: OfSession, user_id: UserId = None) -> int:
        """Let go of all values of a session."""

    @verb("POST /v1/working/cleanup", scope=Scoping.TENANT, erases=where_dated)
    def cleanup(self, *, now: Now = None) -> int:
        """Remove the values whose time has run out."""

    @verb("POST /v1/working/promote")
    def promote(
        self,
        key: Key,
        *,
        session_id: OfSession,
        user_id: UserId = None,
        kind: AddKind = Kind.SEMANTIC,
        importance: Importance = None,
    ) -> MemoryRecord:
        """Remember a value for good.

        Put an item into long-term memory, as the text "key: value"; it stays here too.

        Once for each value that was set: asked again, it gives the same memory, or a new one if
        that was forgotten or erased.
        """
