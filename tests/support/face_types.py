"""What type checkers see of the four faces of a memory. Nothing here runs: `make check` reads it.

Where a mistake would no longer be told, its `type: ignore` is unused, and that is an error too.
Pyright agrees: `npx pyright tests/support/face_types.py`.
"""

from __future__ import annotations

from typing import assert_type

from remanence import (
    AsyncMemory,
    AsyncRemoteMemory,
    Block,
    Hits,
    Memory,
    MemoryRecord,
    RemoteMemory,
)
from remanence.model.knowledge import Fact


def here(memory: Memory) -> None:
    assert_type(memory.add("a text", user_id="ana"), MemoryRecord)
    assert_type(memory.search("a question", limit=3), Hits)
    assert_type(memory.blocks.append("human", "a line"), Block)
    assert_type(memory.facts.about("Ana"), list[Fact])


def elsewhere(memory: RemoteMemory) -> None:
    assert_type(memory.add("a text", user_id="ana"), MemoryRecord)
    assert_type(memory.search("a question", limit=3), Hits)
    assert_type(memory.blocks.append("human", "a line"), Block)


async def awaited(memory: AsyncMemory, remote: AsyncRemoteMemory) -> None:
    assert_type(await memory.search("a question"), Hits)
    assert_type(await memory.blocks.append("human", "a line"), Block)
    assert_type(await remote.add("a text"), MemoryRecord)
    assert_type(await remote.facts.about("Ana"), list[Fact])


async def mistaken(memory: Memory, waiting: AsyncMemory) -> None:
    memory.serch("a misspelled name")  # type: ignore[attr-defined]
    memory.blocks.append("an argument too few")  # type: ignore[call-arg]
    memory.search(3)  # type: ignore[arg-type]
    memory.search("an unknown keyword", limt=3)  # type: ignore[call-arg]
    memory.blocks.list(user_id=3)  # type: ignore[arg-type]
    waiting.search("not awaited").explain()  # type: ignore[attr-defined]
