"""Conversations in our own JSON: `{"session_id", "title", "metadata", "messages": [...]}`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from remanence.errors import InvalidInput
from remanence.model.memory import EMPTY
from remanence.remember.messages import message_of
from remanence.transfer.chat.report import Reason, Skipped
from remanence.transfer.chat.talks import (
    Passed,
    Read,
    Talk,
    identified,
    listed,
    outside,
    sorted_out,
    talk_of,
    timed,
)


def talk(given: Mapping[str, Any], source: str, max_text: int) -> Talk:
    """A conversation with its messages; metadata that cannot be kept is left out."""
    read = [_read(each, n, max_text) for n, each in enumerate(listed(given.get("messages")))]
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
        read = [_read(each, self._number + n, self._max_text) for n, each in enumerate(given)]
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


def _read(given: Any, number: int, max_text: int) -> Read:
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
