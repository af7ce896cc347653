"""The cache of many processes: a Redis or Valkey server, or a cluster of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from redis import exceptions as fault

from remanence.cache.address import read_address
from remanence.cache.servers import (
    ClusterServers,
    Command,
    OneServer,
    Options,
    Server,
    Servers,
    reason_of,
)
from remanence.forks import ForkSafeLock
from remanence.ports.cache import CacheStats

CONNECT_TIMEOUT_S = 0.25
TIMEOUT_S = 0.25
REST_S = 1.0
MAX_CONNECTIONS = 64
# The longest time to live: servers refuse one that leads past their calendar.
LONGEST_S = 10 * 365 * 86_400


class RedisCache:
    """Values in a server that all processes share.

    It connects on first use. A server that fails is left alone for `rest_s`, then one call tries
    it again. `url` is as `read_address` takes it; it may say `cluster` itself.
    """

    def __init__(
        self,
        url: str,
        *,
        cluster: bool = False,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        timeout_s: float = TIMEOUT_S,
        rest_s: float = REST_S,
        max_connections: int = MAX_CONNECTIONS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._address = read_address(url, cluster=cluster)
        self._options = Options(
            connect_timeout_s=connect_timeout_s,
            timeout_s=timeout_s,
            rest_s=rest_s,
            max_connections=max_connections,
            clock=clock,
        )
        self._lock = ForkSafeLock()
        self._by_process: dict[int, Servers] = {}
        self._refusals = {"reading": "", "writing": ""}
        self._hits = self._misses = 0
        self._closed = False

    def __repr__(self) -> str:
        return f"RedisCache({str(self._address)!r})"

    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of these keys, in that order; one round trip to each node that holds some."""
        names = [_name(key) for key in keys]
        answers = self._ask("reading", names, [("GET", name) for name in names])
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
        life = max(1, round(min(ttl_s, LONGEST_S) * 1000))
        named = {_name(key): value for key, value in values.items()}
        sets = [("SET", name, value, "PX", life) for name, value in named.items()]
        self._ask("writing", list(named), sets)

    def remove(self, keys: Sequence[str]) -> None:
        """Drop these keys."""
        names = [_name(key) for key in keys]
        self._ask("writing", names, [("UNLINK", name) for name in names])

    def stats(self) -> CacheStats:
        """Size, health and use. It asks the servers, unless one has failed just now."""
        servers = self._servers()
        sizes = [] if self._closed else [_size(server) for server in servers.all()]
        refused = "; ".join(f"{doing}: {why}" for doing, why in self._refusals.items() if why)
        detail = "closed" if self._closed else servers.why() or refused
        return CacheStats(
            kind="redis",
            healthy=not detail,
            entries=sum(entries for entries, _ in sizes),
            bytes_used=sum(used for _, used in sizes),
            hits=self._hits,
            misses=self._misses,
            detail=detail,
        )

    def close(self) -> None:
        """Release the connections; from then on it gives nothing."""
        if not self._closed:
            self._closed = True
            self._servers().close()

    def _servers(self) -> Servers:
        """The servers, over connections of this process.

        A forked child leaves its parent's alone: another thread may have held the driver's locks
        at that moment, and dropping the objects would wait for them.
        """
        process = os.getpid()
        found = self._by_process.get(process)
        if found is None:
            kind = ClusterServers if self._address.cluster else OneServer
            with self._lock:
                found = self._by_process.setdefault(process, kind(self._address, self._options))
        return found

    def _ask(self, doing: str, names: Sequence[bytes], commands: Sequence[Command]) -> list[Any]:
        """The answers to commands on these keys, in order; None where there is none."""
        answers: list[Any] = [None] * len(names)
        if self._closed or not names:
            return answers
        for server, places in self._servers().route(names):
            told = server.ask([commands[place] for place in places])
            for place, answer in zip(places, told or (), strict=False):
                answers[place] = answer
        self._refusals[doing] = _refusal(answers)
        return answers


def _name(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")


def _refusal(answers: Sequence[Any]) -> str:
    """The first refusal that says something about the server and not about one key."""
    passing = (fault.AskError, fault.TryAgainError)
    for answer in answers:
        if isinstance(answer, Exception) and not isinstance(answer, passing):
            why = reason_of(answer)
            if "WRONGTYPE" not in why:
                return why
    return ""


def _size(server: Server) -> tuple[int, int]:
    """How many entries, and how many bytes they take with all around them; 0 if it is not told."""
    entries, memory = server.ask([("DBSIZE",), ("INFO", "memory")]) or (0, {})
    used = memory.get("used_memory", 0) if isinstance(memory, dict) else 0
    return (entries if isinstance(entries, int) else 0), used if isinstance(used, int) else 0
