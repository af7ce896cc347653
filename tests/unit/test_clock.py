"""Time and ids that can be simulated."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from remanence.model.clock import FixedClock, IdMaker, SystemClock

NOW = datetime(2024, 6, 15, tzinfo=UTC)


def test_the_system_clock_carries_a_time_zone() -> None:
    now = SystemClock().now()
    assert now.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - now) < timedelta(minutes=1)


def test_a_fixed_clock_stands_until_it_is_moved() -> None:
    clock = FixedClock(NOW)
    assert clock.now() == clock.now() == NOW
    clock.at += timedelta(days=1)
    assert clock.now() == NOW + timedelta(days=1)


def test_ids_are_version_7_of_the_standard_variant() -> None:
    id = IdMaker(lambda: 1_718_452_800_000)()
    assert id.version == 7
    assert id.variant == "specified in RFC 4122"
    assert id.int >> 80 == 1_718_452_800_000


@given(st.lists(st.integers(0, 2**47), max_size=50), st.binary(min_size=10, max_size=10))
def test_ids_only_grow_however_the_clock_jumps(times: list[int], entropy: bytes) -> None:
    moments = iter(times)
    make = IdMaker(lambda: next(moments), lambda count: entropy[:count])
    ids = [make() for _ in times]
    assert ids == sorted(set(ids))
    assert all(id.version == 7 for id in ids)


def test_threads_never_make_the_same_id() -> None:
    make = IdMaker(lambda: 1, lambda count: bytes(count))
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: make(), range(2_000)))
    assert len(set(made)) == 2_000
