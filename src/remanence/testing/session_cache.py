"""What every session cache must do: subclass `SessionCacheSuite`, give it a `cache` fixture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from remanence.model.clock import IdMaker
from remanence.model.memory import Kind, MemoryRecord
from remanence.model.ports.session_cache import (
    LISTED,
    UNKNOWN,
    SessionCache,
    SessionCopy,
    SessionKey,
)
from remanence.model.session import Session

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
TTL_S = 60.0
# Names that would be another's key, or another command, if they were put into keys as they are.
NAMES = (
    "plain",
    "a:b",
    "a",
    ":",
    "::",
    "{",
    "}",
    "{}",
    "{a}",
    "a}:session",
    "%",
    "%3A",
    "a%3Ab",
    "*",
    "?[a-z]*",
    "session",
    "history",
    "active",
    "naïve 鍵 🔑",
    "x" * 256,
)
DATA: dict[str, Any] = {
    "empty": {},
    "nested": {"a": {"b": [1, 2.5, None, True, {"c": "d"}]}},
    "protocol": {"a": "$-1\r\n*2\r\n"},
    "unicode": {"naïve": "鍵 🔑 \u202e"},
    "numbers": {"big": 2**63 - 1, "small": -(2**63) + 1, "tiny": 5e-324, "huge": 1.7e308},
    "large": {"text": "x" * 60_000},
}

new_id = IdMaker()


def copy_of(key: SessionKey, **fields: Any) -> SessionCopy:
    """A copy of this session; fields of the session or of the copy."""
    own: dict[str, Any] = {"run": "r", "edition": 1, "ttl_s": TTL_S}
    own |= {name: fields.pop(name) for name in own if name in fields}
    given: dict[str, Any] = {"data": {"a": 1}, "version": 1, "expires_at": NOW + 60 * SECOND}
    given |= {"created_at": NOW, "active_at": NOW} | fields
    session = Session(id=key.session_id, user_id=key.user_id, **given)
    return SessionCopy(session=session, verified=NOW, **own)


def said(key: SessionKey, text: str, second: int = 0, **fields: Any) -> MemoryRecord:
    """A message of this session."""
    times = dict.fromkeys(("happened_at", "created_at", "updated_at"), NOW + second * SECOND)
    return MemoryRecord(
        id=str(new_id()),
        text=text,
        tenant=key.tenant,
        user_id=key.user_id,
        session_id=key.session_id,
        kind=Kind.MESSAGE,
        **(times | fields),
    )


def push(cache: SessionCache, key: SessionKey, messages: Sequence[MemoryRecord]) -> None:
    """Push messages that the store has, by what is known of the list now."""
    cache.push(key, messages, mark=cache.last(key, 1).mark, ttl_s=TTL_S)


class SessionCacheSuite:
    """Copies that come back as they were or not at all, never older ones over newer ones."""

    @pytest.fixture
    def cache(self) -> Iterator[SessionCache]:
        """The cache under test; a test may close it."""
        raise NotImplementedError("give the suite a `cache` fixture")

    @pytest.fixture
    def key(self) -> SessionKey:
        """A session of a store of its own; a shared cache may hold those of others."""
        return SessionKey(store=uuid4().hex, tenant="t", user_id="u", session_id="s")

    @pytest.mark.parametrize("data", DATA.values(), ids=DATA)
    def test_a_copy_comes_back_as_it_was(
        self, cache: SessionCache, key: SessionKey, data: dict[str, Any]
    ) -> None:
        copy = copy_of(key, data=data, agent_id="a", version=7, edition=9, ended_at=NOW)
        assert cache.load(key) is None
        cache.keep(key, copy)
        assert cache.load(key) == copy

    def test_names_part_what_is_kept(self, cache: SessionCache, key: SessionKey) -> None:
        users = [None, *NAMES]
        keys = [
            SessionKey(store=key.store, tenant=tenant, user_id=user, session_id=name)
            for tenant in ("a", "a:b", "{a}", "a%3Ab")
            for user in users[:8]
            for name in NAMES[:12]
        ]
        keys += [
            SessionKey(store=key.store, tenant=name, user_id=name, session_id=name)
            for name in NAMES
        ]
        keys = list(dict.fromkeys(keys))
        for n, one in enumerate(keys):
            cache.keep(one, copy_of(one, data={"n": n}))
            push(cache, one, [said(one, "never listed")])
            cache.fill(one, [said(one, str(n))], mark=1, ttl_s=TTL_S, at=NOW)
        for n, one in enumerate(keys):
            found = cache.load(one)
            assert found is not None
            assert found.session.data == {"n": n}
            assert [message.text for message in _messages(cache, one)] == [str(n)]
        cache.remove(keys[::2])
        assert [cache.load(one) is None for one in keys] == [n % 2 == 0 for n in range(len(keys))]

    def test_one_store_does_not_see_another(self, cache: SessionCache, key: SessionKey) -> None:
        cache.keep(key, copy_of(key))
        assert cache.load(replace(key, store=uuid4().hex)) is None

    def test_an_older_edition_does_not_replace_a_newer(
        self, cache: SessionCache, key: SessionKey
    ) -> None:
        cache.keep(key, copy_of(key, edition=10))
        cache.keep(key, copy_of(key, edition=9, data={"a": "old"}))
        assert cache.load(key) == copy_of(key, edition=10)
        cache.keep(key, copy_of(key, edition=11))
        assert cache.load(key) == copy_of(key, edition=11)

    def test_one_that_was_seen_to_be_wrong_gives_way(
        self, cache: SessionCache, key: SessionKey
    ) -> None:
        wrong = copy_of(key, edition=10, run="other")
        cache.keep(key, wrong)
        cache.keep(key, copy_of(key, edition=2), seen=wrong)
        assert cache.load(key) == copy_of(key, edition=2)
        cache.keep(key, copy_of(key, edition=1, data={}), seen=wrong)
        assert cache.load(key) == copy_of(key, edition=2)

    def test_copies_of_two_lives_are_not_compared(
        self, cache: SessionCache, key: SessionKey
    ) -> None:
        cache.keep(key, copy_of(key, edition=10))
        cache.keep(key, copy_of(key, edition=1, run="new"))
        assert cache.load(key) is None
        cache.keep(key, copy_of(key, edition=1, run="new"))
        assert cache.load(key) == copy_of(key, edition=1, run="new")

    def test_what_was_removed_does_not_come_back_with_a_late_writer(
        self, cache: SessionCache, key: SessionKey
    ) -> None:
        cache.keep(key, copy_of(key))
        mark = cache.last(key, 10).mark
        cache.remove([key])
        cache.keep(key, copy_of(key, edition=2))
        push(cache, key, [said(key, "late")])
        cache.fill(key, [said(key, "late")], mark=mark, ttl_s=TTL_S, at=NOW)
        assert cache.load(key) is None
        assert cache.last(key, 10).messages is None

    def test_messages_come_back_as_they_were(self, cache: SessionCache, key: SessionKey) -> None:
        messages = [
            said(key, "hello", 1, role="user", speaker="Ana", metadata={"a": [1, None]}),
            said(key, "鍵\r\n", 2, agent_id="a", source="x", importance=0.25, uses=3, used_at=NOW),
        ]
        cache.fill(key, messages, mark=0, ttl_s=TTL_S, at=NOW)
        listed = cache.last(key, 10)
        assert listed.messages == tuple(messages)
        assert listed.verified == NOW

    def test_without_a_list_nothing_is_known(self, cache: SessionCache, key: SessionKey) -> None:
        push(cache, key, [said(key, "the first that this cache hears of")])
        assert cache.last(key, 10).messages is None

    def test_what_is_pushed_comes_last(self, cache: SessionCache, key: SessionKey) -> None:
        cache.fill(key, [said(key, "one", 1)], mark=0, ttl_s=TTL_S, at=NOW)
        push(cache, key, [said(key, "two", 2), said(key, "three", 2)])
        assert [one.text for one in _messages(cache, key)] == ["one", "two", "three"]
        assert [one.text for one in _messages(cache, key, 2)] == ["two", "three"]

    def test_the_last_hundred_stay(self, cache: SessionCache, key: SessionKey) -> None:
        cache.fill(key, [said(key, str(n), n) for n in range(150)], mark=0, ttl_s=TTL_S, at=NOW)
        push(cache, key, [said(key, str(n), n) for n in range(150, 400)])
        push(cache, key, [said(key, "400", 400)])
        expected = [str(n) for n in range(301, 401)]
        assert [one.text for one in _messages(cache, key, LISTED)] == expected

    def test_what_is_pushed_twice_is_there_once_or_not_known(
        self, cache: SessionCache, key: SessionKey
    ) -> None:
        cache.fill(key, [said(key, "one", 1)], mark=0, ttl_s=TTL_S, at=NOW)
        again = said(key, "two", 2)
        push(cache, key, [again])
        push(cache, key, [again])
        assert [one.text for one in _messages(cache, key, 10)] == ["one", "two"]
        assert cache.last(key, 3).messages is None

    def test_a_message_from_before_ends_the_list(
        self, cache: SessionCache, key: SessionKey
    ) -> None:
        for late in ([said(key, "late", 1)], [said(key, "four", 4), said(key, "late", 3)]):
            mark = cache.last(key, 10).mark
            cache.fill(key, [said(key, "two", 2)], mark=mark, ttl_s=TTL_S, at=NOW)
            assert cache.last(key, 10).messages is not None
            push(cache, key, late)
            assert cache.last(key, 10).messages is None

    def test_a_list_read_before_a_push_is_not_filled_after_it(
        self, cache: SessionCache, key: SessionKey
    ) -> None:
        mark = cache.last(key, 10).mark
        push(cache, key, [said(key, "two", 2)])
        cache.fill(key, [said(key, "one", 1)], mark=mark, ttl_s=TTL_S, at=NOW)
        assert cache.last(key, 10).messages is None

    def test_a_list_read_before_it_was_forgotten_is_not_filled_after_it(
        self, cache: SessionCache, key: SessionKey
    ) -> None:
        cache.keep(key, copy_of(key))
        mark = cache.last(key, 10).mark
        cache.fill(key, [said(key, "one")], mark=mark, ttl_s=TTL_S, at=NOW)
        cache.forget([key])
        assert cache.last(key, 10).messages is None
        cache.fill(key, [said(key, "one")], mark=mark, ttl_s=TTL_S, at=NOW)
        assert cache.last(key, 10).messages is None
        assert cache.load(key) == copy_of(key)

    @pytest.mark.parametrize("unknown", [False, True])
    def test_a_push_that_was_overtaken_ends_the_list(
        self, cache: SessionCache, key: SessionKey, unknown: bool
    ) -> None:
        cache.fill(key, [said(key, "one", 1)], mark=0, ttl_s=TTL_S, at=NOW)
        before = cache.last(key, 1).mark
        cache.forget([key])
        now = cache.last(key, 1).mark
        cache.fill(key, [said(key, "one", 1)], mark=now, ttl_s=TTL_S, at=NOW)
        assert cache.last(key, 10).messages is not None
        late = UNKNOWN if unknown else before
        cache.push(key, [said(key, "erased meanwhile", 2)], mark=late, ttl_s=TTL_S)
        assert cache.last(key, 10).messages is None

    def test_an_endless_message_is_not_kept_at_hand(
        self, cache: SessionCache, key: SessionKey
    ) -> None:
        cache.fill(key, [said(key, "one")], mark=0, ttl_s=TTL_S, at=NOW)
        push(cache, key, [said(key, "x" * 1_000_000, 1)])
        listed = cache.last(key, 10)
        assert listed.messages is None
        endless = [said(key, "x" * 1_000_000)]
        cache.fill(key, endless, mark=listed.mark, ttl_s=TTL_S, at=NOW)
        assert cache.last(key, 10).messages is None

    def test_it_knows_when_each_was_last_used(self, cache: SessionCache, key: SessionKey) -> None:
        other, ended, never = (replace(key, session_id=name) for name in ("o:o", "e", "n"))
        for one in (key, other):
            cache.keep(one, copy_of(one))
        cache.keep(ended, copy_of(ended))
        cache.keep(ended, copy_of(ended, ended_at=NOW, edition=2))
        cache.touch(other, TTL_S, NOW + 5 * SECOND)
        asked = [key, other, ended, never]
        assert cache.used(asked) == [NOW, NOW + 5 * SECOND, None, None]
        assert cache.used([replace(one, tenant="another") for one in asked]) == [None] * 4
        assert cache.used([]) == []

    def test_a_sweep_strikes_only_those_that_are_gone(
        self, cache: SessionCache, key: SessionKey
    ) -> None:
        keys = [replace(key, session_id=f"{{s:{n}}}") for n in range(1_200)]
        for n, one in enumerate(keys):
            if n % 3 == 0:
                cache.keep(one, copy_of(one))
            else:
                cache.touch(one, TTL_S, NOW)
        assert cache.sweep(key.store, "another") == 0
        assert cache.sweep(key.store, key.tenant) == 800
        assert cache.sweep(key.store, key.tenant) == 0
        assert cache.used(keys) == [NOW if n % 3 == 0 else None for n in range(1_200)]

    def test_a_closed_cache_gives_and_keeps_nothing(
        self, cache: SessionCache, key: SessionKey
    ) -> None:
        cache.keep(key, copy_of(key))
        cache.close()
        cache.close()
        cache.keep(key, copy_of(key))
        cache.touch(key, TTL_S, NOW)
        push(cache, key, [said(key, "x")])
        cache.fill(key, [said(key, "x")], mark=0, ttl_s=TTL_S, at=NOW)
        cache.forget([key])
        cache.remove([key])
        assert cache.load(key) is None
        assert cache.last(key, 10).messages is None
        assert cache.used([key]) == [None]
        assert cache.sweep(key.store, key.tenant) == 0
        assert not cache.stats().healthy

    def test_of_many_writers_the_newest_edition_stays(
        self, cache: SessionCache, key: SessionKey
    ) -> None:
        def work(writer: int) -> None:
            for n in range(50):
                edition = n * 8 + writer + 1
                cache.keep(key, copy_of(key, edition=edition, version=edition))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        found = cache.load(key)
        assert found is not None
        assert (found.edition, found.session.version) == (400, 400)


def _messages(cache: SessionCache, key: SessionKey, limit: int = 10) -> tuple[MemoryRecord, ...]:
    found = cache.last(key, limit).messages
    assert found is not None
    return found
