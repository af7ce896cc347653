"""The verbs of working memory: the state of a task, for as long as its session lives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from remanence.model.memory import Json, MemoryRecord
from remanence.model.session import WorkingItem
from remanence.operations.layer_responses import Done, Value, WorkingItems
from remanence.operations.operation import (
    Answer,
    Group,
    Scoping,
    always,
    given,
    of_layer,
    where_dated,
)
from remanence.operations.responses import Count
from remanence.operations.scopes import KINDS
from remanence.operations.sessions import CleanUp


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The session whose task it is."""

    session_id: str = given("the session", ..., short="-s")
    user_id: str | None = given("the user whose session it is", short="-u")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed(Task):
    """One key."""

    key: str = given("what it is called", ..., positional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Set(Keyed):
    """A value to keep for now."""

    value: Json = given(
        "what to keep: JSON, or a text", ..., positional=True, piped=True, json=True
    )
    agent_id: str | None = given("the agent at the task", short="-a")
    ttl_s: float | None = given("seconds to keep it", flag="--ttl")
    importance: float | None = given("0 to 1; from 0.8 it is remembered for good", short="-i")
    trust: float = given("0 to 1; what is promoted is trusted as much", 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promote(Keyed):
    """A value to remember for good."""

    kind: str = given(KINDS, "semantic")
    importance: float | None = given("0 to 1; computed when left out", short="-i")


_operation = partial(of_layer, scope=Scoping.SCOPED, group=Group.WORKING)

WORKING = (
    _operation(
        "working.set",
        "Keep a value.",
        request=Set,
        response=WorkingItem,
        writes=True,
        answers=Answer.WRITTEN,
    ),
    _operation(
        "working.get",
        "Show a value.",
        request=Keyed,
        response=Value,
        writes=False,
        wrap=lambda value: Value(value=value),
    ),
    _operation(
        "working.items",
        "List what is kept for a session.",
        request=Task,
        response=WorkingItems,
        writes=False,
        wrap=lambda found: WorkingItems(items=tuple(found)),
        listing="items",
        command="list",
    ),
    _operation(
        "working.remove",
        "Let go of a value.",
        request=Keyed,
        response=Done,
        writes=True,
        wrap=lambda removed: Done(done=removed),
        answers=Answer.FIGURES,
    ),
    _operation(
        "working.clear",
        "Let go of all values of a session.",
        request=Task,
        response=Count,
        writes=True,
        wrap=lambda count: Count(count=count),
        answers=Answer.FIGURES,
        erases=always,
    ),
    _operation(
        "working.cleanup",
        "Remove the values whose time has run out.",
        request=CleanUp,
        response=Count,
        writes=True,
        scope=Scoping.TENANT,
        wrap=lambda count: Count(count=count),
        answers=Answer.FIGURES,
        erases=where_dated,
    ),
    _operation(
        "working.promote",
        "Remember a value for good.",
        request=Promote,
        response=MemoryRecord,
        writes=True,
    ),
)
