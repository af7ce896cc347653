"""The verbs that read: search, explain, get, list, count, compare."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from remanence.model.context import Context
from remanence.model.hit import WhyNot
from remanence.model.memory import MemoryRecord
from remanence.operations.operation import Answer, Group, Operation, Scoping, arguments, given
from remanence.operations.responses import Count, Found, History, Memories, Similarity
from remanence.operations.scopes import ABOUT_TRUST, Conditions, Place

if TYPE_CHECKING:
    from remanence.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(Conditions):
    """A question."""

    query: str = given("the question, in plain words", ..., positional=True, piped=True)
    limit: int = given("how many hits", 10, short="-k")
    as_of: datetime | None = given("as if asked then: leave out what happened later")
    known_at: datetime | None = given("leave out what was learned later")
    now: datetime | None = given('what "yesterday" or "last May" count from')
    min_score: float | None = given("leave out hits below this score")
    min_trust: float | None = given(ABOUT_TRUST)
    time_weight: float | None = given("how fast recency fades, per day")
    diversity: float = given("0 to 1: how much near repetitions give way", 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge(Place):
    """What a prompt is for."""

    query: str | None = given("what is asked; else the last thing the user said", positional=True)
    max_tokens: int = given("so many tokens at most", 1500, short="-n")
    now: datetime | None = given('what "yesterday" or "last May" count from')
    include_shared: bool = given("also recall what belongs to no user", False)
    min_trust: float | None = given(ABOUT_TRUST)
    recall: bool = given("search the memories too", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskWhyNot(Search):
    """A question, and the memory it did not bring up."""

    id: str = given("the memory's id", ..., positional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Get:
    """A memory by its id."""

    id: str = given("the memory's id", ..., positional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Find(Conditions):
    """Which memories to list, and in what order."""

    limit: int = given("how many at most", 100, short="-k")
    offset: int = given("leave out so many first", 0)
    newest_first: bool = given("newest first, or oldest first", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountWhich(Conditions):
    """Which memories to count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """Two texts, or two memories by their ids."""

    a: str = given("a text or an id", ..., positional=True)
    b: str = given("another text or id", ..., positional=True)


def _search(memory: Memory, request: Search) -> Found:
    hits = memory.search(**arguments(request))
    return Found(hits=tuple(hits), understood=hits.understood, degraded=hits.degraded)


def _context(memory: Memory, request: Bridge) -> Context:
    return memory.context(**arguments(request))


def _why_not(memory: Memory, request: AskWhyNot) -> WhyNot:
    return memory.why_not(**arguments(request))


def _get(memory: Memory, request: Get) -> MemoryRecord:
    return memory.get(request.id)


def _find(memory: Memory, request: Find) -> Memories:
    return Memories(memories=tuple(memory.find(**arguments(request))))


def _count(memory: Memory, request: CountWhich) -> Count:
    return Count(count=memory.count(**arguments(request)))


def _sources(memory: Memory, request: Get) -> Memories:
    return Memories(memories=tuple(memory.sources(request.id)))


def _history(memory: Memory, request: Get) -> History:
    return History(revisions=tuple(memory.history(request.id)))


def _similarity(memory: Memory, request: Compare) -> Similarity:
    return Similarity(cosine=memory.similarity(request.a, request.b))


RECALLING = (
    Operation(
        name="search",
        summary="Find the memories that answer a question.",
        group=Group.RECALL,
        request=Search,
        response=Found,
        run=_search,
        writes=False,
        scope=Scoping.SCOPED,
        listing="hits",
    ),
    Operation(
        name="context",
        summary="Put together what a prompt should hold.",
        group=Group.RECALL,
        request=Bridge,
        response=Context,
        run=_context,
        writes=False,
        scope=Scoping.SCOPED,
    ),
    Operation(
        name="why_not",
        summary="Say why a search does not return a memory.",
        group=Group.RECALL,
        request=AskWhyNot,
        response=WhyNot,
        run=_why_not,
        writes=False,
        scope=Scoping.SCOPED,
    ),
    Operation(
        name="get",
        summary="Show a memory.",
        group=Group.RECALL,
        request=Get,
        response=MemoryRecord,
        run=_get,
        writes=False,
        scope=Scoping.BY_ID,
    ),
    Operation(
        name="find",
        summary="List memories by time, kind, metadata; no ranking.",
        group=Group.RECALL,
        request=Find,
        response=Memories,
        run=_find,
        writes=False,
        scope=Scoping.SCOPED,
        listing="memories",
        command="list",
    ),
    Operation(
        name="count",
        summary="Count memories.",
        group=Group.RECALL,
        request=CountWhich,
        response=Count,
        run=_count,
        writes=False,
        scope=Scoping.SCOPED,
        answers=Answer.FIGURES,
    ),
    Operation(
        name="history",
        summary="Show every change of a memory.",
        group=Group.RECALL,
        request=Get,
        response=History,
        run=_history,
        writes=False,
        scope=Scoping.BY_ID,
        listing="revisions",
    ),
    Operation(
        name="sources",
        summary="Show what a memory was made of, or stands for since it was merged.",
        group=Group.RECALL,
        request=Get,
        response=Memories,
        run=_sources,
        writes=False,
        scope=Scoping.BY_ID,
        listing="memories",
    ),
    Operation(
        name="similarity",
        summary="Say how close two texts or memories are in meaning.",
        group=Group.RECALL,
        request=Compare,
        response=Similarity,
        run=_similarity,
        writes=False,
        scope=Scoping.BY_ID,
        answers=Answer.FIGURES,
    ),
)
