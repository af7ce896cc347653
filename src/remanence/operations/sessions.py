"""The verbs of sessions: begun, read, changed, ended, listed, cleaned up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from remanence.model.session import Session
from remanence.operations.layer_responses import Done, Sessions
from remanence.operations.operation import (
    Answer,
    Group,
    Scoping,
    always,
    given,
    of_layer,
    where_dated,
)
from remanence.operations.responses import Count, Memories


@dataclass(frozen=True, slots=True, kw_only=True)
class Of:
    """One session of a user."""

    session_id: str = given("the session's id", ..., positional=True)
    user_id: str | None = given("the user whose session it is", short="-u")


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """A session to begin."""

    session_id: str | None = given("its id; made when left out", positional=True)
    user_id: str | None = given("the user whose session it is", short="-u")
    agent_id: str | None = given("the agent that holds it", short="-a")
    data: Mapping[str, Any] | None = given("what it knows at first", short="-d")
    ttl_s: float | None = given("seconds it lives after its last use", flag="--ttl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(Of):
    """New values for some of what a session knows."""

    changes: Mapping[str, Any] = given("what to set; null removes", ..., short="-d", flag="--data")
    version: int | None = given("only if it still has this version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """Which sessions are alive."""

    user_id: str | None = given("the user whose sessions they are", short="-u")
    all_users: bool = given("every user's sessions", False)
    since: datetime | None = given("used at or after this moment")
    limit: int = given("how many at most", 100, short="-k")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUp:
    """When it is."""

    now: datetime | None = given("the moment that counts as now")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent(Of):
    """The last messages of a session."""

    limit: int = given("how many at most", 100, short="-k")


_operation = partial(of_layer, scope=Scoping.SCOPED, group=Group.SESSIONS)

SESSIONS = (
    _operation(
        "sessions.create",
        "Begin a session.",
        request=Create,
        response=Session,
        writes=True,
        answers=Answer.WRITTEN,
    ),
    _operation(
        "sessions.get", "Show a session; it lives on.", request=Of, response=Session, writes=True
    ),
    _operation(
        "sessions.update",
        "Change what a session knows.",
        request=Update,
        response=Session,
        writes=True,
    ),
    _operation("sessions.end", "End a session.", request=Of, response=Session, writes=True),
    _operation(
        "sessions.erase",
        "Remove a session for good; its messages stay.",
        request=Of,
        response=Done,
        writes=True,
        wrap=lambda there: Done(done=there),
        destructive=True,
        answers=Answer.FIGURES,
        erases=always,
    ),
    _operation(
        "sessions.active",
        "List the sessions that are alive.",
        request=Active,
        response=Sessions,
        writes=False,
        wrap=lambda found: Sessions(sessions=tuple(found)),
        listing="sessions",
        command="list",
    ),
    _operation(
        "sessions.recent",
        "Show the last messages of a session.",
        request=Recent,
        response=Memories,
        writes=False,
        wrap=lambda found: Memories(memories=tuple(found)),
        listing="memories",
    ),
    _operation(
        "sessions.cleanup",
        "Remove the sessions whose time has run out.",
        request=CleanUp,
        response=Count,
        writes=True,
        scope=Scoping.TENANT,
        wrap=lambda count: Count(count=count),
        answers=Answer.FIGURES,
        erases=where_dated,
    ),
)
