"""The cache of many processes: a Redis or Valkey server, or a cluster, and commands to it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from redis import exceptions as fault

from remanence.backends.cache.address import read_address
from remanence.backends.cache.servers import (
    ClusterServers,
    Command,
    Habits,
    OneServer,
    Options,
    Server,
    reason_of,
    size_of,
)
from remanence.model.fork_safety import ForkSafeLock
from remanence.model.ports.cache import CacheStats

# The longest time to live: servers refuse one that leads past their calendar.
LONGEST_S = 10 * 365 * 86_400
SCANNED = 1_000  # keys that the server looks at in one step

KeyedCommand = tuple[bytes, Command]


class RedisClient:
    """The servers at one address, for all threads and forks of a process; none fails a caller.

    It connects on first use. A server that fails is left alone for `rest_s`, then one call tries
    it again. `url` is as `read_address` takes it; it may say `cluster` itself.
    """

    def __init__(self, url: str, **habits: Unpack[Habits]) -> None:
        self._options = Options(**habits)
        self.address = read_address(url, cluster=self._options.cluster)
        self.closed = False
        self._lock = ForkSafeLock()
        self._by_process: dict[int, OneServer | ClusterServers] = {}
        self._hits = self._misses = 0
        self._refusals = {"reading": "", "writing": "", "clearing": ""}

    def __repr__(self) -> str:
        return f"Client({str(self.address)!r})"

    def read(self, commands: Sequence[KeyedCommand]) -> list[Any]:
        """The answers, in order: refusals as exceptions, None where a server gave no answer."""
        return self._ask("reading", commands)

    def write(self, commands: Sequence[KeyedCommand]) -> list[Any]:
        """As `read`, for commands that change something."""
        return self._ask("writing", commands)

    def clear(self, keys: Sequence[bytes]) -> None:
        """Drop keys that a refused write has left behind; what was refused stays told."""
        self._ask("clearing", [(key, ("UNLINK", key)) for key in keys])

    def all(self) -> list[Server]:
        """Every server that holds keys; none when closed."""
        return [] if self.closed else self._servers().all()

    def why(self) -> str:
        """What is wrong; empty when all is well."""
        refused = "; ".join(f"{doing}: {why}" for doing, why in self._refusals.items() if why)
        return "closed" if self.closed else self._servers().why() or refused

    def count(self, hits: int, misses: int) -> None:
        """Add to the use that this process makes of the servers."""
        with self._lock:
            self._hits += hits
            self._misses += misses

    def stats(self) -> CacheStats:
        """Size and health of the servers, and use by this process."""
        sizes = [size_of(server) for server in self.all()]
        detail = self.why()
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
        """Release the connections; from then on there are no answers. Safe to call twice."""
        if not self.closed:
            self.closed = True
            self._servers().close()

    def _servers(self) -> OneServer | ClusterServers:
        """The servers, over connections of this process.

        A forked child leaves its parent's alone: another thread may have held the driver's locks
        at that moment, and dropping the objects would wait for them.
        """
        process = os.getpid()
        found = self._by_process.get(process)
        if found is None:
            kind = ClusterServers if self.address.cluster else OneServer
            with self._lock:
                found = self._by_process.setdefault(process, kind(self.address, self._options))
        return found

    def _ask(self, doing: str, commands: Sequence[KeyedCommand]) -> list[Any]:
        answers: list[Any] = [None] * len(commands)
        if self.closed or not commands:
            return answers
        for server, places in self._servers().route([key for key, _ in commands]):
            told = server.ask([commands[place][1] for place in places])
            for place, answer in zip(places, told or (), strict=False):
                answers[place] = answer
        self._refusals[doing] = _refusal(answers)
        return answers


class RedisCache:
    """Values in a server that all processes share; reached as `RedisClient` says."""

    def __init__(self, url: str, **habits: Unpack[Habits]) -> None:
        self._client = RedisClient(url, **habits)

    def __repr__(self) -> str:
        return f"RedisCache({str(self._client.address)!r})"

    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of these keys, in that order; one round trip to each node that holds some."""
        names = [_name(key) for key in keys]
        answers = self._client.read([(name, ("GET", name)) for name in names])
        found = [answer if isinstance(answer, bytes) else None for answer in answers]
        missed = found.count(None)
        self._client.count(len(found) - missed, missed)
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
        return self._client.stats()

    def close(self) -> None:
        """Release the connections; from then on it gives nothing."""
        self._client.close()


def _name(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")


def life(ttl_s: float) -> int:
    """A time to live in the milliseconds that servers take."""
    return max(1, round(min(ttl_s, LONGEST_S) * 1000))


def _refusal(answers: Sequence[Any]) -> str:
    """The first refusal that says something about the server and not about one key."""
    passing = (fault.AskError, fault.TryAgainError)
    for answer in answers:
        if isinstance(answer, Exception) and not isinstance(answer, passing):
            why = reason_of(answer)
            if "WRONGTYPE" not in why:
                return why
    return ""
