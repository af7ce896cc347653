"""What a chat import did, and what it passed over and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from remanence.errors import InvalidInput

SHOWN = 10


class Reason(StrEnum):
    """Why something of a file was not taken."""

    UNKNOWN = "not a conversation"
    NAMELESS = "conversation without a usable id"
    SILENT = "conversation without messages"
    BROKEN = "not as the format says"
    CUT = "thread that leads nowhere"
    HIDDEN = "hidden"
    WORDLESS = "without words"
    CALL = "tool call"
    THOUGHT = "thoughts of a model"
    RECALLED = "only repeats what was recalled"
    TWICE = "twice in a conversation"
    UNSTORABLE = "cannot be stored"


@dataclass(frozen=True, slots=True)
class Skipped:
    """One thing that was not taken: of which conversation, which message, and why."""

    reason: Reason
    conversation: str | None = None
    message: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatImported:
    """What was read in, or would be.

    `conversations` are those that gained messages, `present` the messages that were here already.
    `first` are the first of the skipped.
    """

    dry_run: bool
    conversations: int
    messages: int
    present: int
    summaries: int
    skipped: Mapping[str, int]
    first: tuple[Skipped, ...]


class Tally:
    """Counts while an import runs."""

    def __init__(self) -> None:
        self.seen = self.conversations = self.messages = self.present = self.summaries = 0
        self._reasons: Counter[str] = Counter()
        self._first: list[Skipped] = []

    def skip(self, skipped: Iterable[Skipped]) -> None:
        """Count what is not taken."""
        for one in skipped:
            self._reasons[one.reason.value] += 1
            if len(self._first) < SHOWN:
                self._first.append(one)

    def check_any(self) -> None:
        """`InvalidInput` if the file had values and none was a conversation."""
        if self._reasons and not self.seen and not self._reasons[Reason.NAMELESS.value]:
            raise InvalidInput(
                "There is no conversation in the file: it is no chat export that is known here. "
                "Known are ChatGPT's and Claude's conversations.json and our own JSON."
            )

    def report(self, dry_run: bool) -> ChatImported:
        """All of it, the most frequent reason first."""
        return ChatImported(
            dry_run=dry_run,
            conversations=self.conversations,
            messages=self.messages,
            present=self.present,
            summaries=self.summaries,
            skipped=dict(self._reasons.most_common()),
            first=tuple(self._first),
        )
