"""The Cache port: values that may vanish at any time, kept for a while near the callers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStats:
    """What the cache holds and how it fares; bytes are of the whole cache, hits of this process."""

    kind: str
    healthy: bool
    entries: int
    bytes_used: int
    hits: int
    misses: int
    detail: str = ""


class Cache(Protocol):
    """Bytes by key, each with a time to live. Thread-safe.

    Nothing here raises for want of a server: a cache that is down, flushed or full gives nothing
    and keeps nothing, within its time-out, and says so in `stats`. Callers put the tenant into the
    key; a key in braces, `{tenant}:…`, stays on one node of a cluster.
    """

    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of these keys, in that order, in one round trip; None where there is none."""

    def put(self, values: Mapping[str, bytes], ttl_s: float) -> None:
        """Keep these values for so long at most, in one round trip."""

    def remove(self, keys: Sequence[str]) -> None:
        """Drop these keys."""

    def forget(self, prefix: str) -> None:
        """Drop every key that begins so; in a cluster, on the node of the braces in it."""

    def stats(self) -> CacheStats:
        """Size, health and use."""

    def close(self) -> None:
        """Release connections; safe to call twice."""
