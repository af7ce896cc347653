"""The tools by profile: `default` for an agent, `full` with every operation, `graph`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from remanence.api.rendering import dumped
from remanence.api.schema import required
from remanence.api.verb import AnyVerb
from remanence.api.verbs.table import served
from remanence.errors import InvalidInput
from remanence.language.fences import Fence, fenced
from remanence.model.validation import whole_of
from remanence.server.authorization import Desk
from remanence.server.mcp import answers, asks
from remanence.server.mcp.graph import GRAPH_TOOLS
from remanence.server.mcp.tool import Tool

ID_TOO, MEMORY_ID_TOO = {"id": "memory_id"}, {"memory_id": "id"}
PLACE = ("user_id", "agent_id", "session_id")


def _search(desk: Desk, asked: asks.SearchMemories) -> answers.Search:
    whole_of("limit", asked.limit, 1, answers.MOST_HITS)
    return answers.searched(desk.do("search", **_given(asked)))


def _list(desk: Desk, asked: asks.GetMemories) -> answers.Page:
    whole_of("limit", asked.limit, 1, answers.MOST_LISTED)
    found = desk.do("find", **_given(asked) | {"limit": asked.limit + 1})
    return answers.page(found, asked.limit, asked.offset)


def _update(desk: Desk, asked: asks.UpdateMemory) -> answers.Remembered:
    given = _given(asked)
    return answers.remembered(desk.do("update", id=given.pop("memory_id"), **given))


def _delete(desk: Desk, asked: asks.DeleteMemory) -> answers.Deleted:
    done = desk.do("forget", id=(asked.memory_id,), erase=asked.erase, reason=asked.reason)
    return answers.deleted(asked.memory_id, done)


def _converse(desk: Desk, asked: asks.AddConversation) -> answers.Stored:
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
        asked=asks.AddMemory,
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
        asked=asks.SearchMemories,
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
        asked=asks.GetMemories,
        answer=answers.Page,
        run=_list,
        words=answers.listed,
        uses=("find",),
        fills=("user_id", "agent_id"),
    ),
    Tool(
        name="get_memory",
        about="Show one memory whole, by its id.",
        asked=asks.GetMemory,
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
        asked=asks.UpdateMemory,
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
        asked=asks.DeleteMemory,
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
        asked=asks.GetContext,
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
        asked=asks.AddConversation,
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
