"""The servers behind a Redis cache: one, or a cluster's nodes; none is asked while it ails."""

# mypy: disallow-untyped-calls=False
# The driver's classes carry types, many of their methods do not.

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from redis import (
    BlockingConnectionPool,
    Connection,
    Redis,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis import exceptions as fault
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry

from remanence.backends.cache.address import CacheAddress
from remanence.model.fork_safety import ForkSafeLock

# Seconds without use after which a connection is tried before it is trusted again.
HEALTH_CHECK = 30

Command = tuple[str | bytes | int, ...]
Route = tuple["Server", list[int]]


class Breaker:
    """After a failure nobody enters for `rest_s`; then one caller tries for all. Thread-safe."""

    def __init__(self, rest_s: float, clock: Callable[[], float]) -> None:
        self._rest_s = rest_s
        self._clock = clock
        self._lock = ForkSafeLock()
        self._until: float | None = None
        self.why = ""

    def enter(self) -> bool:
        """Whether the caller may go on; it then says how it went with `succeed` or `fail`."""
        with self._lock:
            if self._until is None:
                return True
            now = self._clock()
            if now < self._until:
                return False
            self._until = now + self._rest_s
            return True

    def succeed(self) -> None:
        """The server answers: everybody may enter."""
        with self._lock:
            self._until, self.why = None, ""

    def fail(self, why: str) -> None:
        """The server does not: keep away from now on."""
        with self._lock:
            self._until, self.why = self._clock() + self._rest_s, why


class Habits(TypedDict, total=False):
    """What of `Options` is not as usual."""

    cluster: bool
    connect_timeout_s: float
    timeout_s: float
    rest_s: float
    max_connections: int
    clock: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How long to wait, and how long to keep away; whether the address is a cluster's."""

    cluster: bool = False
    connect_timeout_s: float = 0.25
    timeout_s: float = 0.25
    rest_s: float = 1.0
    max_connections: int = 64
    clock: Callable[[], float] = time.monotonic

    def breaker(self) -> Breaker:
        """A breaker of these habits."""
        return Breaker(self.rest_s, self.clock)


class Server:
    """One server. Whatever it does or does not answer, asking it never raises."""

    def __init__(self, name: str, client: Redis, breaker: Breaker) -> None:
        self.name = name
        self.client = client
        self.breaker = breaker
        self.lost = False

    def ask(self, commands: Sequence[Command]) -> list[Any] | None:
        """The answers, refusals among them as exceptions; None from a server that is not well."""
        if not self.breaker.enter():
            return None
        pipeline = self.client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        try:
            answers = pipeline.execute(raise_on_error=False)
        except Exception as error:  # junk makes the driver raise more than its own errors
            self.lost = True
            self.breaker.fail(reason_of(error))
            return None
        self.lost = any(isinstance(answer, fault.MovedError) for answer in answers)
        self.breaker.succeed()
        return answers


class OneServer:
    """A single server."""

    def __init__(self, address: CacheAddress, options: Options) -> None:
        client = Redis(connection_pool=_pool(address, options))
        self._server = Server(str(address), client, options.breaker())

    def route(self, keys: Sequence[bytes]) -> list[Route]:
        """Each server with the places of its keys; here all keys are its own."""
        return [(self._server, list(range(len(keys))))]

    def all(self) -> list[Server]:
        """The one."""
        return [self._server]

    def why(self) -> str:
        """What ails it."""
        return _told(self._server.name, self._server.breaker.why)

    def close(self) -> None:
        """Release its connections."""
        self._server.client.close()
        self._server.client.connection_pool.disconnect()


class ClusterServers:
    """The primaries of a cluster, found on first use and again when keys have moved."""

    def __init__(self, address: CacheAddress, options: Options) -> None:
        self._address = address
        self._options = options
        self._finding = options.breaker()
        self._lock = ForkSafeLock()
        self._client: RedisCluster | None = None
        self._servers: dict[str, Server] = {}
        self._uncovered = False

    def route(self, keys: Sequence[bytes]) -> list[Route]:
        """Keys by the node that holds their slot; keys nobody holds right now are left out."""
        client = self._found()
        if client is None:
            return []
        places: defaultdict[Server, list[int]] = defaultdict(list)
        for place, key in enumerate(keys):
            try:
                node = client.get_node_from_key(key)
            except fault.SlotNotCoveredError:
                self._uncovered = True
                self._finding.fail("no node holds some of the keys")
            else:
                places[self._server(client, node)].append(place)
        return list(places.items())

    def all(self) -> list[Server]:
        """The primaries known."""
        client = self._found()
        if client is None:
            return []
        return [self._server(client, node) for node in client.get_primaries()]

    def why(self) -> str:
        """What ails the nodes, by name."""
        told = [_told(s.name, s.breaker.why) for s in list(self._servers.values())]
        told.append(_told(str(self._address), self._finding.why))
        return "; ".join(filter(None, told))

    def close(self) -> None:
        """Release all connections."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client.disconnect_connection_pools()
                self._client = None

    def _server(self, client: RedisCluster, node: ClusterNode) -> Server:
        server = self._servers.get(node.name)
        if server is None:
            new = Server(node.name, client.get_redis_connection(node), self._options.breaker())
            server = self._servers.setdefault(node.name, new)
        server.client = client.get_redis_connection(node)
        return server

    def _found(self) -> RedisCluster | None:
        if not self._outdated():
            return self._client
        if self._lock.acquire(timeout=self._options.timeout_s):
            try:
                if self._outdated() and self._finding.enter():
                    self._find()
            finally:
                self._lock.release()
        return self._client

    def _outdated(self) -> bool:
        return self._client is None or self._uncovered or bool(self._lost())

    def _lost(self) -> list[Server]:
        return [server for server in list(self._servers.values()) if server.lost]

    def _find(self) -> None:
        lost = self._lost()
        try:
            if self._client is None:
                self._client = _cluster(self._address, self._options)
            else:
                failed = lost[0].name if lost else None
                self._client.nodes_manager.initialize(last_failed_node_name=failed)
            present = {node.name for node in self._client.get_primaries()}
        except Exception as error:  # as in Server.ask
            self._finding.fail(reason_of(error))
            return
        self._servers = {n: s for n, s in list(self._servers.items()) if n in present}
        self._uncovered = False
        for server in lost:
            server.lost = False
        self._finding.succeed()


def size_of(server: Server) -> tuple[int, int]:
    """How many entries, and how many bytes they take with all around them; 0 if it is not told."""
    entries, memory = server.ask([("DBSIZE",), ("INFO", "memory")]) or (0, {})
    used = memory.get("used_memory", 0) if isinstance(memory, dict) else 0
    return (entries if isinstance(entries, int) else 0), used if isinstance(used, int) else 0


def reason_of(error: BaseException) -> str:
    """Why a server could not be used, in words of our own.

    A server's own words may repeat what was sent to it, the password for instance.
    """
    if isinstance(error, fault.AuthenticationError | fault.AuthorizationError):
        return "the server refuses the user or the password"
    if isinstance(error, fault.TimeoutError | TimeoutError):
        return "no answer in time"
    if isinstance(error, fault.BusyLoadingError):
        return "the server is still loading its data"
    if isinstance(error, fault.ResponseError):
        code = re.match(r"[A-Z]{2,16}\b", error.status_code or str(error))
        return f"the server answers {code[0] if code else 'an error'}"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    inner = error.__cause__ or error.__context__
    if isinstance(inner, OSError | fault.RedisError):
        return reason_of(inner)
    lost = isinstance(error, fault.ConnectionError)
    return "the connection was lost" if lost else "the server's answers make no sense"


def _told(name: str, why: str) -> str:
    return f"{name}: {why}" if why else ""


def _pool(address: CacheAddress, options: Options) -> BlockingConnectionPool:
    shared: dict[str, Any] = _login(address, options)
    shared |= {
        "db": address.number,
        "retry": Retry(NoBackoff(), 0),
        "health_check_interval": HEALTH_CHECK,
        "max_connections": options.max_connections,
        "timeout": options.timeout_s,
    }
    if address.socket:
        kind: type = UnixDomainSocketConnection
        shared |= {"path": address.socket}
    else:
        kind = SSLConnection if address.tls else Connection
        [(host, port)] = address.nodes
        shared |= {"host": host, "port": port}
    return BlockingConnectionPool(connection_class=kind, **shared)


def _cluster(address: CacheAddress, options: Options) -> RedisCluster:
    settings = _login(address, options) | ({"ssl": True} if address.tls else {})
    return RedisCluster(
        startup_nodes=[ClusterNode(host, port) for host, port in address.nodes],
        retry=Retry(NoBackoff(), 0),
        require_full_coverage=False,
        max_connections=options.max_connections,
        **settings,
    )


def _login(address: CacheAddress, options: Options) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "username": address.user,
        "password": address.password,
        "protocol": 2,
        "driver_info": None,
        "socket_timeout": options.timeout_s,
        "socket_connect_timeout": options.connect_timeout_s,
    }
    if address.tls:
        settings |= {
            "ssl_ca_certs": address.ca_file,
            "ssl_cert_reqs": "required" if address.verify else "none",
            "ssl_check_hostname": address.verify,
        }
    return settings
