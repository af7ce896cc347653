"""What merging keeps of a memory in hand: enough to choose a survivor, not its text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any

from remanence.model.memory import Kind, MemoryRecord
from remanence.sleep.merging.tables import SLIGHT
from remanence.sleep.merging.wording import plain, worded

OWN = "remanence."  # metadata that is not the caller's
DERIVED = frozenset({"summary", "sleep"})  # origins of what was made here of other memories
# Of a message with fewer words that tell, only its place in the conversation says what it means.
LEAST_WORDS = 3
MOST_READ = 20_000  # characters; longer texts are one only if they are equal


@dataclass(frozen=True, slots=True)
class Member:
    """A memory that may be merged, by key, with all that decides about it but its text."""

    key: int
    id: str
    version: int
    happened_at: datetime
    pinned: bool
    stated: bool  # by the user
    trust: float
    importance: float
    uses: int
    used_at: datetime | None
    metadata: Mapping[str, Any]


def member_of(key: int, record: MemoryRecord) -> Member:
    """The record without its text."""
    return Member(
        key=key,
        id=record.id,
        version=record.version,
        happened_at=record.happened_at,
        pinned=record.pinned,
        stated=record.source == "user",
        trust=record.trust,
        importance=record.importance,
        uses=record.uses,
        used_at=record.used_at,
        metadata=record.metadata,
    )


def place_of(record: MemoryRecord) -> tuple[str | None, ...]:
    """Only memories of one place are ever merged; what callers filter by stays findable so.

    Messages stay in their conversation: what one means, those around it say.
    """
    own = {name: value for name, value in record.metadata.items() if not name.startswith(OWN)}
    labels = json.dumps(own, sort_keys=True, default=str) if own else ""
    session = record.session_id if record.kind == Kind.MESSAGE else None
    return record.agent_id, record.kind, record.speaker, record.role, labels, session


def mark_of(record: MemoryRecord) -> int | None:
    """A number that memories share which may say the same; None for those that never merge."""
    if record.kind == Kind.SUMMARY or record.origin in DERIVED:
        return None
    long = len(record.text) > MOST_READ
    words = [plain(record.text)] if long else sorted(worded(record.text))
    slight = not long and sum(word not in SLIGHT for word in words) < LEAST_WORDS
    if record.kind == Kind.MESSAGE and slight:
        return None
    said = (*map(str, place_of(record)), *(words or [plain(record.text)]))
    digest = blake2b("\0".join(said).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def survivor_of(members: Sequence[Member], central: Mapping[int, float]) -> Member:
    """The one that stays: most trusted, then pinned, the user's own, important, last, central.

    The last, so that what was said last is still what was said last.
    """
    return max(
        members,
        key=lambda one: (
            one.trust,
            one.pinned,
            one.stated,
            one.importance,
            one.happened_at,
            central.get(one.key, 0.0),
            -one.key,
        ),
    )


def gives_way(one: Member, survivor: Member) -> bool:
    """Whether it may be merged into the survivor: not if it would lose its protection by that."""
    kept = (not one.pinned or survivor.pinned) and (not one.stated or survivor.stated)
    return one is not survivor and kept
