"""A conversation as an export tells it, whichever that is; what an import did and passed over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Any

from remanence.errors import InvalidInput
from remanence.memories.messages import Message, unechoed
from remanence.model import validation
from remanence.model.memory import EMPTY, Metadata
from remanence.model.scope import check_name
from remanence.model.validation import check_metadata

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


class Format(StrEnum):
    """Whose export a file is."""

    AUTO = "auto"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    REMANENCE = "remanence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation: its messages in order, each with an id, and what of it is not taken.

    `id` is None where the export gives none that could be kept; then nothing of it is taken.
    """

    id: str | None
    source: str | None
    title: str | None = None
    metadata: Metadata = field(default_factory=lambda: EMPTY)
    messages: tuple[Message, ...] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Passed:
    """A message that is not taken."""

    reason: Reason
    id: str | None = None
    detail: str | None = None


Read = Message | Passed


def talk_of(
    id: object,
    read: Iterable[Read],
    *,
    source: str | None,
    title: object = None,
    metadata: Metadata = EMPTY,
    begun: datetime | None = None,
) -> Talk:
    """The conversation of messages as they were read; `begun` is the time of those without one."""
    if (why := _unusable(id)) is not None or not isinstance(id, str):
        return Talk(id=None, source=source, skipped=(Skipped(Reason.NAMELESS, detail=why),))
    taken, passed = sorted_out(read)
    skipped = [Skipped(one.reason, id, one.id, one.detail) for one in passed]
    if not taken and not passed:
        skipped.append(Skipped(Reason.SILENT, id))
    return Talk(
        id=id,
        source=source,
        title=title_of(title),
        metadata=metadata,
        messages=tuple(timed(identified(taken, Counter()), begun)),
        skipped=tuple(skipped),
    )


def _unusable(id: object) -> str | None:
    try:
        check_name("id", str(id))
    except InvalidInput as error:
        return str(error)
    return None if isinstance(id, str) else "There is none."


def sorted_out(read: Iterable[Read]) -> tuple[list[Message], list[Passed]]:
    """The messages that can be taken, each id once, and what cannot."""
    taken: list[Message] = []
    passed: list[Passed] = []
    ids: set[str] = set()
    for one in read:
        if isinstance(one, Passed):
            passed.append(one)
        elif one.id is not None and one.id in ids:
            passed.append(Passed(Reason.TWICE, one.id))
        else:
            ids.update([one.id] if one.id else [])
            taken.append(one)
    return taken, passed


def identified(messages: Iterable[Message], seen: Counter[str]) -> Iterator[Message]:
    """Each with an id; one that came without gets one made of what it says, alike every time."""
    for one in messages:
        if one.id is not None:
            yield one
            continue
        told = "\0".join([one.role or "", one.name or "", str(one.at), one.content])
        digest = blake2b(told.encode(), digest_size=12).hexdigest()
        seen[digest] += 1
        yield replace(one, id=f"{digest}.{seen[digest]}")


def timed(messages: Iterable[Message], begun: datetime | None) -> list[Message]:
    """Each with a time, where one is known: its own, else of the one before, else of the next."""
    told = list(messages)
    last = next((one.at for one in told if one.at is not None), begun)
    with_time = []
    for one in told:
        last = one.at or last
        with_time.append(replace(one, at=last))
    return with_time


def message(
    content: str | None,
    *,
    id: object,
    role: object,
    name: object = None,
    at: datetime | None = None,
    metadata: Mapping[str, Any] | None = None,
    max_text: int,
) -> Read:
    """A message, or why it is none; NUL and half characters cannot be kept."""
    known = id if isinstance(id, str) else None
    if not content or not content.strip():
        return Passed(Reason.WORDLESS, known)
    own = unechoed(content)
    if own is None:
        return Passed(Reason.RECALLED, known)
    try:
        return Message(
            content=validation.text_of("content", own, max_text),
            role=validation.label_of("role", role),
            name=validation.label_of("name", name or None),
            at=at,
            id=validation.label_of("id", id),
            metadata=outside(metadata),
        )
    except InvalidInput as error:
        return Passed(Reason.UNSTORABLE, known, str(error))


def outside(metadata: object) -> dict[str, Any]:
    """Metadata that can be kept and claims nothing that only the memory says."""
    kept = validation.metadata_of(metadata)
    check_metadata(kept)
    return kept


def title_of(value: object) -> str | None:
    """A title that can be kept; a long one is cut."""
    with suppress(InvalidInput):
        return validation.text_of("title", value).strip()[: validation.MAX_LABEL]
    return None


def moment(value: object) -> datetime | None:
    """A time in seconds since 1970 or as ISO 8601 text, which may lack a zone; else None."""
    with suppress(ValueError, OverflowError, OSError):
        if isinstance(value, str):
            read = datetime.fromisoformat(value)
            return validation.moment_of("time", read if read.tzinfo else read.replace(tzinfo=UTC))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    return None


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> Sequence[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else ()
