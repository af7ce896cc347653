"""What every cache must do: subclass `CacheSuite` and give it a `cache` fixture."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from remanence.model.ports.cache import Cache
from remanence.testing.patience import until

TTL_S = 60.0
SHORT_S = 0.05
VALUES = {
    "empty": b"",
    "zeros": b"\x00\x00",
    "protocol": b"$-1\r\n*2\r\n",
    "every byte": bytes(range(256)),
    "not utf-8": b"\xff\xfe\xc3(",
}
NAMES = (
    "",
    " ",
    "a b\tc",
    "line\r\nSET x y\r\n",
    "{tenant}:s:1",
    "{}:empty braces",
    "{open",
    "nul\x00byte",
    "ключ 鍵 🔑",
    "lone \ud800 surrogate",
    "*?[a-z]",
    "long " * 2_000,
)


class CacheSuite:
    """Values by key that come back as they were, until they expire, are removed, or vanish."""

    @pytest.fixture
    def cache(self) -> Iterator[Cache]:
        """The cache under test, with room for 20 MB; a test may close it."""
        raise NotImplementedError("give the suite a `cache` fixture")

    @pytest.fixture
    def prefix(self) -> str:
        """What the keys of one test begin with; a shared cache may hold those of others."""
        return f"{uuid4().hex}:"

    def test_a_value_comes_back(self, cache: Cache, prefix: str) -> None:
        cache.put({f"{prefix}a": b"one"}, TTL_S)
        assert cache.get([f"{prefix}a"]) == [b"one"]

    def test_what_was_never_put_is_none(self, cache: Cache, prefix: str) -> None:
        assert cache.get([f"{prefix}a"]) == [None]

    def test_many_come_in_the_order_asked_and_as_often(self, cache: Cache, prefix: str) -> None:
        values = {f"{prefix}{n}": str(n).encode() for n in range(200)}
        cache.put(values, TTL_S)
        asked = [*reversed(values), f"{prefix}none", f"{prefix}7", f"{prefix}7"]
        assert cache.get(asked) == [values.get(key) for key in asked]

    def test_a_tenant_in_braces_parts_keys_as_any_other_text(
        self, cache: Cache, prefix: str
    ) -> None:
        values = {f"{prefix}{{{t}}}:s:{n}": f"{t}{n}".encode() for t in "abcdef" for n in range(5)}
        cache.put(values, TTL_S)
        assert cache.get(list(values)) == list(values.values())

    def test_nothing_is_no_trouble(self, cache: Cache) -> None:
        cache.put({}, TTL_S)
        cache.remove([])
        assert cache.get([]) == []

    def test_a_later_value_replaces_the_earlier(self, cache: Cache, prefix: str) -> None:
        cache.put({f"{prefix}a": b"one"}, TTL_S)
        cache.put({f"{prefix}a": b"two"}, TTL_S)
        assert cache.get([f"{prefix}a"]) == [b"two"]

    def test_what_is_removed_is_gone_and_the_rest_stays(self, cache: Cache, prefix: str) -> None:
        cache.put({f"{prefix}{name}": b"x" for name in "abc"}, TTL_S)
        cache.remove([f"{prefix}a", f"{prefix}b", f"{prefix}never there"])
        assert cache.get([f"{prefix}{name}" for name in "abc"]) == [None, None, b"x"]

    def test_all_that_begin_so_are_forgotten_and_no_others(self, cache: Cache, prefix: str) -> None:
        mine, others = f"{prefix}{{t[*]}}:s:", f"{prefix}{{t[*]}}:x:"
        cache.put({f"{mine}{n}": b"1" for n in range(50)} | {f"{others}1": b"2"}, 60)
        cache.forget(mine)
        assert cache.get([f"{mine}{n}" for n in range(50)]) == [None] * 50
        assert cache.get([f"{others}1"]) == [b"2"]
        cache.forget(mine)

    def test_a_value_expires(self, cache: Cache, prefix: str) -> None:
        cache.put({f"{prefix}short": b"x"}, SHORT_S)
        cache.put({f"{prefix}long": b"x"}, TTL_S)
        until(lambda: cache.get([f"{prefix}short"]) == [None])
        assert cache.get([f"{prefix}long"]) == [b"x"]

    def test_putting_again_starts_the_time_anew(self, cache: Cache, prefix: str) -> None:
        cache.put({f"{prefix}a": b"x"}, SHORT_S)
        cache.put({f"{prefix}a": b"x"}, TTL_S)
        time.sleep(2 * SHORT_S)  # the first of the two must have passed
        assert cache.get([f"{prefix}a"]) == [b"x"]

    @pytest.mark.parametrize("ttl_s", [0, -1, 1e-6, 1e300, float("inf")])
    def test_any_time_to_live_is_taken(self, cache: Cache, prefix: str, ttl_s: float) -> None:
        cache.put({f"{prefix}a": b"old"}, TTL_S)
        cache.put({f"{prefix}a": b"new"}, ttl_s)
        time.sleep(0.002)  # longer than the shortest of them
        assert cache.get([f"{prefix}a"]) == [b"new" if ttl_s > 1 else None]
        assert cache.stats().healthy

    @pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
    def test_bytes_come_back_as_they_were(self, cache: Cache, prefix: str, value: bytes) -> None:
        cache.put({f"{prefix}a": value}, TTL_S)
        assert cache.get([f"{prefix}a"]) == [value]

    def test_large_values_come_back_whole(self, cache: Cache, prefix: str) -> None:
        values = {f"{prefix}{n}": bytes([n]) * 4_000_000 for n in range(3)}
        cache.put(values, TTL_S)
        assert cache.get(list(values)) == list(values.values())

    def test_odd_keys_are_keys(self, cache: Cache, prefix: str) -> None:
        values = {f"{prefix}{name}": str(n).encode() for n, name in enumerate(NAMES)}
        cache.put(values, TTL_S)
        assert cache.get(list(values)) == list(values.values())
        cache.remove(list(values))
        assert cache.get(list(values)) == [None] * len(values)

    def test_stats_count_hits_and_misses(self, cache: Cache, prefix: str) -> None:
        before = cache.stats()
        cache.put({f"{prefix}a": b"x" * 1_000}, TTL_S)
        cache.get([f"{prefix}a", f"{prefix}b", f"{prefix}a"])
        after = cache.stats()
        assert (after.hits - before.hits, after.misses - before.misses) == (2, 1)
        assert after.healthy
        assert after.detail == ""
        assert after.entries >= 1
        assert after.bytes_used >= 1_000

    def test_a_closed_cache_gives_and_keeps_nothing(self, cache: Cache, prefix: str) -> None:
        cache.put({f"{prefix}a": b"x"}, TTL_S)
        cache.close()
        cache.close()
        cache.put({f"{prefix}b": b"x"}, TTL_S)
        cache.remove([f"{prefix}a"])
        assert cache.get([f"{prefix}a", f"{prefix}b"]) == [None, None]
        assert not cache.stats().healthy
        assert cache.stats().detail

    def test_threads_share_it(self, cache: Cache, prefix: str) -> None:
        def work(thread: int) -> bool:
            for n in range(50):
                own = {f"{prefix}{thread}:{n}": f"{thread}:{n}".encode(), f"{prefix}all": b"same"}
                cache.put(own, TTL_S)
                if cache.get(list(own)) != list(own.values()):
                    return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(8)))
