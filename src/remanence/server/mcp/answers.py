"""What a tool answers about memories: the few fields that a model needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from remanence.model.context import Context
from remanence.model.hit import Hit
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.operations.responses import Forgotten, Found, Memories
from remanence.text.fences import low_trust

MOST_HITS = 50
MOST_LISTED = 100
_REASONS = 3  # signals that explain a hit; the rest is noise to a model


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A memory."""

    id: str
    text: str
    kind: Kind
    state: State
    when: datetime
    speaker: str | None
    importance: float
    pinned: bool
    user_id: str | None
    agent_id: str | None
    session_id: str | None
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A memory in a list."""

    id: str
    text: str
    kind: Kind
    when: datetime
    speaker: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A memory that was found; `why` holds the signals that counted most, for or against it."""

    id: str
    text: str
    score: float
    when: datetime
    speaker: str | None
    why: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What was found, best first; `degraded` names parts of the search that could not help."""

    memories: tuple[Recalled, ...]
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Memories, newest first; `next_offset` is where the next page begins, if there is one."""

    memories: tuple[Line, ...]
    next_offset: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """What was forgotten; what was erased has a receipt."""

    id: str
    erased: bool
    receipt: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What to put into a prompt; `ids` are the memories in it."""

    text: str
    tokens: int
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The turns that were kept."""

    session_id: str
    ids: tuple[str, ...]


def remembered(record: MemoryRecord) -> Remembered:
    """A memory, whole."""
    return Remembered(
        id=record.id,
        text=record.text,
        kind=record.kind,
        state=record.state,
        when=record.happened_at,
        speaker=record.speaker,
        importance=record.importance,
        pinned=record.pinned,
        user_id=record.user_id,
        agent_id=record.agent_id,
        session_id=record.session_id,
        metadata=record.metadata,
    )


def line(record: MemoryRecord) -> Line:
    """A memory in a list."""
    return Line(
        id=record.id,
        text=_marked(record, record.text),
        kind=record.kind,
        when=record.happened_at,
        speaker=record.speaker or record.role,
    )


def searched(found: Found) -> Search:
    """Hits, best first."""
    return Search(memories=tuple(_recalled(hit) for hit in found.hits), degraded=found.degraded)


def page(found: Memories, limit: int, offset: int) -> Page:
    """A page, of which one memory more than wanted was asked for."""
    shown = found.memories[:limit]
    more = offset + limit if len(found.memories) > limit else None
    return Page(memories=tuple(line(each) for each in shown), next_offset=more)


def deleted(id: str, gone: Forgotten) -> Deleted:
    """What was forgotten."""
    receipt = gone.receipt.id if gone.receipt else None
    return Deleted(id=id, erased=gone.erased, receipt=receipt)


def prompt(context: Context) -> Prompt:
    """A context without the account of its parts."""
    return Prompt(text=context.text, tokens=context.tokens, ids=context.ids)


def _marked(record: MemoryRecord, text: str) -> str:
    """The text as a model may see it: of low trust, marked, on one line that ends no mark."""
    mark = low_trust(record.trust, record.role)
    return mark + " ".join(text.split()) if mark else text


def _recalled(hit: Hit) -> Recalled:
    record = hit.memory
    reasons = [one for one in hit.signals.items() if one[0] != "base"]
    best = sorted(reasons, key=lambda one: -abs(one[1]))[:_REASONS]
    return Recalled(
        id=record.id,
        text=_marked(record, hit.passage),
        score=round(hit.relevance, 4),
        when=record.happened_at,
        speaker=record.speaker or record.role,
        why={name: round(share, 3) for name, share in best},
    )
