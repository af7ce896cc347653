"""Summaries as records: what goes into one, how long it gets, what it inherits. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from remanence.layers.conversation.gaps import held_by
from remanence.model.conversation import Level
from remanence.model.memory import Kind, MemoryRecord
from remanence.remember.lineage import SOURCES
from remanence.remember.tool_calls import CALL_ID, OF_MEMORY, says_nothing
from remanence.text.summary import Said, Summary

Summarise = Callable[[Sequence[Said], int], Summary]

SHARE = 0.2
LEAST = 160
# Characters, at about four to a token: 300 tokens for a segment or a conversation, 200 for a day,
# 300 for a week, 400 for a month.
MOST = {
    Level.SEGMENT: 1_200,
    Level.CONVERSATION: 1_200,
    Level.DAY: 800,
    Level.WEEK: 1_200,
    Level.MONTH: 1_600,
}
READ = 20_000  # of a single long message
AT_ONCE = 64  # summaries in one summary; more are folded into it step by step
SILENT = "(nothing was said)"  # the text of a summary of tools and memory's own doings alone


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary to be written: its values, and the memories that it is made of."""

    fields: dict[str, Any]
    sources: tuple[MemoryRecord, ...]


def drafted(
    level: Level, sources: Sequence[MemoryRecord], text: str, trust: float, **metadata: str
) -> Draft:
    """A summary with this text of the sources, which are given in order of time.

    They are trusted no less than it.
    """
    last = max(source.happened_at for source in sources)
    return Draft(
        fields={
            "text": text,
            "happened_at": last,
            "trust": trust,
            "importance": max(source.importance for source in sources),
            "metadata": {
                "level": level.value,
                "from": min(_start(source) for source in sources),
                "to": last.isoformat(),
                "messages": sum(messages_in(source) for source in sources),
                SOURCES: len(sources),
                **({OF_MEMORY: True} if text == SILENT else {}),
                **metadata,
            },
        },
        sources=tuple(sources),
    )


def told(
    level: Level, sources: Sequence[MemoryRecord], summarise: Summarise, before: str = ""
) -> str:
    """The text of a summary, never empty."""
    text = before
    for at in range(0, len(sources), AT_ONCE):
        turns = turns_of(sources[at : at + AT_ONCE])
        if turns:
            turns = [Said(None, text), *turns] if text else turns
            made = summarise(turns, length_for(level, turns)).text.strip()
            text = made or text or turns[0].text[:LEAST]
    return text or SILENT


def length_for(level: Level, turns: Sequence[Said]) -> int:
    """How many characters a summary may take: a fifth of what was said, half of summaries.

    Weeks and months may take all their room: of days with little in them none should be lost.
    """
    if level in (Level.WEEK, Level.MONTH):
        return MOST[level]
    said = sum(len(turn.text) for turn in turns)
    share = SHARE if any(turn.speaker for turn in turns) else 0.5
    return min(MOST[level], max(LEAST, int(said * share)))


def turns_of(sources: Sequence[MemoryRecord]) -> list[Said]:
    """What was said, in words: tools' answers only where there is nothing else, calls never."""
    telling = [source for source in sources if not says_nothing(source.text, source.metadata)]
    spoken = [source for source in telling if CALL_ID not in source.metadata] or telling
    return [Said(_speaker(s), s.text[:READ], s.happened_at) for s in spoken]


def messages_in(source: MemoryRecord) -> int:
    """How many messages a source stands for."""
    return held_by(source) if source.kind == Kind.SUMMARY else 1


def name_at(trust: float, name: str) -> str:
    """The name under which a summary is written once for each level of trust."""
    return name if trust == 1 else f"{name}:{trust}"


def digest_of(*values: str | None) -> str:
    """A short name for values of any length."""
    whole = "\0".join("" if value is None else f"={value}" for value in values)
    return blake2b(whole.encode(), digest_size=16).hexdigest()


def common(values: Sequence[str | None]) -> str | None:
    """The value that all have, None if they differ."""
    return values[0] if len(set(values)) == 1 else None


def _speaker(source: MemoryRecord) -> str | None:
    return None if source.kind == Kind.SUMMARY else source.speaker or source.role or "user"


def _start(source: MemoryRecord) -> str:
    start = source.metadata.get("from") if source.kind == Kind.SUMMARY else None
    return start if isinstance(start, str) else source.happened_at.isoformat()
