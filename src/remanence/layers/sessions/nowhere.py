"""No session cache: everything is read from the store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from remanence.model.memory import MemoryRecord
from remanence.ports.cache import CacheStats
from remanence.ports.session_cache import Listed, SessionCopy, SessionKey


class Nowhere:
    """Keeps nothing and gives nothing, like a server that is down."""

    def load(self, key: SessionKey) -> SessionCopy | None:
        """None."""
        return None

    def touch(self, key: SessionKey, ttl_s: float, at: datetime) -> None:
        """Nothing."""

    def keep(self, key: SessionKey, copy: SessionCopy, seen: SessionCopy | None = None) -> None:
        """Nothing."""

    def remove(self, keys: Sequence[SessionKey]) -> None:
        """Nothing."""

    def used(self, keys: Sequence[SessionKey]) -> list[datetime | None]:
        """Not known of any."""
        return [None] * len(keys)

    def sweep(self, store: str, tenant: str) -> int:
        """None."""
        return 0

    def last(self, key: SessionKey, limit: int) -> Listed:
        """Not known."""
        return Listed()

    def fill(
        self,
        key: SessionKey,
        messages: Sequence[MemoryRecord],
        *,
        mark: int,
        ttl_s: float,
        at: datetime,
    ) -> None:
        """Nothing."""

    def push(
        self, key: SessionKey, messages: Sequence[MemoryRecord], *, mark: int, ttl_s: float
    ) -> None:
        """Nothing."""

    def forget(self, keys: Sequence[SessionKey]) -> None:
        """Nothing."""

    def stats(self) -> CacheStats:
        """Empty and well."""
        return CacheStats(kind="none", healthy=True, entries=0, bytes_used=0, hits=0, misses=0)

    def close(self) -> None:
        """Nothing."""
