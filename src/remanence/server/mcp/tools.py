"""The tools by profile and what they take: `default` for an agent, `full`, `graph`."""

# ruff: noqa: RUF009 - `parameter` makes a field, it is no default

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any

from remanence.api.parameters import KEYS, LABEL, NAME, OFFSET, QUERY, SHARE, SIZE, TEXT, parameter
from remanence.api.rendering import dumped
from remanence.api.schema import required
from remanence.api.verb import AnyVerb
from remanence.api.verbs.table import served
from remanence.errors import InvalidInput
from remanence.language.fences import Fence, fenced
from remanence.model.memory import Kind
from remanence.model.validation import whole_of
from remanence.server.authorization import Desk
from remanence.server.mcp import answers
from remanence.server.mcp.answers import MOST_HITS, MOST_LISTED
from remanence.server.mcp.graph import GRAPH_TOOLS
from remanence.server.mcp.tool import Tool

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


ID_TOO, MEMORY_ID_TOO = {"id": "memory_id"}, {"memory_id": "id"}
PLACE = ("user_id", "agent_id", "session_id")


def _search(desk: Desk, asked: SearchMemories) -> answers.Search:
    whole_of("limit", asked.limit, 1, answers.MOST_HITS)
    return answers.searched(desk.do("search", **_given(asked)))


def _list(desk: Desk, asked: GetMemories) -> answers.Page:
    whole_of("limit", asked.limit, 1, answers.MOST_LISTED)
    found = desk.do("find", **_given(asked) | {"limit": asked.limit + 1})
    return answers.page(found, asked.limit, asked.offset)


def _update(desk: Desk, asked: UpdateMemory) -> answers.Remembered:
    given = _given(asked)
    return answers.remembered(desk.do("update", id=given.pop("memory_id"), **given))


def _delete(desk: Desk, asked: DeleteMemory) -> answers.Deleted:
    done = desk.do("forget", id=(asked.memory_id,), erase=asked.erase, reason=asked.reason)
    return answers.deleted(asked.memory_id, done)


def _converse(desk: Desk, asked: AddConversation) -> answers.Stored:
    if asked.session_id is None:
        raise InvalidInput("session_id is missing: give the conversation a name and keep to it.")
    turns = tuple(_given(each) for each in asked.messages)
    kept = desk.do("conversations.append", **_given(asked) | {"messages": turns})
    ids = tuple(each.id for each in kept.memories)
    return answers.Stored(session_id=asked.session_id, ids=ids)


DEFAULT_TOOLS = (
    Tool(
        name="add_memory",
        about="Remember one thing for later conversations: a fact, a preference, a decision, an "
        "event. Store what will still matter, in your own complete sentence; search first if it "
        "may be known already. For whole turns of a conversation use add_conversation.",
        asked=AddMemory,
        answer=answers.Remembered,
        run=lambda desk, asked: answers.remembered(desk.do("add", **_given(asked))),
        words=lambda memory: f"Remembered as {memory.id}.",
        uses=("add",),
        fills=PLACE,
    ),
    Tool(
        name="search_memories",
        about="Find the memories that answer a question. Use it before you answer anything about "
        "the user, earlier conversations or past work. Hits come best first, each with its id, "
        "its date and why it was found.",
        asked=SearchMemories,
        answer=answers.Search,
        run=_search,
        words=answers.hits,
        uses=("search",),
        fills=("user_id", "agent_id"),
    ),
    Tool(
        name="get_memories",
        about="List memories, the newest first, without a question: to see what is there, or what "
        "happened in a span of time. To answer a question, search_memories is better.",
        asked=GetMemories,
        answer=answers.Page,
        run=_list,
        words=answers.listed,
        uses=("find",),
        fills=("user_id", "agent_id"),
    ),
    Tool(
        name="get_memory",
        about="Show one memory whole, by its id.",
        asked=GetMemory,
        answer=answers.Remembered,
        run=lambda desk, asked: answers.remembered(desk.do("get", id=asked.memory_id)),
        words=answers.whole,
        uses=("get",),
        also=ID_TOO,
    ),
    Tool(
        name="update_memory",
        about="Correct or complete a memory. Its old values stay in its history. What is left out "
        "stays as it is.",
        asked=UpdateMemory,
        answer=answers.Remembered,
        run=_update,
        words=lambda memory: f"Changed {memory.id}.",
        uses=("update",),
        also=ID_TOO,
        repeats=True,
    ),
    Tool(
        name="delete_memory",
        about="Forget a memory: archived by default, so that it is not recalled any more and can "
        "be brought back. Erase only when the user asks for it to be removed for good.",
        asked=DeleteMemory,
        answer=answers.Deleted,
        run=_delete,
        words=answers.gone,
        uses=("forget",),
        also=ID_TOO,
        repeats=True,
    ),
    Tool(
        name="get_context",
        about="Get what is worth knowing before you answer, ready to read: core memory, the "
        "conversation so far, known facts and the memories that fit, within a number of tokens.",
        asked=GetContext,
        answer=answers.Prompt,
        run=lambda desk, asked: answers.picked(answers.Prompt, desk.do("context", **_given(asked))),
        words=lambda answer: answer.text or "Nothing is known about this yet.",
        uses=("context",),
        fills=PLACE,
    ),
    Tool(
        name="add_conversation",
        about="Remember turns of a conversation, word for word and in order. Facts in them are "
        "found and kept by themselves.",
        asked=AddConversation,
        answer=answers.Stored,
        run=_converse,
        words=lambda kept: f"Kept {len(kept.ids)} turns of the conversation {kept.session_id}.",
        uses=("conversations.append",),
        fills=PLACE,
    ),
)


@cache
def full_tools() -> tuple[Tool, ...]:
    """A tool for every operation that a server has."""
    return tuple(_tool(one) for one in sorted(served(), key=lambda one: one.name))


PROFILES: Mapping[str, Callable[[], tuple[Tool, ...]]] = {
    "default": lambda: DEFAULT_TOOLS,
    "graph": lambda: GRAPH_TOOLS,
    "full": full_tools,
}


def tools_of(profile: str) -> Mapping[str, Tool]:
    """The tools of a profile, by name."""
    if profile not in PROFILES:
        raise InvalidInput(f"There is no profile {profile!r}; there are {', '.join(PROFILES)}.")
    return {each.name: each for each in PROFILES[profile]()}


def _tool(wanted: AnyVerb) -> Tool:
    """An operation as it is: its request as arguments, its whole response as the answer."""
    return Tool(
        name=wanted.name.replace(".", "_"),
        about=wanted.summary,
        asked=wanted.request,
        answer=wanted.response,
        run=lambda desk, request: desk.door.perform(desk.caller, wanted, request),
        words=lambda answer: f"{answers.DATA}\n{fenced(Fence.MEMORIES, dumped(answer))}",
        uses=(wanted.name,),
        repeats=wanted.method in ("PUT", "DELETE"),
        fills=_fills(wanted),
        withheld=wanted.withheld,
        also=MEMORY_ID_TOO if _names_memories(wanted) else {},
    )


def _names_memories(wanted: AnyVerb) -> bool:
    """Whether its `id` is a memory's, and no fact's or run's."""
    return not wanted.layer and any(each.name == "id" for each in fields(wanted.request))


def _fills(wanted: AnyVerb) -> tuple[str, ...]:
    """User and agent; the session only where there must be one, as it narrows what is seen."""
    needed = {each.name for each in fields(wanted.request) if required(each)}
    return ("user_id", "agent_id", *({"session_id"} & needed))


def _given(asked: Any) -> dict[str, Any]:
    """The fields that were given at all."""
    values = {each.name: getattr(asked, each.name) for each in fields(asked)}
    return {name: value for name, value in values.items() if value is not None}
