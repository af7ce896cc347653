"""The cache of one process: the values used last, within a budget of bytes."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from sys import getsizeof

from remanence.model.fork_safety import ForkSafeLock
from remanence.model.ports.cache import CacheStats

# What an entry takes beside its key and value, measured with tracemalloc.
ENTRY_BYTES = 200


class LocalCache:
    """Values in this process's memory; the least recently used go when `max_bytes` is reached.

    `clock` gives seconds that never run backwards.
    """

    def __init__(self, max_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._lock = ForkSafeLock()
        self._entries: OrderedDict[str, tuple[bytes, float, int]] = OrderedDict()
        self._bytes = self._hits = self._misses = 0
        self._closed = False

    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of these keys, in that order."""
        with self._lock:
            found = [self._find(key) for key in keys]
            missed = found.count(None)
            self._hits += len(found) - missed
            self._misses += missed
            return found

    def put(self, values: Mapping[str, bytes], ttl_s: float) -> None:
        """Keep these; a value that alone is larger than the budget is not kept."""
        with self._lock:
            if self._closed:
                return
            until = self._clock() + ttl_s
            for key, value in values.items():
                self._drop(key)
                size = ENTRY_BYTES + getsizeof(key) + getsizeof(value)
                if ttl_s > 0 and size <= self._max_bytes:
                    self._entries[key] = (value, until, size)
                    self._bytes += size
            while self._bytes > self._max_bytes:
                self._drop(next(iter(self._entries)))

    def remove(self, keys: Sequence[str]) -> None:
        """Drop these keys."""
        with self._lock:
            for key in keys:
                self._drop(key)

    def forget(self, prefix: str) -> None:
        """Drop every key that begins so."""
        with self._lock:
            for key in [key for key in self._entries if key.startswith(prefix)]:
                self._drop(key)

    def stats(self) -> CacheStats:
        """Size, health and use; what has expired is dropped first."""
        with self._lock:
            now = self._clock()
            for key in [key for key, (_, until, _) in self._entries.items() if until <= now]:
                self._drop(key)
            return CacheStats(
                kind="local",
                healthy=not self._closed,
                entries=len(self._entries),
                bytes_used=self._bytes,
                hits=self._hits,
                misses=self._misses,
                detail="closed" if self._closed else "",
            )

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._closed = True
            self._entries.clear()
            self._bytes = 0

    def _find(self, key: str) -> bytes | None:
        value, until, _ = self._entries.get(key, (None, 0.0, 0))
        if value is None:
            return None
        if until <= self._clock():
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return value

    def _drop(self, key: str) -> None:
        _, _, size = self._entries.pop(key, (b"", 0.0, 0))
        self._bytes -= size
