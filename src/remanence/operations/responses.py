"""What operations answer when the verb's own value is a bare list or number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from remanence.errors import Conflict
from remanence.model.erasure import Erasure
from remanence.model.hit import Hit, Understanding
from remanence.model.memory import MemoryRecord, Related, Revision
from remanence.model.stats import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Memories:
    """Several memories."""

    memories: tuple[MemoryRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Hits, best first; what was read out of the question; parts that could not take part."""

    hits: tuple[Hit, ...]
    understood: Understanding
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was forgotten, or would be (`dry_run`). What was erased has a receipt.

    `ids` are those of `memories`, which stay out where the caller may not read.
    """

    dry_run: bool
    erased: bool
    memories: tuple[MemoryRecord, ...]
    ids: tuple[str, ...] = ()
    receipt: Erasure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """The time zone in which days are meant."""

    timezone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Every change, oldest first."""

    revisions: tuple[Revision, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """The cosine of two texts."""

    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Linked memories, strongest first."""

    related: tuple[Related, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """The feedback as it was kept."""

    id: str
    useful: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What `doctor` looked at; `healthy` when nothing wrong is left."""

    healthy: bool
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Freed:
    """How much room came free."""

    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """Where the copy lies and how large it is."""

    path: Path
    bytes: int


def untouched(record: MemoryRecord) -> MemoryRecord:
    """A memory as the caller wrote it; a repeated write whose memory was changed since is none."""
    if record.version > 1:
        raise Conflict(
            "This was stored before, and the memory was changed since; to see it takes a key with "
            "the scope `read`."
        )
    return record


def all_untouched(answer: Memories) -> Memories:
    """Memories as the caller wrote them."""
    return Memories(memories=tuple(map(untouched, answer.memories)))


def ids_only(answer: Forgotten) -> Forgotten:
    """What was forgotten, without what it said."""
    return replace(answer, memories=())
