"""What `stats` and `doctor` report: how much is remembered, what it takes, whether it is whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from remanence.model.tier import TierUse

EMBEDDER = "embedder"  # what `doctor` calls the finding that no repair of the store mends


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexUse:
    """The vector index as this process sees it; `behind` counts changes it has yet to apply."""

    kind: str
    healthy: bool
    vectors: int
    behind: int
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheUse:
    """The cache of search results: its size as a whole, hits and misses of this process."""

    kind: str
    healthy: bool
    entries: int
    mb: float
    hits: int
    misses: int
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts and sizes of one tenant's memory. Bytes on disk are of the whole store.

    `memory_mb` is what index, columns and caches take now, `budget_mb` what they may take;
    `process_mb` is the whole process, interpreter and model included. `pending` memories wait
    for vectors and are found by their words meanwhile. `documents` are blocks, sessions and such;
    `claims` is what was said of the `entities`. `bytes_used` is what counts against `max_bytes`,
    the tenant's limit as `max_memories` is that of memories; 0: none.
    """

    memories: int
    by_kind: Mapping[str, int]
    by_state: Mapping[str, int]
    by_day: Mapping[str, int]
    per_day: float
    associations: int
    documents: Mapping[str, int]
    entities: int
    claims: int
    pending: int
    embedder: str
    bytes_on_disk: int
    bytes_by_part: Mapping[str, int]
    memory_mb: float
    budget_mb: float
    process_mb: float
    index: IndexUse
    cache: CacheUse | None
    tiers: tuple[TierUse, ...] = ()
    bytes_used: int = 0
    max_memories: int = 0
    max_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """Counts and sizes of one tenant's part of a store (bytes are of the whole store).

    `tiers` are read from every row, so a large store leaves them out; ask it for `tiers` then.
    """

    memories: int
    by_kind: Mapping[str, int] = field(default_factory=dict)
    by_state: Mapping[str, int] = field(default_factory=dict)
    by_day: Mapping[str, int] = field(default_factory=dict)
    documents: Mapping[str, int] = field(default_factory=dict)
    tiers: tuple[TierUse, ...] = ()
    associations: int = 0
    entities: int = 0
    claims: int = 0
    pending: int = 0
    bytes_used: int = 0
    bytes_on_disk: int = 0
    bytes_by_part: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing `doctor` looked at: how many were wrong, and how many were mended."""

    check: str
    problems: int
    repaired: int = 0
    detail: str = ""
