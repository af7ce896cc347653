"""The tools by profile and what they take: `default` for an agent, `full`, `graph`."""

# ruff: noqa: RUF009 - `parameter` makes a field, it is no default

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, TypedDict, Unpack

from remanence.api.answers import picked
from remanence.api.parameters import KEYS, LABEL, NAME, OFFSET, QUERY, SHARE, SIZE, TEXT, parameter
from remanence.api.schema import required
from remanence.api.values import dumped
from remanence.api.verb import AnyVerb, Says
from remanence.api.verbs.table import served
from remanence.errors import InvalidInput
from remanence.language.fences import Fence, fenced
from remanence.model.memory import Kind
from remanence.model.validation import whole_of
from remanence.server.authorization import Desk
from remanence.server.mcp import answers
from remanence.server.mcp.answers import MOST_HITS, MOST_LISTED
from remanence.server.mcp.graph import GRAPH_TOOLS
from remanence.server.mcp.tool import Tool, given, tool

MEMORY_ID_TOO = {"memory_id": "id"}
WHOSE = "the user it is about; leave it out for what belongs to no user in particular"
FOR_ONE = "the agent it belongs to, if it is for one agent only"
TIME = "ISO 8601 with a time zone, such as 2026-05-01T09:30:00Z"

Text = Annotated[
    str,
    Says(
        "one thing worth remembering, as a sentence that can be understood alone: with names "
        "instead of pronouns, and dates instead of `yesterday`",
        bounds=TEXT,
    ),
]
NewKind = Annotated[
    Kind,
    Says(
        "episodic: something that happened; semantic: a lasting fact or preference; procedural: "
        "how to do something; reflection: a conclusion drawn from other memories"
    ),
]
Matters = Annotated[
    float | None, Says("0 to 1: how much it matters; worked out when left out", bounds=SHARE)
]
Kept = Annotated[
    Mapping[str, Any] | None, Says("anything else to keep with it, as JSON", bounds=KEYS)
]
UserId = Annotated[str | None, Says(WHOSE, bounds=NAME)]
OneAgent = Annotated[
    str | None, Says("only what belongs to this agent; leave it out for any agent's", bounds=NAME)
]
Query = Annotated[
    str, Says("a question or what to look for, in plain words; names and dates help", bounds=QUERY)
]
# Narrower bounds than the memory's own: a model reads all of it.
FewHits = Annotated[
    int, Says(f"how many at most, 1 to {MOST_HITS}", bounds={"minimum": 1, "maximum": MOST_HITS})
]
FewListed = Annotated[
    int,
    Says(f"how many at most, 1 to {MOST_LISTED}", bounds={"minimum": 1, "maximum": MOST_LISTED}),
]
Offset = Annotated[int, Says("leave out so many first: to turn the page", bounds=OFFSET)]
Sure = Annotated[
    float | None,
    Says("0 to 1: tell no memories where they answer less probably than that", bounds=SHARE),
]
MemoryId = Annotated[str, Says("the memory's id, as a search shows it")]
NewMetadata = Annotated[
    Mapping[str, Any] | None, Says("replaces the old metadata as a whole", bounds=KEYS)
]
WhyGone = Annotated[str | None, Says("why; kept in its history", bounds=LABEL)]
Erase = Annotated[bool, Says("true: remove it for good, which cannot be undone; false: archive it")]
Asked = Annotated[
    str | None, Says("what is asked; else the last thing said in the conversation", bounds=QUERY)
]
MaxTokens = Annotated[int, Says("so many tokens at most", bounds=SIZE)]
Of = Annotated[
    str | None,
    Says(
        "the conversation they belong to: the same id for the whole of it. Needed, unless the "
        "connection is for one conversation",
        bounds=NAME,
    ),
]


class Added(TypedDict, total=False):
    """What may be said of a new memory."""

    importance: Matters
    happened_at: Annotated[datetime | None, Says(f"when it happened, if not now: {TIME}")]
    metadata: Kept
    user_id: UserId
    agent_id: Annotated[str | None, Says(FOR_ONE, bounds=NAME)]
    session_id: Annotated[str | None, Says("the conversation it belongs to", bounds=NAME)]


class Which(TypedDict, total=False):
    """Which memories."""

    kinds: Annotated[tuple[Kind, ...], Says("only these kinds")]
    since: Annotated[datetime | None, Says(f"only what happened at or after: {TIME}")]
    until: Annotated[datetime | None, Says(f"only what happened before: {TIME}")]
    user_id: UserId
    agent_id: OneAgent


class Changed(TypedDict, total=False):
    """New values; what is left out stays."""

    text: Annotated[str | None, Says("the new text", bounds=TEXT)]
    importance: Annotated[float | None, Says("0 to 1: how much it matters", bounds=SHARE)]
    metadata: NewMetadata
    pinned: Annotated[bool | None, Says("true: no rule may ever forget it")]
    reason: Annotated[str | None, Says("why it changes; kept in its history", bounds=LABEL)]


class Prompted(TypedDict, total=False):
    """Whom a prompt is for."""

    user_id: UserId
    agent_id: OneAgent
    session_id: Annotated[str | None, Says("the conversation that is going on", bounds=NAME)]


class Partners(TypedDict, total=False):
    """Who takes part in a conversation."""

    user_id: Annotated[str | None, Says("the user who takes part", bounds=NAME)]
    agent_id: Annotated[str | None, Says("the agent who takes part", bounds=NAME)]


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


Turns = Annotated[tuple[Message, ...], Says("the turns, oldest first")]


@tool("add", words=lambda memory: f"Remembered as {memory.id}.")
def add_memory(
    desk: Desk, text: Text, kind: NewKind = Kind.EPISODIC, **more: Unpack[Added]
) -> answers.Remembered:
    """Remember one thing for later conversations: a fact, a preference, a decision, an event.
    Store what will still matter, in your own complete sentence; search first if it may be known
    already. For whole turns of a conversation use add_conversation."""
    return answers.remembered(desk.do("add", text=text, kind=kind, **more))


@tool("search", words=answers.hits)
def search_memories(
    desk: Desk,
    query: Query,
    limit: FewHits = 10,
    min_confidence: Sure = None,
    **which: Unpack[Which],
) -> answers.Search:
    """Find the memories that answer a question. Use it before you answer anything about the user,
    earlier conversations or past work. Hits come best first, each with its id, its date and why it
    was found."""
    whole_of("limit", limit, 1, MOST_HITS)
    found = desk.do("search", query=query, limit=limit, min_confidence=min_confidence, **which)
    shown = tuple(map(answers.recalled, found.hits))
    sure = None if found.confidence is None else round(found.confidence, 4)
    return answers.Search(memories=shown, degraded=found.degraded, confidence=sure)


@tool("find", words=answers.listed)
def get_memories(
    desk: Desk, limit: FewListed = 20, offset: Offset = 0, **which: Unpack[Which]
) -> answers.Page:
    """List memories, the newest first, without a question: to see what is there, or what happened
    in a span of time. To answer a question, search_memories is better."""
    whole_of("limit", limit, 1, MOST_LISTED)
    found = desk.do("find", limit=limit + 1, offset=offset, **which)
    return answers.page(found, limit, offset)


@tool("get", words=answers.whole)
def get_memory(desk: Desk, memory_id: MemoryId) -> answers.Remembered:
    """Show one memory whole, by its id."""
    return answers.remembered(desk.do("get", id=memory_id))


@tool("update", repeats=True, words=lambda memory: f"Changed {memory.id}.")
def update_memory(desk: Desk, memory_id: MemoryId, **new: Unpack[Changed]) -> answers.Remembered:
    """Correct or complete a memory. Its old values stay in its history. What is left out stays as
    it is."""
    return answers.remembered(desk.do("update", id=memory_id, **new))


@tool("forget", repeats=True, words=answers.gone)
def delete_memory(
    desk: Desk, memory_id: MemoryId, erase: Erase = False, reason: WhyGone = None
) -> answers.Deleted:
    """Forget a memory: archived by default, so that it is not recalled any more and can be brought
    back. Erase only when the user asks for it to be removed for good."""
    done = desk.do("forget", id=(memory_id,), erase=erase, reason=reason)
    receipt = done.receipt.id if done.receipt else None
    return answers.Deleted(id=memory_id, erased=done.erased, receipt=receipt)


@tool("context", words=lambda told: told.text or "Nothing is known about this yet.")
def get_context(
    desk: Desk,
    query: Asked = None,
    max_tokens: MaxTokens = 1500,
    min_confidence: Sure = None,
    **whose: Unpack[Prompted],
) -> answers.Prompt:
    """Get what is worth knowing before you answer, ready to read: core memory, the conversation so
    far, known facts and the memories that fit, within a number of tokens."""
    asked = {"query": query, "max_tokens": max_tokens, "min_confidence": min_confidence}
    made = desk.do("context", **asked, **whose)
    return picked(answers.Prompt, made)


@tool(
    "conversations.append",
    words=lambda kept: f"Kept {len(kept.ids)} turns of the conversation {kept.session_id}.",
)
def add_conversation(
    desk: Desk, messages: Turns, session_id: Of = None, **who: Unpack[Partners]
) -> answers.Stored:
    """Remember turns of a conversation, word for word and in order. Facts in them are found and
    kept by themselves."""
    if session_id is None:
        raise InvalidInput("session_id is missing: give the conversation a name and keep to it.")
    turns = tuple(given(each) for each in messages)
    kept = desk.do("conversations.append", messages=turns, session_id=session_id, **who)
    return answers.Stored(session_id=session_id, ids=tuple(each.id for each in kept.memories))


DEFAULT_TOOLS = (
    *(add_memory, search_memories, get_memories, get_memory, update_memory, delete_memory),
    *(get_context, add_conversation),
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
        # The `id` of what is no layer's is a memory's, and no fact's or run's.
        also={} if wanted.layer or "id" not in wanted.asked else MEMORY_ID_TOO,
    )


def _fills(wanted: AnyVerb) -> tuple[str, ...]:
    """User and agent; the session only where there must be one, as it narrows what is seen."""
    needed = {each.name for each in fields(wanted.request) if required(each)}
    return ("user_id", "agent_id", *({"session_id"} & needed))
