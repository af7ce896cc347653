"""What a copy does about a memory that both stores may have, and what is not alike in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import Any

from remanence.model.memory import MemoryRecord
from remanence.model.write import Pieces
from remanence.tools.transfer.entries import StoredEntry, item_digest

SHOWN = 10

MOST_USES = 1000  # beyond that many at once, a memory is written anew


class Why(StrEnum):
    """In what way the target is not as the source."""

    MISSING = "missing"
    DIFFERS = "differs"
    CHANGED = "changed in the target"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not alike in both; `id` is its own, a memory's or a document's name."""

    tenant: str
    what: str  # memory, link, feedback, entity, claim, mention or document
    id: str
    why: Why


@dataclass(frozen=True, slots=True)
class Differences:
    """How many there are, and the first of them."""

    count: int = 0
    first: tuple[Difference, ...] = ()

    def with_one(self, more: Difference) -> Differences:
        """These and one more."""
        return self.with_all(Differences(1, (more,)))

    def with_all(self, more: Differences) -> Differences:
        """These and others."""
        return Differences(self.count + more.count, (*self.first, *more.first)[:SHOWN])


class CopyStep(Enum):
    """What the copy does about one memory."""

    ADD = "add"
    PASS = "pass"  # noqa: S105
    COMPLETE = "complete"
    REPLACE = "replace"
    KEEP = "keep"


def decide(mine: StoredEntry, theirs: StoredEntry | None, *, overwrite: bool = False) -> CopyStep:
    """What makes the target's memory as the source's, unless the target's moved on by itself."""
    if theirs is None:
        return CopyStep.ADD
    if mine.digest == theirs.digest:
        return CopyStep.PASS
    if _body(mine) == _body(theirs) and _is_ahead_in_the_rest(mine, theirs):
        return CopyStep.COMPLETE if uses_lacking(mine, theirs) <= MOST_USES else CopyStep.REPLACE
    if overwrite or _has_moved_on(mine, theirs):
        return CopyStep.REPLACE
    return CopyStep.KEEP


def _body(entry: StoredEntry) -> list[int]:
    unused = replace(entry.record, uses=0, used_at=None)
    return [item_digest("memory", unused.id, unused), *entry.changes()]


def _is_ahead_in_the_rest(mine: StoredEntry, theirs: StoredEntry) -> bool:
    """Whether adding pieces and uses to the target's makes it as the source's."""
    made = {one.fingerprint for one in mine.pieces}
    if not all(one.fingerprint in made for one in theirs.pieces):
        return False
    ours, used = mine.record, theirs.record
    if ours.uses == used.uses:
        return ours.used_at == used.used_at
    return ours.uses > used.uses and (
        ours.used_at is not None and (used.used_at is None or used.used_at <= ours.used_at)
    )


def uses_lacking(mine: StoredEntry, theirs: StoredEntry) -> int:
    """How many uses the source's memory has beyond the target's."""
    return mine.record.uses - theirs.record.uses


def pieces_lacking(mine: StoredEntry, theirs: StoredEntry) -> list[Pieces]:
    """The pieces that the target does not have, or has otherwise."""
    there = set(theirs.pieces)
    return [made for made in mine.pieces if made not in there]


def _has_moved_on(mine: StoredEntry, theirs: StoredEntry) -> bool:
    """Whether the source's memory is the target's with further changes."""
    if mine.record.version <= theirs.record.version:
        return False
    return _body(_as_of(mine, theirs.record)) == _body(theirs)


def _as_of(entry: StoredEntry, then: MemoryRecord) -> StoredEntry:
    """The entry as it was in that version; when it was changed last is taken from the record."""
    values: dict[str, Any] = {"version": then.version, "updated_at": then.updated_at}
    later = [one for one in entry.history if one.version > then.version]
    for revision in reversed(later):
        values |= revision.before
    past = tuple(one for one in entry.history if one.version <= then.version)
    return replace(entry, record=replace(entry.record, **values), history=past)
