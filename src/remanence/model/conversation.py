"""A conversation as its messages make it, its short-term window, and levels of summaries."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from remanence.model.memory import EMPTY, MemoryRecord, Metadata


class Level(StrEnum):
    """What a summary sums up: some messages, a conversation, or a user's day, week or month."""

    SEGMENT = "segment"
    CONVERSATION = "conversation"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One session of one user. `first` and `last` are None while nothing has been said in it."""

    session_id: str
    user_id: str | None = None
    title: str | None = None
    metadata: Metadata = field(default_factory=lambda: EMPTY)
    messages: int = 0
    first: datetime | None = None
    last: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The short-term window: messages, oldest first, and what they take in a prompt.

    `left` is how many messages of the conversation are not in it; `summary` tells of those.
    """

    messages: tuple[MemoryRecord, ...]
    tokens: int
    left: int
    summary: str
