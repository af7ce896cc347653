"""What a tool tells the model: short, fenced as data, with dates and where it comes from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC

from remanence.model.block import Block
from remanence.model.memory import Kind, MemoryRecord
from remanence.text.fences import Fence, fenced, low_trust

MOST_CHARACTERS = 1_000  # of one result; the best passage of a memory is shorter
MOST_OF_A_NAME = 80
NOTHING = "Nothing found."

_BRACKETS = re.compile(r"[\[\]()]")


def told_block(block: Block) -> str:
    """A block as it stands now."""
    head = f"The block {block.label!r} holds {block.characters:,} of {block.limit:,} characters now"
    return f"{head}:\n{fenced(Fence.CORE, block.value)}"


def told_memories(found: Sequence[tuple[MemoryRecord, str]], page: int, more: bool) -> str:
    """Memories with the passage of each that matters, a line each; and whether there are more."""
    if not found:
        return NOTHING if page == 1 else f"Nothing more: page {page} is empty."
    lines = fenced(Fence.MEMORIES, "\n".join(told_line(record, text) for record, text in found))
    return f"{lines}\nThere is more on page {page + 1}." if more else lines


def told_line(record: MemoryRecord, text: str) -> str:
    """One memory in a line."""
    shown = " ".join(text.split())
    if len(shown) > MOST_CHARACTERS:
        shown = f"{shown[:MOST_CHARACTERS]}…"
    mark = low_trust(record.trust, record.role)
    when = f"{record.happened_at.astimezone(UTC):%Y-%m-%d %H:%M}"
    if record.kind is Kind.MESSAGE:
        name = _flat(record.speaker or record.role or "").replace(":", "")
        return f"{mark}[{when}] {name or 'somebody'}: {shown}"
    source = f" (source: {_flat(record.source)})" if record.source else ""
    return f"{mark}[{when}] {shown}{source}"


def _flat(name: str) -> str:
    """A name that can begin no line of its own and close no bracket of ours."""
    return " ".join(_BRACKETS.sub(" ", name).split())[:MOST_OF_A_NAME]
