"""What `stats` reports: how much is remembered, how it grows, what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts and sizes of one tenant's memory. Bytes on disk are of the whole store.

    `memory_mb` is what index, columns and caches take now, `budget_mb` what they may take;
    `process_mb` is the whole process, interpreter and model included. `pending` memories wait
    for vectors and are found by their words meanwhile.
    """

    memories: int
    by_kind: Mapping[str, int]
    by_state: Mapping[str, int]
    by_day: Mapping[str, int]
    per_day: float
    associations: int
    pending: int
    embedder: str
    bytes_on_disk: int
    bytes_by_part: Mapping[str, int]
    memory_mb: float
    budget_mb: float
    process_mb: float
