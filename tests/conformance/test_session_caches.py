"""Every session cache against the one suite: one server, and a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import pytest
import redis

from remanence.backends.cache.redis_sessions import (
    RedisSessionCache,
    active_key,
    by_time_key,
    history_key,
    member,
    session_key,
)
from remanence.model.ports.session_cache import SessionCache, SessionKey
from remanence.testing.session_cache import (
    NAMES,
    NOW,
    TTL_S,
    SessionCacheSuite,
    copy_of,
    push,
    said,
)
from support.services.shared import Running

PATIENT = 5.0


class TestRedisSessionCache(SessionCacheSuite):
    @pytest.fixture
    def cache(self, valkey_url: str) -> Iterator[SessionCache]:
        patient = RedisSessionCache(valkey_url, timeout_s=PATIENT, connect_timeout_s=PATIENT)
        with closing(patient) as cache:
            yield cache

    def test_the_layout_is_as_documented(
        self, cache: SessionCache, key: SessionKey, valkey_url: str
    ) -> None:
        cache.keep(key, copy_of(key))
        cache.fill(key, [said(key, "one")], mark=0, ttl_s=TTL_S, at=NOW)
        place = f"{key.store}:{{t:u:s}}"
        with redis.Redis.from_url(valkey_url, decode_responses=True) as server:
            types = {name: server.type(name) for name in server.scan_iter("*")}
            assert types == {
                f"{place}:session": "hash",
                f"{place}:history": "list",
                f"{key.store}:{{t}}:active": "set",
                f"{key.store}:{{t}}:by-time": "zset",
            }
            assert server.hget(f"{place}:session", "data") == '{"a":1}'
            assert server.smembers(f"{key.store}:{{t}}:active") == {"u:s"}
            for name in ("session", "history"):
                assert TTL_S - 10 < server.ttl(f"{place}:{name}") <= TTL_S

    def test_a_use_prolongs_all_of_a_session(
        self, cache: SessionCache, key: SessionKey, valkey_url: str
    ) -> None:
        cache.keep(key, copy_of(key))
        cache.fill(key, [said(key, "one")], mark=0, ttl_s=TTL_S, at=NOW)
        cache.touch(key, 10 * TTL_S, NOW)
        with redis.Redis.from_url(valkey_url) as server:
            for name in (session_key(key), history_key(key)):
                assert server.ttl(name) > TTL_S

    def test_nothing_stays_for_ever_but_the_lists_of_who_is_active(
        self, cache: SessionCache, key: SessionKey, valkey_url: str
    ) -> None:
        push(cache, key, [said(key, "one")])
        cache.forget([key])
        other = SessionKey(store=key.store, tenant="t", session_id="other")
        cache.forget([other])
        cache.remove([SessionKey(store=key.store, tenant="t", session_id="third")])
        with redis.Redis.from_url(valkey_url) as server:
            names = list(server.scan_iter("*"))
            assert len(names) == 3
            assert all(0 < server.ttl(name) <= TTL_S for name in names)


class TestRedisSessionCacheOfACluster(SessionCacheSuite):
    @pytest.fixture
    def cache(self, valkey_cluster: Running) -> Iterator[SessionCache]:
        hosts = ",".join(urlsplit(url).netloc for url in valkey_cluster.urls)
        patient = RedisSessionCache(
            f"redis+cluster://{hosts}", timeout_s=PATIENT, connect_timeout_s=PATIENT
        )
        with closing(patient) as cache:
            yield cache


def test_no_two_names_make_the_same_key() -> None:
    keys = [
        SessionKey(store="x", tenant=tenant, user_id=user, session_id=name)
        for tenant in NAMES
        for user in (None, *NAMES)
        for name in NAMES
    ]
    for make in (session_key, history_key):
        assert len({make(key) for key in keys}) == len(keys)
    assert not {session_key(key) for key in keys} & {history_key(key) for key in keys}
    assert len({(active_key("x", key.tenant), member(key)) for key in keys}) == len(keys)
    sets = {active_key("x", name) for name in NAMES} | {by_time_key("x", name) for name in NAMES}
    assert len(sets) == 2 * len(NAMES)
    assert not sets & {session_key(key) for key in keys}


@pytest.mark.parametrize("name", NAMES)
def test_only_our_braces_part_a_cluster(name: str) -> None:
    key = SessionKey(store="x", tenant=name, user_id=name, session_id=name)
    for made in (session_key(key), history_key(key)):
        assert (made.count(b"{"), made.count(b"}")) == (1, 1)
