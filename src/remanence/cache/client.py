"""Commands to a Redis or Valkey server, or to a cluster; none fails for want of a server."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

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
    size_of,
)
from remanence.forks import ForkSafeLock
from remanence.ports.cache import CacheStats

CONNECT_TIMEOUT_S = 0.25
TIMEOUT_S = 0.25
REST_S = 1.0
MAX_CONNECTIONS = 64
# The longest time to live: servers refuse one that leads past their calendar.
LONGEST_S = 10 * 365 * 86_400

KeyedCommand = tuple[bytes, Command]


class Habits(TypedDict, total=False):
    """How a server is reached, where it differs from the usual."""

    cluster: bool
    connect_timeout_s: float
    timeout_s: float
    rest_s: float
    max_connections: int
    clock: Callable[[], float]


class Client:
    """The servers at one address, for all threads and forks of a process.

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
        self.address = read_address(url, cluster=cluster)
        self.closed = False
        self._options = Options(
            connect_timeout_s=connect_timeout_s,
            timeout_s=timeout_s,
            rest_s=rest_s,
            max_connections=max_connections,
            clock=clock,
        )
        self._lock = ForkSafeLock()
        self._by_process: dict[int, Servers] = {}
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

    def stats(self, hits: int, misses: int) -> CacheStats:
        """Size and health of the servers, beside what a process made of them."""
        sizes = [size_of(server) for server in self.all()]
        detail = self.why()
        return CacheStats(
            kind="redis",
            healthy=not detail,
            entries=sum(entries for entries, _ in sizes),
            bytes_used=sum(used for _, used in sizes),
            hits=hits,
            misses=misses,
            detail=detail,
        )

    def close(self) -> None:
        """Release the connections; from then on there are no answers. Safe to call twice."""
        if not self.closed:
            self.closed = True
            self._servers().close()

    def _servers(self) -> Servers:
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
