"""A cache server that dies, hangs, forgets, fills up or lies: searches go on, nothing crosses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis

from remanence.backends.cache.redis import RedisCache
from remanence.model.ports.cache import Cache
from remanence.testing.patience import HANG_S, until
from support.services.shared import Running
from support.services.valkey import Valkey

TIMEOUT_S = 0.25
TTL_S = 60.0
ONCE_S = 6 * TIMEOUT_S  # for a wait or two on a busy machine; waiting for each key takes longer

MakeValkey = Callable[..., Valkey]


@dataclass
class Ticking:
    """A clock that only the test moves, so that no test waits for a breaker."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def server(private_valkey: MakeValkey) -> Valkey:
    return private_valkey(durable=False)


@pytest.fixture
def cache(server: Valkey, clock: Ticking) -> Iterator[RedisCache]:
    with closing(RedisCache(server.url, timeout_s=TIMEOUT_S, clock=clock)) as cache:
        yield cache


def took(call: Callable[[], object]) -> float:
    start = time.monotonic()
    call()
    return time.monotonic() - start


def quickest(call: Callable[[], object]) -> float:
    """What a call takes if nothing is in its way; one that waits never takes less than that."""
    return min(took(call) for _ in range(10))


def test_a_server_killed_in_use_gives_nothing_and_serves_again(
    server: Valkey, cache: RedisCache, clock: Ticking
) -> None:
    cache.put({"a": b"x"}, TTL_S)
    assert cache.get(["a"]) == [b"x"]
    server.kill()
    assert cache.get(["a"]) == [None]
    cache.put({"a": b"y"}, TTL_S)
    stats = cache.stats()
    assert not stats.healthy
    assert "refused" in stats.detail or "lost" in stats.detail
    server.restart()
    assert cache.get(["a"]) == [None]
    clock.now += 1.01
    cache.put({"a": b"z"}, TTL_S)
    assert cache.get(["a"]) == [b"z"]
    assert cache.stats().healthy


def test_a_server_that_is_not_there_yet_is_used_when_it_comes(
    server: Valkey, clock: Ticking
) -> None:
    server.kill()
    with closing(RedisCache(server.url, clock=clock)) as cache:
        assert not cache.stats().healthy
        server.restart()
        clock.now += 1.01
        assert cache.stats().healthy


def test_flushed_is_empty_and_well(server: Valkey, cache: RedisCache) -> None:
    cache.put({"a": b"x"}, TTL_S)
    with redis.Redis.from_url(server.url) as admin:
        admin.flushall()
    assert cache.get(["a"]) == [None]
    stats = cache.stats()
    assert (stats.healthy, stats.entries) == (True, 0)


def test_a_restart_between_two_calls_is_not_noticed(server: Valkey, cache: RedisCache) -> None:
    cache.put({"a": b"x"}, TTL_S)
    server.kill()
    server.restart()
    cache.put({"a": b"y"}, TTL_S)
    assert cache.get(["a"]) == [b"y"]


def test_an_evicting_server_loses_the_old_and_stays_well(server: Valkey, cache: RedisCache) -> None:
    with redis.Redis.from_url(server.url) as admin:
        used = int(admin.info("memory")["used_memory"])
        admin.config_set("maxmemory-policy", "allkeys-lru")
        admin.config_set("maxmemory", used + 1_000_000)
    values = {f"{n}": bytes([n]) * 20_000 for n in range(200)}
    for key, value in values.items():
        cache.put({key: value}, TTL_S)
    found = cache.get(list(values))
    assert 0 < sum(value is not None for value in found) < 100
    assert all(value in (None, values[key]) for key, value in zip(values, found, strict=True))
    assert cache.stats().healthy


def test_a_full_server_still_gives_what_it_has(server: Valkey, cache: RedisCache) -> None:
    cache.put({"a": b"x"}, TTL_S)
    with redis.Redis.from_url(server.url) as admin:
        admin.config_set("maxmemory", "1mb")
    cache.put({"a": b"y" * 1_000, "b": b"y"}, TTL_S)
    assert cache.get(["a", "b"]) == [b"x", None]
    stats = cache.stats()
    assert (stats.healthy, stats.detail) == (False, "writing: the server answers OOM")
    with redis.Redis.from_url(server.url) as admin:
        admin.config_set("maxmemory", "0")
    cache.put({"b": b"y"}, TTL_S)
    assert cache.get(["b"]) == [b"y"]
    assert cache.stats().healthy


def test_a_replica_gives_what_it_has_and_takes_nothing(server: Valkey, cache: RedisCache) -> None:
    cache.put({"a": b"x"}, TTL_S)
    with redis.Redis.from_url(server.url) as admin:
        admin.replicaof("127.0.0.1", "1")
    cache.put({"a": b"y"}, TTL_S)
    assert cache.get(["a"]) == [b"x"]
    assert cache.stats().detail == "writing: the server answers READONLY"


def test_a_key_of_another_type_is_a_miss(server: Valkey, cache: RedisCache) -> None:
    with redis.Redis.from_url(server.url) as admin:
        admin.rpush("a", "one", "two")
    cache.put({"b": b"x"}, TTL_S)
    assert cache.get(["a", "b"]) == [None, b"x"]
    assert cache.stats().healthy
    cache.put({"a": b"y"}, TTL_S)
    assert cache.get(["a"]) == [b"y"]


@pytest.fixture
def hung(server: Valkey, cache: RedisCache) -> Iterator[None]:
    """The server takes connections and never answers."""
    cache.put({"a": b"x"}, TTL_S)
    os.kill(server.processes[0].pid, signal.SIGSTOP)
    yield
    os.kill(server.processes[0].pid, signal.SIGCONT)


@pytest.mark.usefixtures("hung")
def test_a_hanging_server_costs_one_time_out_and_then_nothing(
    cache: RedisCache, clock: Ticking
) -> None:
    assert took(lambda: cache.get(["a"])) < ONCE_S
    for call in (
        lambda: cache.get(["a"] * 50),
        lambda: cache.put({"a": b"y", "b": b"y"}, TTL_S),
        lambda: cache.remove(["a"]),
        lambda: cache.stats(),
    ):
        assert quickest(call) < TIMEOUT_S
    assert cache.stats().detail.endswith("no answer in time")
    clock.now += 1.01
    assert took(lambda: cache.put({"a": b"y"}, TTL_S)) < ONCE_S
    assert quickest(lambda: cache.get(["a"])) < TIMEOUT_S


@pytest.mark.usefixtures("hung")
def test_of_many_callers_one_tries_a_hanging_server(cache: RedisCache, clock: Ticking) -> None:
    cache.get(["a"])

    def one_waits() -> bool:
        clock.now += 1.01
        with ThreadPoolExecutor(16) as pool:
            *rest, longest = sorted(pool.map(lambda _: took(lambda: cache.get(["a"])), range(16)))
        assert longest >= TIMEOUT_S * 0.9
        return max(rest) < TIMEOUT_S * 0.9

    assert any(one_waits() for _ in range(10))  # a busy machine may hold up the others as well


@pytest.mark.usefixtures("hung")
def test_callers_at_the_moment_it_hangs_wait_once(cache: RedisCache) -> None:
    with ThreadPoolExecutor(16) as pool:
        times = list(pool.map(lambda _: took(lambda: cache.get(["a"])), range(16)))
    assert max(times) < ONCE_S


def test_a_server_that_wakes_up_serves_again_with_right_values(
    server: Valkey, cache: RedisCache, clock: Ticking
) -> None:
    cache.put({f"{n}": str(n).encode() for n in range(20)}, TTL_S)
    os.kill(server.processes[0].pid, signal.SIGSTOP)
    assert cache.get(["1"]) == [None]
    os.kill(server.processes[0].pid, signal.SIGCONT)
    clock.now += 1.01
    for n in range(20):  # a late answer to the first question must not answer another
        assert cache.get([f"{n}"]) == [str(n).encode()]


def test_a_node_of_a_cluster_that_hangs_costs_the_others_nothing(
    private_valkey: MakeValkey, clock: Ticking
) -> None:
    servers = private_valkey(nodes=3, durable=False, settings=_PARTIAL)
    hosts = ",".join(urlsplit(url).netloc for url in servers.urls)
    values = {f"{n}": b"x" for n in range(60)}
    url = f"redis+cluster://{hosts}"
    with closing(RedisCache(url, timeout_s=TIMEOUT_S, clock=clock)) as cache:
        cache.put(values, TTL_S)
        assert cache.get(list(values)) == [b"x"] * 60
        os.kill(servers.processes[0].pid, signal.SIGSTOP)
        try:
            assert took(lambda: cache.get(list(values))) < ONCE_S
            cache.get(["0"])  # who holds what may be asked anew, once
            assert quickest(lambda: cache.get(list(values))) < TIMEOUT_S
            assert 20 < cache.get(list(values)).count(b"x") < 60
            detail = cache.stats().detail
        finally:
            os.kill(servers.processes[0].pid, signal.SIGCONT)
        assert f"{urlsplit(servers.urls[0]).netloc}: no answer in time" in detail
        clock.now += 1.01
        _until(lambda: cache.get(list(values)) == [b"x"] * 60, clock)


def test_a_killed_cluster_gives_nothing_and_serves_again(
    private_valkey: MakeValkey, clock: Ticking
) -> None:
    servers = private_valkey(nodes=3, durable=False, settings=_PARTIAL)
    values = {f"{n}": b"x" for n in range(60)}
    with closing(RedisCache(servers.url, cluster=True, timeout_s=TIMEOUT_S, clock=clock)) as cache:
        cache.put(values, TTL_S)
        for node in range(3):
            servers.kill(node)
        for _ in range(3):
            assert took(lambda: cache.get(list(values))) < ONCE_S
            assert cache.get(list(values)) == [None] * 60
            clock.now += 1.01
        assert not cache.stats().healthy
        for process in servers.processes:
            process.start()
        clock.now += 1.01
        _until(lambda: _kept(cache, values), clock)


_PARTIAL = {"cluster-require-full-coverage": "no", "cluster-allow-reads-when-down": "yes"}


def _kept(cache: Cache, values: dict[str, bytes]) -> bool:
    cache.put(values, TTL_S)
    return cache.get(list(values)) == list(values.values())


def _until(reached: Callable[[], bool], clock: Ticking) -> None:
    """Nodes tell each other in their own time that all is well."""

    def reached_later() -> bool:
        clock.now += 1.01
        return reached()

    until(reached_later)


def test_keys_that_move_to_another_node_are_found_again(
    private_valkey: MakeValkey, clock: Ticking
) -> None:
    servers = private_valkey(nodes=3, durable=False)
    with closing(RedisCache(servers.url, cluster=True, timeout_s=5, clock=clock)) as cache:
        assert _kept(cache, {"a": b"x"})
        with _nodes(servers) as nodes:
            slot = nodes[0].execute_command("CLUSTER KEYSLOT", "a")
            ids = [node.execute_command("CLUSTER MYID").decode() for node in nodes]
            cache.remove(["a"])
            new = next(n for n, node in enumerate(nodes) if _refuses(node, "a"))
            for node in nodes[new:] + nodes[:new]:
                node.execute_command("CLUSTER SETSLOT", slot, "NODE", ids[new])
        cache.put({"a": b"y"}, TTL_S)
        assert _kept(cache, {"a": b"z"})
        assert cache.stats().healthy


def test_keys_that_no_node_holds_are_misses_until_one_does(
    private_valkey: MakeValkey, clock: Ticking
) -> None:
    servers = private_valkey(nodes=3, durable=False, settings=_PARTIAL)
    with _nodes(servers) as nodes:
        slot = nodes[0].execute_command("CLUSTER KEYSLOT", "a")
        owner = next(node for node in nodes if not _refuses(node, "a"))
        with closing(RedisCache(servers.url, cluster=True, timeout_s=5, clock=clock)) as cache:
            _until(lambda: _disowned(nodes, slot) and _told_of_a_gap(cache), clock)
            for _ in range(2):
                cache.put({"a": b"x", "b": b"x"}, TTL_S)
                assert cache.get(["a", "b"]) == [None, b"x"]
            owner.execute_command("CLUSTER ADDSLOTS", slot)
            _until(lambda: _kept(cache, {"a": b"x"}), clock)
            assert cache.stats().healthy


@contextmanager
def _nodes(servers: Valkey) -> Iterator[list[Any]]:
    with ExitStack() as held:
        yield [held.enter_context(redis.Redis.from_url(url)) for url in servers.urls]


def _disowned(nodes: list[Any], slot: int) -> bool:
    """Whether no node knew of a holder; who did, as the others may have told it, forgets."""
    knowing = [node for node in nodes if _holder_known(node, slot)]
    for node in knowing:
        node.execute_command("CLUSTER DELSLOTS", slot)
    return not knowing


def _holder_known(node: Any, slot: int) -> bool:
    ranges = node.execute_command("CLUSTER SLOTS")
    return any(first <= slot <= last for first, last, *_ in ranges)


def _told_of_a_gap(cache: Cache) -> bool:
    cache.get(["a", "b"])
    return "no node holds some of the keys" in cache.stats().detail


def _refuses(node: Any, key: str) -> bool:
    try:
        node.get(key)
    except redis.ResponseError:
        return True
    return False


FORKING = """
import os, sys, threading
from remanence.backends.cache.local import LocalCache
from remanence.backends.cache.redis import RedisCache
patient = {"timeout_s": 20, "connect_timeout_s": 20}
cache = RedisCache(sys.argv[1], **patient) if sys.argv[1] else LocalCache(1_000_000)
stop = threading.Event()

def hammer(name):
    while not stop.is_set():
        cache.put({name: name.encode()}, 60)
        assert cache.get([name]) == [name.encode()], cache.stats()

cache.put({"a": b"x"}, 60)
threads = [threading.Thread(target=hammer, args=(f"thread {n}",)) for n in range(4)]
for thread in threads:
    thread.start()
children = []
for n in range(20):
    child = os.fork()
    if child == 0:
        own = {f"child {n} {m}": b"y" * m for m in range(10)}
        cache.put(own, 60)
        right = cache.get(["a", *own]) == [b"x", *own.values()] and cache.stats().healthy
        os._exit(0 if right else 1)
    children.append(child)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
stop.set()
for thread in threads:
    thread.join()
assert codes == [0] * 20, codes
assert cache.get(["a"]) == [b"x"]
cache.close()
"""


@pytest.mark.parametrize("kind", ["local", "one server", "cluster"])
def test_a_process_forks_with_the_cache_in_use(
    kind: str, valkey_url: str, valkey_cluster: Running
) -> None:
    hosts = ",".join(urlsplit(url).netloc for url in valkey_cluster.urls)
    url = {"local": "", "one server": valkey_url, "cluster": f"redis+cluster://{hosts}"}[kind]
    # The warning is the point: threads and a fork together.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING, url]
    subprocess.run(command, check=True, timeout=HANG_S)
