"""From a file to conversations: whose export it is, is found out by looking at each value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.transfer.chat import chatgpt, claude, own
from remanence.transfer.chat.report import Reason, Skipped
from remanence.transfer.chat.talks import Format, Talk
from remanence.transfer.lines import FORMAT

TOGETHER = 1_000  # messages that stand by themselves are read so many at a time


def format_of(value: Mapping[str, Any]) -> Format | None:
    """Whose conversation it is, by the field that holds its messages."""
    if "mapping" in value:
        return Format.CHATGPT
    if "chat_messages" in value:
        return Format.CLAUDE
    return Format.REMANENCE if "messages" in value or _is_message(value) else None


class TalkReader:
    """Makes conversations of the values of one file; `name` stands for it as a source."""

    def __init__(self, format: Format, name: str, max_text: int) -> None:
        self._format = format
        self._loose = own.Loose(Path(name).stem or name, name, max_text)
        self._read: Mapping[Format, Callable[[Mapping[str, Any]], Talk]] = {
            Format.CHATGPT: lambda value: chatgpt.talk(value, max_text),
            Format.CLAUDE: lambda value: claude.talk(value, max_text),
            Format.REMANENCE: lambda value: own.talk(value, name, max_text),
        }

    def talks(self, values: Iterable[Any]) -> Iterator[Talk]:
        """Every conversation; a value that is none is told as skipped."""
        loose: list[Mapping[str, Any]] = []
        for value in values:
            if self._takes(Format.REMANENCE) and _is_message(value):
                loose.append(value)
            else:
                yield self._talk(value)
            if len(loose) >= TOGETHER:
                yield self._loose.talk(loose)
                loose = []
        if loose:
            yield self._loose.talk(loose)

    def _talk(self, value: Any) -> Talk:
        if isinstance(value, Mapping):
            _check_not_ours(value)
            found = format_of(value)
            if found is not None and self._takes(found):
                return self._read[found](value)
        return Talk(id=None, source=None, skipped=(Skipped(Reason.UNKNOWN),))

    def _takes(self, format: Format) -> bool:
        return self._format in (Format.AUTO, format)


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and "role" in value and "content" in value


def _check_not_ours(value: Mapping[str, Any]) -> None:
    if value.get("type") == FORMAT:
        raise InvalidInput("`rem export` made this file; read it with `rem import FILE`.")
