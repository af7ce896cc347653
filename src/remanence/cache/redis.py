"""The cache of many processes: a Redis or Valkey server, or a cluster of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Unpack

from remanence.cache.client import Client, Habits, life
from remanence.forks import ForkSafeLock
from remanence.ports.cache import CacheStats

SCANNED = 1_000  # keys that the server looks at in one step


class RedisCache:
    """Values in a server that all processes share; reached as `Client` says."""

    def __init__(self, url: str, **habits: Unpack[Habits]) -> None:
        self._client = Client(url, **habits)
        self._lock = ForkSafeLock()
        self._hits = self._misses = 0

    def __repr__(self) -> str:
        return f"RedisCache({str(self._client.address)!r})"

    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of these keys, in that order; one round trip to each node that holds some."""
        names = [_name(key) for key in keys]
        answers = self._client.read([(name, ("GET", name)) for name in names])
        found = [answer if isinstance(answer, bytes) else None for answer in answers]
        missed = found.count(None)
        with self._lock:
            self._hits += len(found) - missed
            self._misses += missed
        return found

    def put(self, values: Mapping[str, bytes], ttl_s: float) -> None:
        """Keep these values for so long at most."""
        if not ttl_s > 0:
            self.remove(list(values))
            return
        named = {_name(key): value for key, value in values.items()}
        self._client.write(
            [(name, ("SET", name, value, "PX", life(ttl_s))) for name, value in named.items()]
        )

    def remove(self, keys: Sequence[str]) -> None:
        """Drop these keys."""
        names = [_name(key) for key in keys]
        self._client.write([(name, ("UNLINK", name)) for name in names])

    def forget(self, prefix: str) -> None:
        """Drop every key that begins so; the server is asked for them in small steps."""
        name, cursor = _name(prefix), b"0"
        pattern = re.sub(rb"([*?\[\]\\^])", rb"\\\1", name) + b"*"
        while True:
            step = ("SCAN", cursor, "MATCH", pattern, "COUNT", SCANNED)
            [answer] = self._client.read([(name, step)])
            if not isinstance(answer, list | tuple):
                return
            cursor = str(int(answer[0])).encode()
            self._client.write([(found, ("UNLINK", found)) for found in answer[1]])
            if cursor == b"0":
                return

    def stats(self) -> CacheStats:
        """Size, health and use. It asks the servers, unless one has failed just now."""
        return self._client.stats(self._hits, self._misses)

    def close(self) -> None:
        """Release the connections; from then on it gives nothing."""
        self._client.close()


def _name(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")
