"""What operations of the layers answer when the verb's own value is a bare list, text or flag."""

from __future__ import annotations

from dataclasses import dataclass

from remanence.model.block import Block, BlockVersion
from remanence.model.conversation import Conversation
from remanence.model.memory import Json
from remanence.model.session import Session, WorkingItem
from remanence.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """A text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Whether there was anything to do."""

    done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value, as JSON has it."""

    value: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Several blocks."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockHistory:
    """Every version of a block, oldest first."""

    versions: tuple[BlockVersion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations:
    """Several conversations, the last spoken in first."""

    conversations: tuple[Conversation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """Several sessions, the last used first."""

    sessions: tuple[Session, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingItems:
    """What is kept for a task, by key."""

    items: tuple[WorkingItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshots:
    """Several snapshots, the newest first."""

    snapshots: tuple[Snapshot, ...]
