"""The parts of a prompt, made of what the layers hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from remanence.context.entry import Entry, flat, gist_of, shortened
from remanence.context.recalled import NOTE, who
from remanence.context.section import Section
from remanence.context.shares import CORE, FACTS, RECALLED, RECENT, STATE, SUMMARY
from remanence.layers.blocks.rendering import Shown, opening, shown
from remanence.layers.conversation.chat import as_chat
from remanence.model.block import Block
from remanence.model.knowledge import Fact, Standing
from remanence.model.memory import HALF, MemoryRecord
from remanence.model.session import Session, WorkingItem
from remanence.text.fences import Fence, disarmed, low_trust

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
            body=_WIDE.sub(" ", seen.value),
            suffix=f"\n</{block.label}>" if seen.value else f"</{block.label}>",
            reason="core block",
            at=block.updated_at,
            place=(place,),
        )
        for place, (block, seen) in pairs
    )
    return Section(name=CORE, fence=Fence.CORE, entries=tuple(entries), run=True, cuts=True)


def _tag(seen: Shown) -> str:
    """The opening line of a block, as `Blocks.render` writes it."""
    line = opening(replace(seen, description=disarmed(seen.description)))
    return line + "\n" if seen.value else line


def state_section(session: Session | None, working: Iterable[WorkingItem]) -> Section:
    """The session's data by key, then what the task has in mind, the important first."""
    data: Mapping[str, Any] = {} if session is None else session.data
    entries = [_value(f"session.{key}", key, data[key], "session data") for key in sorted(data)]
    items = sorted(working, key=_rank)
    entries += [_noted(item) for item in items]
    placed = tuple(entry.placed((place,)) for place, entry in enumerate(entries))
    return Section(name=STATE, fence=Fence.STATE, entries=placed)


def _rank(item: WorkingItem) -> tuple[bool, float, str]:
    """The important first, after all that is trusted by half."""
    return item.trust < HALF, -(item.importance or 0.0), item.key


def _noted(item: WorkingItem) -> Entry:
    """An item of working memory; of a promoted one the memory says the same."""
    entry = _value(f"working.{item.key}", item.key, item.value, "working memory")
    return replace(entry, gist=entry.text, mark=low_trust(item.trust))


def _value(id: str, key: str, value: Any, why: str) -> Entry:
    told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Entry(
        id=id, prefix=f"{flat(key)}: ", body=shortened(flat(told), LONGEST_VALUE), reason=why
    )


def summary_section(summary: str) -> Section:
    """The rolling summary of what is no longer in the window."""
    entry = Entry(
        id="summary",
        body=disarmed("\n".join(" ".join(line.splitlines()) for line in summary.split("\n"))),
        reason="tells of the turns before the window",
        gist=gist_of(summary),
    )
    told = (entry,) if summary.strip() else ()
    return Section(name=SUMMARY, fence=Fence.SUMMARY, entries=told, run=True, cuts=True)


def facts_section(facts: Sequence[Fact] = ()) -> Section:
    """What is known for a fact, the closest to the question first."""
    entries = (_fact(fact).placed((place,)) for place, fact in enumerate(facts))
    return Section(name=FACTS, fence=Fence.FACTS, entries=tuple(entries))


def _fact(fact: Fact) -> Entry:
    notes = [fact.when, "disputed" if fact.standing is Standing.DISPUTED else ""]
    told = ", ".join(part for part in notes if part)
    text = flat(fact.text) + (f" ({told})" if told else "")
    return Entry(
        id=fact.id,
        mark=low_trust(fact.trust),
        body=text,
        reason="known fact",
        at=fact.valid_from or fact.recorded_at,
        source=fact.sources[0] if fact.sources else None,
    )


def recalled_section(entries: Sequence[Entry]) -> Section:
    """What a search found."""
    return Section(name=RECALLED, fence=Fence.MEMORIES, entries=tuple(entries), note=NOTE)


def recent_section(turns: Sequence[MemoryRecord]) -> Section:
    """The last turns of the session, given oldest first.

    What the user said last is worth the most, then the newest; what is trusted less than by half
    takes no room from the rest.
    """
    entries = [_turn(turn, place) for place, turn in enumerate(turns)]
    asked = last_asked(turns)
    first = [] if asked is None else [entries.pop(asked)]
    entries.reverse()
    entries = first + sorted(entries, key=lambda entry: bool(entry.mark))
    return Section(name=RECENT, fence=Fence.TURNS, entries=tuple(entries), run=True)


def last_asked(turns: Sequence[MemoryRecord]) -> int | None:
    """The place of what the user said last; only where nobody is trusted by half, of anybody's."""
    there = [n for n, turn in enumerate(turns) if turn.role in (None, "user")]
    trusted = [n for n in there if by_user(turns[n])]
    if trusted or any(turn.trust >= HALF for turn in turns):
        return trusted[-1] if trusted else None
    return there[-1] if there else None


def by_user(turn: MemoryRecord) -> bool:
    """Whether a turn is to be taken for the user's own."""
    return turn.role in (None, "user") and turn.trust >= HALF


def _turn(turn: MemoryRecord, place: int) -> Entry:
    chat, mark = as_chat(turn), low_trust(turn.trust, turn.role)
    if chat["content"]:
        chat["content"] = flat(chat["content"]) if mark else _WIDE.sub(" ", chat["content"])
    body = disarmed("\n  ".join(_WIDE.sub(" ", turn.text).splitlines()))
    return Entry(
        id=turn.id,
        mark=mark,
        prefix=f"{flat(who(turn) or 'user')}: ",
        body=flat(turn.text) if mark else body,
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
