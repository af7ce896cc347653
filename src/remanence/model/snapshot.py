"""A snapshot: what a scope held at a moment, by reference; and what changed between two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from remanence.model.document import Shelf
from remanence.model.scope import Reach

SHOWN = 20  # how many of each sort a summary names


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A snapshot as it is listed; `counts` says how much of each part it holds."""

    name: str
    at: datetime
    scope: Reach
    counts: Mapping[str, int]
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChange:
    """A memory that was added, removed or changed: how its text begins, and how it began before.

    Removed means that it is not active any more.
    """

    id: str
    what: str
    text: str
    was: str | None = None
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockChange:
    """A block that differs, with the unified diff."""

    label: str
    user_id: str | None
    agent_id: str | None
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChange:
    """A session, a piece of working memory or a conversation's notes: added, removed, changed."""

    shelf: Shelf
    name: str
    user_id: str | None
    agent_id: str | None
    session_id: str | None
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDiff:
    """What happened from one snapshot to another, or to now when `other` is None.

    `lost` counts what a snapshot held and was erased since: nothing brings it back.
    """

    name: str
    other: str | None
    added: tuple[MemoryChange, ...] = ()
    removed: tuple[MemoryChange, ...] = ()
    changed: tuple[MemoryChange, ...] = ()
    blocks: tuple[BlockChange, ...] = ()
    sessions: tuple[DocumentChange, ...] = ()
    lost: int = 0

    @property
    def same(self) -> bool:
        """Whether nothing differs, erased things aside."""
        return not (self.added or self.removed or self.changed or self.blocks or self.sessions)

    @property
    def summary(self) -> str:
        """The differences as text: counts, then the first of each sort."""
        return "\n".join(_lines(self))

    def __str__(self) -> str:
        return self.summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore did, or would do: `diff` is what it took back.

    `undo` is the name of the snapshot that was taken just before; None if nothing was changed.
    """

    diff: SnapshotDiff
    undo: str | None
    dry_run: bool = False


def _lines(diff: SnapshotDiff) -> Iterator[str]:
    memories = f"{len(diff.added)} added, {len(diff.removed)} removed, {len(diff.changed)} changed"
    yield f"{diff.name} → {diff.other or 'now'}"
    yield f"memories: {memories}; blocks: {len(diff.blocks)}; sessions: {len(diff.sessions)}"
    if diff.lost:
        yield f"erased since, and not to be brought back: {diff.lost}"
    for mark, changes in (("+", diff.added), ("-", diff.removed), ("~", diff.changed)):
        yield from (_line(mark, one) for one in changes[:SHOWN])
        if len(changes) > SHOWN:
            yield f"{mark} … and {len(changes) - SHOWN} more"
    for block in diff.blocks[:SHOWN]:
        yield block.diff
    for one in diff.sessions[:SHOWN]:
        yield f"{one.shelf} {one.name}: {one.what}"


def _line(mark: str, one: MemoryChange) -> str:
    was = "" if one.was is None else f" (was: {one.was})"
    fields = f" [{', '.join(one.fields)}]" if one.fields else ""
    return f"{mark} {one.id} {one.text}{was}{fields}"
