"""Conversations as ChatGPT, Claude and our own JSON tell them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from remanence.errors import InvalidInput
from remanence.memories.messages import message_of
from remanence.model.memory import EMPTY
from remanence.tools.transfer.chat.talks import (
    Passed,
    Read,
    Reason,
    Skipped,
    Talk,
    identified,
    listed,
    mapping,
    message,
    moment,
    outside,
    sorted_out,
    talk_of,
    timed,
)

ROLES = ("user", "assistant", "tool", "system")
THOUGHTS = ("thoughts", "reasoning_recap")
CONTEXTS = ("user_editable_context", "model_editable_context")  # the account's own settings


def chatgpt_talk(given: Mapping[str, Any], max_text: int) -> Talk:
    """The current branch of a conversation."""
    nodes, broken = _branch(mapping(given.get("mapping")), given.get("current_node"))
    read = [each for id, node in nodes for each in _chatgpt_message(id, node, max_text)]
    return talk_of(
        given.get("conversation_id") or given.get("id"),
        [*broken, *read],
        source="chatgpt",
        title=given.get("title"),
        begun=moment(given.get("create_time")),
    )


def _branch(
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


def _chatgpt_message(id: str, node: Mapping[str, Any], max_text: int) -> Iterator[Read]:
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
            _chatgpt_text(content),
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


def _chatgpt_text(content: Mapping[str, Any]) -> str | None:
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


SENDERS = {"human": "user", "user": "user", "assistant": "assistant", "system": "system"}


def claude_talk(given: Mapping[str, Any], max_text: int) -> Talk:
    """A conversation with its messages in the order of the file."""
    return talk_of(
        given.get("uuid"),
        [_claude_message(each, max_text) for each in listed(given.get("chat_messages"))],
        source="claude",
        title=given.get("name"),
        begun=moment(given.get("created_at")),
    )


def _claude_message(said: Any, max_text: int) -> Read:
    sender = mapping(said).get("sender")
    role = SENDERS.get(sender) if isinstance(sender, str) else None
    if role is None:
        return Passed(Reason.BROKEN, None, "a message without a known sender")
    return message(
        _claude_text(said),
        id=said.get("uuid"),
        role=role,
        at=moment(said.get("created_at")),
        max_text=max_text,
    )


def _claude_text(said: Mapping[str, Any]) -> str | None:
    """What was said: the text blocks, without thoughts and tools; else the plain `text`."""
    blocks = [mapping(each) for each in listed(said.get("content"))]
    texts = [each.get("text") for each in blocks if each.get("type", "text") == "text"]
    told = "\n".join(each for each in texts if isinstance(each, str) and each.strip())
    plain = said.get("text")
    return told or (plain if isinstance(plain, str) else None)


def own_talk(given: Mapping[str, Any], source: str, max_text: int) -> Talk:
    """A conversation with its messages; metadata that cannot be kept is left out."""
    read = [_own_message(each, n, max_text) for n, each in enumerate(listed(given.get("messages")))]
    try:
        metadata = outside(given.get("metadata"))
    except InvalidInput as error:
        metadata = dict(EMPTY)
        read.append(Passed(Reason.UNSTORABLE, None, str(error)))
    return talk_of(
        given.get("session_id"), read, source=source, title=given.get("title"), metadata=metadata
    )


class Loose:
    """Messages that stand in a file by themselves: together they are one conversation."""

    def __init__(self, id: str, source: str, max_text: int) -> None:
        self._id = id
        self._source = source
        self._max_text = max_text
        self._number = 0
        self._made: Counter[str] = Counter()
        self._last: datetime | None = None

    def talk(self, given: list[Mapping[str, Any]]) -> Talk:
        """The next of them."""
        read = [
            _own_message(each, self._number + n, self._max_text) for n, each in enumerate(given)
        ]
        self._number += len(given)
        taken, passed = sorted_out(read)
        messages = timed(identified(taken, self._made), self._last)
        self._last = messages[-1].at if messages else self._last
        skipped = [Skipped(one.reason, self._id, one.id, one.detail) for one in passed]
        return Talk(
            id=self._id, source=self._source, messages=tuple(messages), skipped=tuple(skipped)
        )


def _has_words(given: Mapping[str, Any]) -> bool:
    content = given.get("content")
    return isinstance(content, str) and bool(content.strip())


def _own_message(given: Any, number: int, max_text: int) -> Read:
    try:
        read = message_of(given, number)
        outside(None if read is None else read.metadata)
    except InvalidInput as error:
        return Passed(Reason.BROKEN, None, str(error))
    if read is None:
        return Passed(Reason.RECALLED if _has_words(given) else Reason.WORDLESS)
    if len(read.content) > max_text:
        return Passed(Reason.UNSTORABLE, read.id, f"content is longer than {max_text:,} characters")
    return read
