"""Sessions without a store: sizes, times, the belief in clocks, and copies as fields."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.backends.cache.redis_sessions import (
    FIELDS,
    moment,
    read_message,
    read_moment,
    read_session,
    write_message,
    write_session,
)
from remanence.config import load_settings
from remanence.config.assembly.stores import make_session_cache
from remanence.errors import InvalidInput
from remanence.layers.sessions.sessions import Nowhere
from remanence.layers.sessions.storage import _count_after, doubt, due, was_ahead
from remanence.model.ports.session_cache import SessionCache, SessionKey
from remanence.model.session import MAX_DATA, check_size, data_of, later, ttl_of, value_of
from remanence.testing.session_cache import NOW, copy_of, said

DAY = timedelta(days=1)
KEY = SessionKey(store="x", tenant="t", user_id="u", session_id="s")
names = st.text(
    st.characters(categories=("L", "N", "P", "S"), exclude_characters="\x00"),
    min_size=1,
    max_size=20,
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=10,
)


def put_at(days_ago: list[float]) -> Callable[[int], datetime | None]:
    times = sorted((NOW - DAY * days for days in days_ago), reverse=True)
    return lambda n: times[n] if n < len(times) else None


@given(st.lists(st.integers(-50, 50), max_size=40), st.integers(-60, 60))
def test_counting_by_halves_counts_right(days: list[int], since: int) -> None:
    moments = [NOW - DAY * n for n in days]
    found = _count_after(NOW - DAY * since, put_at([float(n) for n in days]))
    assert found == sum(at > NOW - DAY * since for at in moments)


@pytest.mark.parametrize(
    "days_ago",
    [
        [],
        [0],
        [0, 100, 300],
        [10, 20, 300],
        [0, 400],
        [5, 300, 500, 700, 900],
        [-3650, -3651, 0],
    ],
)
def test_a_clock_that_fits_what_was_put_is_believed(days_ago: list[float]) -> None:
    assert doubt(NOW, put_at(days_ago)) is None


@pytest.mark.parametrize(
    "days_ago", [[400], [3650, 3651], [0, 3650], [0, 1, 2, 3650], [-1, 3650], [400, 800]]
)
def test_a_clock_that_does_not_is_not(days_ago: list[float]) -> None:
    assert doubt(NOW, put_at(days_ago)) == NOW - DAY * min(n for n in days_ago if n > 366)


@pytest.mark.parametrize(
    ("days_ago", "years", "ahead"),
    [
        ([-3650, *range(10)], 10, True),
        ([-3650, *range(9)], 10, False),
        ([-3650, -3651, *range(20)], 10, True),
        ([-3650, -3651, *range(19)], 10, False),
        ([-3650, *range(10)], 1, False),
        ([-3650], 10, False),
        ([*(-3650 - n for n in range(20)), 0, 1], 10, False),
    ],
)
def test_an_end_is_from_a_wrong_clock_where_nearly_all_was_put_before(
    days_ago: list[float], years: int, ahead: bool
) -> None:
    assert was_ahead(NOW + years * 366 * DAY + DAY, 86_400, NOW, put_at(days_ago)) is ahead


def test_a_refresh_is_due_after_one_percent_of_a_life() -> None:
    end = NOW + DAY
    assert not due(NOW, end, 86_400, NOW)
    assert not due(NOW, end, 86_400, NOW + DAY / 100)
    assert due(NOW, end, 86_400, NOW + DAY / 99)
    assert not due(NOW, end, 86_400, NOW - 3650 * DAY)
    assert due(NOW - 3650 * DAY, end, 86_400, NOW)


@pytest.mark.parametrize("seconds", [1.0, 366 * 86_400.0])
def test_the_end_of_time_is_no_error(seconds: float) -> None:
    assert later(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), seconds).year == 9999
    assert later(NOW, seconds) == NOW + timedelta(seconds=seconds)


def test_sizes_are_told_to_the_byte() -> None:
    exact = {"a": "x" * (MAX_DATA - 8)}
    assert data_of("data", exact) == exact
    with pytest.raises(InvalidInput, match=r"data takes 65,537 bytes .* 65,536 fit: 1 too many"):
        data_of("data", {"a": "x" * (MAX_DATA - 7)})
    with pytest.raises(InvalidInput, match="2 too many"):
        check_size("it", "é" * 5, 10)


def test_what_is_refused_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"data\['a'\]\['b'\] is a set"):
        data_of("data", {"a": {"b": {1}}})
    with pytest.raises(InvalidInput, match="data must be a mapping, not list"):
        data_of("data", [])
    deep: Any = 1
    for _ in range(9):
        deep = [deep]
    with pytest.raises(InvalidInput, match=r"value of 'k'.* is nested deeper than 8"):
        value_of("k", deep)
    assert data_of("data", None) == {}


@given(json_values)
def test_json_comes_through_unchanged_and_copied(value: Any) -> None:
    kept = value_of("k", value)
    assert kept == value
    assert kept is not value or not isinstance(value, list | dict)


@pytest.mark.parametrize("value", [0, -1, 0.99, 1e9, "60", True, float("nan"), float("inf")])
def test_a_time_to_live_is_a_number_of_seconds(value: Any) -> None:
    with pytest.raises(InvalidInput, match="ttl_s"):
        ttl_of(value, 60)
    assert ttl_of(None, 60) == 60


@pytest.mark.slow
@given(st.dictionaries(names, json_values, max_size=4), names, names, st.none() | names)
def test_a_copy_survives_as_fields(
    data: dict[str, Any], tenant: str, session: str, user: str | None
) -> None:
    key = SessionKey(store="x", tenant=tenant, user_id=user, session_id=session)
    copy = copy_of(key, data=data, agent_id=user, ended_at=None, ttl_s=0.1 + 0.2)
    written = write_session(key, copy)
    assert tuple(written) == FIELDS
    assert read_session(key, list(written.values())) == copy


@given(st.lists(st.none() | st.binary(max_size=30), min_size=len(FIELDS), max_size=len(FIELDS)))
def test_fields_that_nobody_wrote_are_refused(values: list[bytes | None]) -> None:
    with pytest.raises(ValueError):
        read_session(KEY, values)


@given(st.integers(0, len(FIELDS) - 1), st.none() | st.binary(max_size=30))
def test_one_wrong_field_is_refused_or_harmless(place: int, value: bytes | None) -> None:
    values: list[bytes | None] = list(write_session(KEY, copy_of(KEY)).values())
    values[place] = value
    try:
        found = read_session(KEY, values)
    except ValueError:
        return
    assert (found.session.id, found.session.user_id) == ("s", "u")


@given(st.text(max_size=50).filter(lambda text: text.isprintable()), json_values)
def test_a_message_survives_as_json(text: str, value: Any) -> None:
    message = said(KEY, text, speaker="Ana", metadata={"value": value})
    assert read_message(KEY, write_message(message)) == message


@given(st.binary(max_size=50) | st.just(b"[]") | st.just(b'{"id": 1}'))
def test_a_message_that_nobody_wrote_is_refused(value: bytes) -> None:
    with pytest.raises(ValueError):
        read_message(KEY, value)


def test_a_message_of_another_is_refused() -> None:
    for other in (
        SessionKey(store="x", tenant="t", user_id="u", session_id="other"),
        SessionKey(store="x", tenant="t", user_id=None, session_id="s"),
        SessionKey(store="x", tenant="other", user_id="u", session_id="s"),
    ):
        with pytest.raises(ValueError):
            read_message(KEY, write_message(said(other, "theirs")))


def test_moments_sort_as_text() -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    moments = [
        datetime(1, 1, 2, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        NOW,
        NOW + timedelta(microseconds=1),
        (NOW + timedelta(seconds=1)).astimezone(zone),
        datetime(9999, 12, 30, tzinfo=UTC),
    ]
    written = [moment(at) for at in moments]
    assert written == sorted(written)
    assert [read_moment(one.decode()) for one in written] == moments


@pytest.mark.parametrize(
    ("url", "kind"), [("", None), ("local", None), ("redis://127.0.0.1:1", "RedisSessionCache")]
)
def test_the_settings_choose_the_cache(url: str, kind: str | None) -> None:
    made = make_session_cache(load_settings({"cache_url": url}))
    assert (None if made is None else type(made).__name__) == kind


def test_nowhere_is_a_cache_that_keeps_nothing() -> None:
    cache: SessionCache = Nowhere()
    cache.keep(KEY, copy_of(KEY))
    cache.fill(KEY, [said(KEY, "x")], mark=0, ttl_s=1, at=NOW)
    assert cache.load(KEY) is None
    assert cache.last(KEY, 1).messages is None
    assert cache.used([KEY]) == [None]
    assert cache.sweep("x", "t") == 0
    assert cache.stats().healthy
