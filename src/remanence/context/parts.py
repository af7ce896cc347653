"""The parts of a prompt, made of what the layers hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from remanence.context.entry import Entry, flat, gist_of, shortened
from remanence.context.recalled import NOTE, who
from remanence.context.section import Section
from remanence.context.shares import CORE, FACTS, RECALLED, RECENT, STATE, SUMMARY
from remanence.layers.blocks.rendering import shown
from remanence.layers.conversation.chat import as_chat
from remanence.model.block import Block
from remanence.model.memory import MemoryRecord
from remanence.model.session import Session, WorkingItem
from remanence.text.fences import Fence, disarmed

# Blanks beyond these say nothing and cost tokens; code is not indented so far.
_WIDE = re.compile(r"[^\S\n]{40,}|\s{80,}")
# A value of the state longer than this is only hinted at: the rest belongs into a memory.
LONGEST_VALUE = 400


def core_section(blocks: Sequence[Block]) -> Section:
    """Blocks that somebody wrote, in their order."""
    written = [block for block in blocks if block.value or block.version]
    pairs = enumerate(zip(written, shown(written), strict=True))
    entries = (
        Entry(
            id=block.label,
            prefix=_tag(seen),
            body=seen.value,
            suffix=f"\n</{block.label}>" if seen.value else f"</{block.label}>",
            reason="core block",
            at=block.updated_at,
            place=(place,),
        )
        for place, (block, seen) in pairs
    )
    return Section(name=CORE, fence=Fence.CORE, entries=tuple(entries), run=True, cuts=True)


def _tag(seen: Any) -> str:
    """The opening line of a block, as `Blocks.render` writes it."""
    about = f'<{seen.label} description="{seen.description}" '
    size = f'characters="{seen.characters}/{seen.limit}"'
    return (
        about
        + size
        + (' read_only="true"' if seen.read_only else "")
        + ">"
        + "\n" * bool(seen.value)
    )


def state_section(session: Session | None, working: Iterable[WorkingItem]) -> Section:
    """The session's data by key, then what the task has in mind, the important first."""
    data: Mapping[str, Any] = {} if session is None else session.data
    entries = [_value(f"session.{key}", key, data[key], "session data") for key in sorted(data)]
    items = sorted(working, key=lambda item: (-(item.importance or 0.0), item.key))
    entries += [_value(f"working.{i.key}", i.key, i.value, "working memory") for i in items]
    placed = tuple(entry.placed((place,)) for place, entry in enumerate(entries))
    return Section(name=STATE, fence=Fence.STATE, entries=placed)


def _value(id: str, key: str, value: Any, why: str) -> Entry:
    told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Entry(
        id=id, prefix=f"{flat(key)}: ", body=shortened(flat(told), LONGEST_VALUE), reason=why
    )


def summary_section(summary: str) -> Section:
    """The rolling summary of what is no longer in the window."""
    entry = Entry(
        id="summary",
        body=disarmed(summary),
        reason="tells of the turns before the window",
        gist=gist_of(summary),
    )
    told = (entry,) if summary.strip() else ()
    return Section(name=SUMMARY, fence=Fence.SUMMARY, entries=told, run=True, cuts=True)


def facts_section() -> Section:
    """Empty until facts are kept."""
    return Section(name=FACTS, fence=Fence.FACTS)


def recalled_section(entries: Sequence[Entry]) -> Section:
    """What a search found."""
    return Section(name=RECALLED, fence=Fence.MEMORIES, entries=tuple(entries), note=NOTE)


def recent_section(turns: Sequence[MemoryRecord]) -> Section:
    """The last turns of the session, given oldest first; the newest are worth the most."""
    entries = [_turn(turn, place) for place, turn in enumerate(turns)][::-1]
    return Section(name=RECENT, fence=Fence.TURNS, entries=tuple(entries), run=True)


def _turn(turn: MemoryRecord, place: int) -> Entry:
    chat = as_chat(turn)
    if chat["content"]:
        chat["content"] = _WIDE.sub(" ", chat["content"])
    return Entry(
        id=turn.id,
        prefix=f"{flat(who(turn) or 'user')}: ",
        body=disarmed(_WIDE.sub(" ", turn.text).replace("\n", "\n  ")),
        reason="recent turn",
        at=turn.happened_at,
        source=turn.session_id,
        place=(place,),
        gist=gist_of(turn.text),
        memory=True,
        chat=chat,
    )


def empty_sections() -> list[Section]:
    """All parts in the order of the prompt, the stable first, with nothing in them."""
    return [
        core_section([]),
        state_section(None, []),
        summary_section(""),
        facts_section(),
        recalled_section([]),
        recent_section([]),
    ]
