"""A session cache that dies, forgets, fills up, hangs, lies or is late: no session is lost."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
import redis

from remanence.backends.cache.redis_sessions import (
    RedisSessionCache,
    active_key,
    by_time_key,
    history_key,
    session_key,
)
from remanence.errors import NotFound
from remanence.layers.sessions import Sessions
from remanence.model.clock import FixedClock
from remanence.model.memory import Kind, MemoryRecord
from remanence.model.ports.session_cache import SessionCache, SessionKey
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.write import Batch, Remove
from remanence.recall.query import where_of
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import add, memory
from support.program import Program
from support.services.valkey import Valkey

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TIMEOUT_S = 0.25
TRUSTED = timedelta(seconds=30)
TTL_S = 86_400.0

MakeValkey = Callable[..., Valkey]


@dataclass
class Ticking:
    """A clock that only the test moves, so that no test waits for a breaker."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Bench:
    """A store, a server to ill-treat, and sessions of as many processes as a test needs."""

    store: Store
    server: Valkey
    clock: FixedClock
    ticking: Ticking
    tenant: str

    def open_cache(self) -> RedisSessionCache:
        return RedisSessionCache(self.server.url, timeout_s=TIMEOUT_S, clock=self.ticking)

    def sessions(self, cache: SessionCache | None) -> Sessions:
        return Sessions(self.store, self.tenant, self.clock, TTL_S, cache, self.recent)

    def recent(self, session_id: str, *, user_id: str | None, limit: int) -> list[MemoryRecord]:
        reach = Reach(tenant=self.tenant, user_id=user_id, session_id=session_id)
        where = where_of(None, "message", None, None, None)
        return self.store.archive.find(reach, where, limit=limit)[::-1]

    def say(self, sessions: Sessions, text: str) -> MemoryRecord:
        self.clock.at += timedelta(milliseconds=1)
        fields = dict.fromkeys(("happened_at", "created_at", "updated_at"), self.clock.at)
        record = memory(text, self.tenant, session_id="s", kind=Kind.MESSAGE, **fields)
        sessions.push("s", add(self.store, record))
        return record

    def key(self, session_id: str = "s") -> SessionKey:
        return SessionKey(
            store=self.store.upkeep.identity, tenant=self.tenant, session_id=session_id
        )

    def rested(self) -> None:
        """Long enough for a server that failed to be tried again."""
        self.ticking.now += 1.01


@pytest.fixture(params=["sqlite", "postgres"])
def bench(
    request: pytest.FixtureRequest, private_valkey: MakeValkey, tmp_path: Path
) -> Iterator[Bench]:
    if request.param == "sqlite":
        store: Store = SqliteStore(tmp_path / "memory.db", durability="normal")
    else:
        store = PostgresStore(request.getfixturevalue("postgres_database"))
    server = private_valkey(durable=True)
    with closing(store):
        yield Bench(store, server, FixedClock(NOW), Ticking(), f"t{uuid4().hex}")


@pytest.fixture
def cache(bench: Bench) -> Iterator[RedisSessionCache]:
    with closing(bench.open_cache()) as cache:
        yield cache


@pytest.fixture
def sessions(bench: Bench, cache: RedisSessionCache) -> Sessions:
    return bench.sessions(cache)


@pytest.fixture
def admin(bench: Bench) -> Iterator[Any]:
    with redis.Redis.from_url(bench.server.url) as client:
        yield client


def test_a_server_killed_in_use_loses_nothing(bench: Bench, sessions: Sessions) -> None:
    sessions.create("s", data={"n": 0})
    for n in range(1, 41):
        if n == 10:
            bench.server.kill()
        if n == 25:
            bench.server.restart()
        if n % 5 == 0:
            bench.rested()
            bench.clock.at += TRUSTED
        bench.say(sessions, f"turn {n}")
        assert sessions.update("s", {"n": n, f"key {n}": 1}).version == n + 1
        if n < 25 or n >= 30:  # what the dead server kept is old for 30 seconds at most
            found = sessions.get("s")
            assert (found.data["n"], len(found.data)) == (n, n + 1)
            assert [one.text for one in sessions.recent("s", limit=2)][-1] == f"turn {n}"
        assert [one.id for one in sessions.active()] == ["s"]
    assert sessions.end("s").ended_at
    assert sessions.cleanup() == 0


def test_a_flushed_server_loses_nothing(bench: Bench, sessions: Sessions, admin: Any) -> None:
    sessions.create("s", data={"n": 0})
    for n in range(1, 30):
        bench.say(sessions, f"turn {n}")
        if n % 3 == 0:
            admin.flushall()
        sessions.update("s", {"n": n})
        if n % 4 == 0:
            admin.flushall()
        assert sessions.get("s").data == {"n": n}
        assert [one.text for one in sessions.recent("s")] == [f"turn {m + 1}" for m in range(n)]


def test_an_evicting_server_loses_nothing(
    bench: Bench, cache: RedisSessionCache, sessions: Sessions, admin: Any
) -> None:
    used = int(admin.info("memory")["used_memory"])
    admin.config_set("maxmemory-policy", "allkeys-lru")
    admin.config_set("maxmemory", used + 1_000_000)
    for n in range(100):
        sessions.create(f"s{n}", data={"n": n, "much": "x" * 30_000})
    held = sum(cache.load(bench.key(f"s{n}")) is not None for n in range(100))
    assert 0 < held < 60
    for n in range(100):
        found = sessions.update(f"s{n}", {"again": n})
        assert found == sessions.get(f"s{n}")
        assert (found.data["n"], found.data["again"]) == (n, n)
    assert len(sessions.active(limit=1_000)) == 100
    assert cache.stats().healthy


def test_a_full_server_keeps_nothing_old(
    bench: Bench, cache: RedisSessionCache, sessions: Sessions, admin: Any
) -> None:
    sessions.create("s", data={"n": 0})
    bench.say(sessions, "turn 0")
    sessions.recent("s")
    assert cache.load(bench.key()) is not None
    admin.config_set("maxmemory", "1mb")
    for n in range(1, 5):
        bench.say(sessions, f"turn {n}")
        sessions.update("s", {"n": n})
        assert sessions.get("s").data == {"n": n}
        assert len(sessions.recent("s")) == n + 1
    assert cache.stats().detail == "writing: the server answers OOM"
    sessions.create("t", data={"n": 0})
    sessions.erase("s")
    with pytest.raises(NotFound):
        sessions.get("s")
    admin.config_set("maxmemory", "0")
    assert sessions.get("t").data == {"n": 0}
    assert cache.stats().healthy


def test_a_replica_that_takes_no_writes_corrects_itself(
    bench: Bench, sessions: Sessions, admin: Any
) -> None:
    sessions.create("s", data={"n": 0})
    admin.replicaof("127.0.0.1", "1")
    sessions.update("s", {"n": 1})
    bench.clock.at += TRUSTED
    for _ in range(3):
        assert sessions.get("s").data == {"n": 1}


def test_what_a_writer_could_not_tell_the_cache_is_corrected_in_30_seconds(
    bench: Bench, cache: RedisSessionCache, sessions: Sessions
) -> None:
    """The writer is cut off from the cache, the readers are not."""
    cut_off = bench.sessions(None)
    sessions.create("s", data={"n": 0})
    first = bench.say(sessions, "turn 0")
    assert len(sessions.recent("s")) == 1
    cut_off.update("s", {"n": 1})
    bench.say(cut_off, "turn 1")
    bench.clock.at += TRUSTED - timedelta(seconds=1)
    assert sessions.get("s").data == {"n": 0}
    bench.clock.at += timedelta(seconds=1)
    assert sessions.get("s").data == {"n": 1}
    assert [one.text for one in sessions.recent("s")] == ["turn 0", "turn 1"]
    found = cache.load(bench.key())
    assert found is not None
    assert found.session.data == {"n": 1}

    bench.store.archive.write(
        Batch(tenant=bench.tenant, at=bench.clock.at, actions=(Remove(id=first.id),))
    )
    cut_off.erase("s")
    bench.clock.at += TRUSTED
    with pytest.raises(NotFound):
        sessions.get("s")
    assert cache.load(bench.key()) is None
    assert [one.text for one in sessions.recent("s")] == ["turn 1"]


def test_a_session_begun_anew_behind_the_caches_back(bench: Bench, sessions: Sessions) -> None:
    cut_off = bench.sessions(None)
    for n in range(20):
        sessions.create("s") if n == 0 else sessions.update("s", {"n": n})
    cut_off.erase("s")
    cut_off.create("s", data={"new": 1})
    bench.clock.at += TRUSTED
    for _ in range(2):
        assert sessions.get("s").data == {"new": 1}
    assert sessions.update("s", {"a": 1}).data == {"new": 1, "a": 1}
    assert sessions.get("s").data == {"new": 1, "a": 1}


def test_a_store_that_went_back_in_time_is_believed(bench: Bench, sessions: Sessions) -> None:
    sessions.create("s", data={"n": 0})
    old = list(bench.store.documents.scan(bench.tenant))
    for n in range(1, 5):
        sessions.update("s", {"n": n})
    bench.store.documents.adopt(bench.tenant, old)
    bench.clock.at += TRUSTED
    for _ in range(2):
        assert sessions.get("s").data == {"n": 0}


def test_clocks_that_differ_cost_time_and_nothing_else(
    bench: Bench, cache: RedisSessionCache
) -> None:
    """A reader whose clock is behind does not believe what was verified in its future."""
    behind = FixedClock(NOW - timedelta(hours=1))
    late = Sessions(bench.store, bench.tenant, behind, TTL_S, cache, bench.recent)
    bench.sessions(cache).create("s", data={"n": 0})
    bench.sessions(None).update("s", {"n": 1})
    assert late.get("s").data == {"n": 1}


def test_a_hanging_server_costs_one_time_out(bench: Bench, sessions: Sessions) -> None:
    times: list[float] = []
    sessions.create("s", data={"n": 0})
    os.kill(bench.server.processes[0].pid, signal.SIGSTOP)
    try:
        for n in range(10):
            start = time.monotonic()
            sessions.update("s", {"n": n})
            assert sessions.get("s").data == {"n": n}
            times.append(time.monotonic() - start)
        assert sorted(times)[5] < TIMEOUT_S  # on a busy machine some may take their time
    finally:
        os.kill(bench.server.processes[0].pid, signal.SIGCONT)


JUNK: list[Callable[[Any, bytes], object]] = [
    lambda admin, key: admin.set(key, "text"),
    lambda admin, key: admin.rpush(key, "a", "b"),
    lambda admin, key: admin.hset(key, "data", "{"),
    lambda admin, key: admin.hset(key, "data", "[1]"),
    lambda admin, key: admin.hset(key, "data", b"\xff\xfe"),
    lambda admin, key: admin.hset(key, "data", "[" * 10_000),
    lambda admin, key: admin.hset(key, "user", "another"),
    lambda admin, key: admin.hset(key, "tenant", "another"),
    lambda admin, key: admin.hset(key, "session", "another"),
    lambda admin, key: admin.hset(key, "agent", "a\nb"),
    lambda admin, key: admin.hset(key, "version", "x"),
    lambda admin, key: admin.hset(key, "edition", "x"),
    lambda admin, key: admin.hset(key, "edition", ""),
    lambda admin, key: admin.hset(key, "verified", "2026-03-01"),
    lambda admin, key: admin.hset(key, "expires", "never"),
    lambda admin, key: admin.hset(key, "ttl", "nan"),
    lambda admin, key: admin.hset(key, "ttl", "1e999"),
    lambda admin, key: admin.hset(key, "format", "2"),
    lambda admin, key: admin.hset(key, "mark", "x"),
    lambda admin, key: admin.hset(key, "filled", "x"),
    lambda admin, key: admin.hset(key, "newest", "x"),
    lambda admin, key: admin.hdel(key, "run"),
    lambda admin, key: admin.delete(key),
]


@pytest.mark.parametrize("spoil", JUNK, ids=map(str, range(len(JUNK))))
def test_junk_in_the_hash_is_not_believed(
    bench: Bench, sessions: Sessions, admin: Any, spoil: Callable[[Any, bytes], object]
) -> None:
    sessions.create("s", data={"n": 0})
    bench.say(sessions, "turn 0")
    sessions.recent("s")
    name = session_key(bench.key())
    if admin.exists(name) and spoil in JUNK[:2]:
        admin.delete(name)
    spoil(admin, name)
    assert sessions.get("s").data == {"n": 0}
    assert [one.text for one in sessions.recent("s")] == ["turn 0"]
    spoil(admin, name) if spoil not in JUNK[:2] else None
    sessions.update("s", {"n": 1})
    bench.say(sessions, "turn 1")
    bench.clock.at += TRUSTED
    for _ in range(2):
        assert sessions.get("s").data == {"n": 1}
        assert [one.text for one in sessions.recent("s")] == ["turn 0", "turn 1"]


def _altered(**changes: Any) -> Callable[[bytes], bytes]:
    return lambda value: json.dumps(json.loads(value) | changes).encode()


@pytest.mark.parametrize(
    "alter",
    [
        lambda value: b"",
        lambda value: b"null",
        lambda value: b"{}",
        lambda value: b"\xff" + value,
        lambda value: b"[" * 100_000,
        _altered(tenant="another"),
        _altered(user_id="another"),
        _altered(session_id=None),
        _altered(id=None),
        _altered(text=7),
        _altered(kind="secret"),
        _altered(happened_at="yesterday"),
        _altered(happened_at=None),
        _altered(importance=7),
        _altered(metadata=[1]),
        _altered(speaker=["a"]),
        _altered(more=1),
    ],
)
def test_junk_in_the_list_is_not_believed(
    bench: Bench, sessions: Sessions, admin: Any, alter: Callable[[bytes], bytes]
) -> None:
    for n in range(3):
        bench.say(sessions, f"turn {n}")
    right = sessions.recent("s")
    name = history_key(bench.key())
    admin.lset(name, 1, alter(admin.lindex(name, 1)))
    assert sessions.recent("s") == right
    admin.delete(name)
    admin.set(name, "text")
    assert sessions.recent("s") == right
    bench.say(sessions, "turn 3")
    assert len(sessions.recent("s")) == 4


def test_junk_in_the_lists_of_who_is_active_is_passed_over(
    bench: Bench, sessions: Sessions, admin: Any
) -> None:
    sessions.create("s")
    active = active_key(bench.store.upkeep.identity, bench.tenant)
    by_time = by_time_key(bench.store.upkeep.identity, bench.tenant)
    admin.sadd(active, b"\xff\xfe", "", "no colon", "a:b:c")
    admin.zadd(by_time, {b"\xff": 1, "far": 1e300, "endless": float("inf"), ":s": 1e18})
    assert [one.id for one in sessions.active()] == ["s"]
    assert sessions.cleanup() == 0
    assert admin.smembers(active) == {b":s"}
    assert admin.zrange(by_time, 0, -1) == [b":s"]
    admin.delete(active, by_time)
    admin.set(active, "text")
    admin.set(by_time, "text")
    assert [one.id for one in sessions.active()] == ["s"]
    assert sessions.get("s").id == "s"
    assert sessions.cleanup() == 0


def test_cleanup_strikes_sessions_whose_copy_is_gone(
    bench: Bench, sessions: Sessions, admin: Any
) -> None:
    for n in range(5):
        sessions.create(f"s{n}")
    admin.delete(session_key(bench.key("s1")), session_key(bench.key("s2")))
    active = active_key(bench.store.upkeep.identity, bench.tenant)
    assert sessions.cleanup() == 0
    assert admin.smembers(active) == {b":s0", b":s3", b":s4"}
    sessions.get("s1")
    assert b":s1" in admin.smembers(active)
    assert len(sessions.active()) == 5


def test_readers_and_a_writer_that_never_meet_a_step_back(bench: Bench) -> None:
    """Versions a reader sees never fall, though copies come and go in any order."""
    bench.sessions(None).create("s", data={"n": 0})
    stop = threading.Event()
    wrong: list[tuple[int, int]] = []

    def read() -> None:
        with closing(RedisSessionCache(bench.server.url, timeout_s=5)) as own:
            sessions, last = bench.sessions(own), 0
            while not stop.is_set():
                version = sessions.get("s").version
                if version < last:
                    wrong.append((last, version))
                last = version

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        with closing(RedisSessionCache(bench.server.url, timeout_s=5)) as own:
            sessions = bench.sessions(own)
            for n in range(150):
                after = sessions.update("s", {"n": n})
                assert sessions.get("s").version == after.version
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert wrong == []


KILLED = """
import sys
from remanence.backends.cache.redis_sessions import RedisSessionCache
from remanence.model.clock import SystemClock
from remanence.layers.sessions import Sessions
from remanence.store.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
sessions = Sessions(
    store, "t", SystemClock(), 86400, RedisSessionCache(sys.argv[2]), lambda *_, **__: []
)
sessions.create("s")
n = 0
while True:
    n += 1
    sessions.update("s", {"n": n})
    print(n, flush=True)
"""


def test_a_writer_killed_at_any_moment_has_lost_nothing_it_acknowledged(
    private_valkey: MakeValkey, tmp_path: Path
) -> None:
    server, path = private_valkey(durable=False), tmp_path / "memory.db"
    with Program(KILLED, path, server.url) as writer:
        acknowledged = 0
        while acknowledged < 50:
            acknowledged = int(writer.hear())
        writer.kill()
        rest = writer.rest().splitlines(keepends=True)
    acknowledged = max([acknowledged, *(int(line) for line in rest if line.endswith("\n"))])
    with (
        closing(SqliteStore(path)) as store,
        closing(RedisSessionCache(server.url, timeout_s=5)) as cache,
    ):
        later = FixedClock(datetime.now(UTC) + TRUSTED)
        found = Sessions(store, "t", later, TTL_S, cache, lambda *_, **__: []).get("s")
    assert found.data["n"] in (acknowledged, acknowledged + 1)
    assert found.version == found.data["n"] + 1


def test_a_killed_node_of_a_cluster_loses_nothing(
    private_valkey: MakeValkey, tmp_path: Path
) -> None:
    servers = private_valkey(
        nodes=3, durable=False, settings={"cluster-require-full-coverage": "no"}
    )
    hosts = ",".join(urlsplit(url).netloc for url in servers.urls)
    ticking, clock = Ticking(), FixedClock(NOW)
    with (
        closing(SqliteStore(tmp_path / "memory.db", durability="normal")) as store,
        closing(
            RedisSessionCache(f"redis+cluster://{hosts}", timeout_s=TIMEOUT_S, clock=ticking)
        ) as cache,
    ):
        sessions = Sessions(store, "t", clock, TTL_S, cache, lambda *_, **__: [])
        for n in range(30):
            sessions.create(f"s{n}", data={"n": n})
        servers.kill(1)
        for n in range(30):
            assert sessions.get(f"s{n}").data == {"n": n}
            sessions.update(f"s{n}", {"more": n})
        servers.restart(1)
        ticking.now += 1.01
        clock.at += TRUSTED
        for _ in range(2):
            for n in range(30):
                assert sessions.get(f"s{n}").data == {"n": n, "more": n}
        assert len(sessions.active()) == 30
