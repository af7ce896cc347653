"""A block: a labelled piece of core memory that an agent sees always and edits itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from remanence.errors import InvalidInput
from remanence.model.validation import whole_of

MAX_LIMIT = 1_000_000
FENCE = "core_memory"  # what the blocks stand in when they are rendered
# The parts of a prompt; a block of such a name would look like one.
RESERVED = (
    *(FENCE, "session_state", "conversation_summary"),
    *("memories", "known_facts", "recent_turns"),
)
_LABEL = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block as it is seen. Version 0: nobody wrote it yet, or it was deleted.

    It belongs to exactly this user and agent; none of one means shared by all of them.
    """

    label: str
    value: str
    limit: int
    description: str = ""
    read_only: bool = False
    version: int = 0
    user_id: str | None = None
    agent_id: str | None = None
    updated_at: datetime | None = None

    @property
    def characters(self) -> int:
        """How many of the limit's characters are used."""
        return len(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockVersion:
    """One entry of a block's history: what was done, when, by whom and why, and what it gave.

    `shows` is the version that an undo or redo went to; 0 stands for no block at all.
    """

    version: int
    verb: str
    at: datetime
    author: str | None
    reason: str | None
    value: str
    limit: int
    description: str
    read_only: bool
    deleted: bool
    shows: int | None


def block_label(label: object) -> str:
    """The label if it can be one, or `InvalidInput`."""
    if not isinstance(label, str) or not _LABEL.fullmatch(label) or label.lower() in RESERVED:
        raise InvalidInput(
            "A block's label is 1 to 64 of the characters a-z A-Z 0-9 _ - . and not the name of a "
            f"part of the prompt, such as {FENCE!r}; got {str(label)[:40]!r}."
        )
    return str.__str__(label)


def block_limit(limit: object) -> int:
    """The limit if it can be one, or `InvalidInput`."""
    return whole_of("A block's limit", limit, 1, MAX_LIMIT)
