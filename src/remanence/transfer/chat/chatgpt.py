"""ChatGPT's `conversations.json`: every conversation is a tree, of which one branch is current."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from remanence.transfer.chat.report import Reason
from remanence.transfer.chat.talks import (
    Passed,
    Read,
    Talk,
    listed,
    mapping,
    message,
    moment,
    talk_of,
)

ROLES = ("user", "assistant", "tool", "system")
THOUGHTS = ("thoughts", "reasoning_recap")
CONTEXTS = ("user_editable_context", "model_editable_context")  # the account's own settings


def talk(given: Mapping[str, Any], max_text: int) -> Talk:
    """The current branch of a conversation."""
    nodes, broken = branch(mapping(given.get("mapping")), given.get("current_node"))
    read = [each for id, node in nodes for each in _read(id, node, max_text)]
    return talk_of(
        given.get("conversation_id") or given.get("id"),
        [*broken, *read],
        source="chatgpt",
        title=given.get("title"),
        begun=moment(given.get("create_time")),
    )


def branch(
    nodes: Mapping[str, Any], leaf: object
) -> tuple[list[tuple[str, Mapping[str, Any]]], list[Passed]]:
    """From the root to the leaf (the newest if it is not named), and where that way is broken."""
    way: dict[str, Mapping[str, Any]] = {}
    at = leaf if isinstance(leaf, str) and leaf in nodes else _newest_leaf(nodes)
    broken = []
    while at is not None:
        if not isinstance(at, str) or at in way or not isinstance(nodes.get(at), Mapping):
            broken.append(Passed(Reason.CUT, str(at)[:64], "a parent is missing, or its own child"))
            break
        way[at] = nodes[at]
        at = nodes[at].get("parent")
    return list(reversed(way.items())), broken


def _newest_leaf(nodes: Mapping[str, Any]) -> str | None:
    parents = {str(mapping(node).get("parent")) for node in nodes.values()}
    leaves = [id for id in nodes if id not in parents]
    return max(leaves, key=lambda leaf: _seconds(nodes[leaf]), default=next(iter(nodes), None))


def _seconds(node: Any) -> float:
    at = moment(mapping(mapping(node).get("message")).get("create_time"))
    return at.timestamp() if at else float("-inf")


def _read(id: str, node: Mapping[str, Any], max_text: int) -> Iterator[Read]:
    """The message of a node; the root and nodes that only hold others together have none."""
    said = node.get("message")
    if said is None:
        return
    if not isinstance(said, Mapping):
        yield Passed(Reason.BROKEN, id, "message is not an object")
        return
    author, content = mapping(said.get("author")), mapping(said.get("content"))
    known = said.get("id") if isinstance(said.get("id"), str) else id
    if author.get("role") not in ROLES:
        yield Passed(Reason.BROKEN, known, "author.role is not known")
    elif (reason := _passed_over(said, content)) is not None:
        yield Passed(reason, known)
    else:
        model = mapping(said.get("metadata")).get("model_slug")
        yield message(
            text_of(content),
            id=known,
            role=author["role"],
            name=author.get("name"),
            at=moment(said.get("create_time")),
            metadata={"model": model} if isinstance(model, str) else None,
            max_text=max_text,
        )


def _passed_over(said: Mapping[str, Any], content: Mapping[str, Any]) -> Reason | None:
    """Whether it was never shown, or is not said to the person."""
    kind = content.get("content_type")
    hidden = mapping(said.get("metadata")).get("is_visually_hidden_from_conversation") is True
    if hidden or said.get("weight") == 0 or kind in CONTEXTS:
        return Reason.HIDDEN
    if kind in THOUGHTS:
        return Reason.THOUGHT
    return Reason.CALL if said.get("recipient") not in (None, "all") else None


def text_of(content: Mapping[str, Any]) -> str | None:
    """The words of a content: its parts that are text or a transcript, else its text or result."""
    parts = [_part(each) for each in listed(content.get("parts"))]
    told = "\n".join(each for each in parts if each)
    if told:
        return told
    single = content.get("text", content.get("result"))
    return single if isinstance(single, str) else None


def _part(part: Any) -> str | None:
    told = part.get("text") if isinstance(part, Mapping) else part
    return told if isinstance(told, str) else None
