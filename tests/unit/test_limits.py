"""How often a caller may call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from remanence.server.access import limits as module
from remanence.server.access.limits import Limits


@dataclass
class Ticks:
    """A monotonic clock that is moved by hand."""

    at: float = 50.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


def test_a_minutes_calls_pass_and_then_one_a_share_of_it(ticks: Ticks) -> None:
    limits = Limits(60, ticks)
    assert [limits.take("a") for _ in range(60)] == [0.0] * 60
    assert limits.take("a") == pytest.approx(1.0)
    assert limits.take("a") == pytest.approx(1.0), "a call that must wait is not counted"
    ticks.at += 0.25
    assert limits.take("a") == pytest.approx(0.75)
    ticks.at += 0.75
    assert limits.take("a") == 0
    assert limits.take("a") > 0


def test_it_fills_up_to_a_minutes_calls_and_no_further(ticks: Ticks) -> None:
    limits = Limits(6, ticks)
    assert limits.take("a") == 0
    ticks.at += 3_600
    assert sum(limits.take("a") == 0 for _ in range(20)) == 6


def test_each_name_has_its_own(ticks: Ticks) -> None:
    limits = Limits(1, ticks)
    assert limits.take("a") == 0
    assert limits.take("a") == pytest.approx(60)
    assert limits.take("b") == 0


def test_a_key_may_have_a_limit_of_its_own(ticks: Ticks) -> None:
    limits = Limits(1_000, ticks)
    assert [limits.take("a", 2) == 0 for _ in range(3)] == [True, True, False]
    assert Limits(1, ticks).take("b", 2) == 0
    assert sum(limits.take("c", 0) == 0 for _ in range(5_000)) == 5_000


def test_zero_is_no_limit(ticks: Ticks) -> None:
    limits = Limits(0, ticks)
    assert all(limits.take("a") == 0 for _ in range(1_000))
    assert limits._buckets == {}


def test_a_clock_that_goes_back_gives_nothing_away(ticks: Ticks) -> None:
    limits = Limits(1, ticks)
    assert limits.take("a") == 0
    ticks.at -= 30
    assert limits.take("a") == pytest.approx(60)


def test_so_many_names_are_kept(ticks: Ticks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NAMES", 100)
    limits = Limits(1, ticks)
    for n in range(1_000):
        limits.take(f"name {n}")
        limits.take("busy")
    assert len(limits._buckets) == 100
    assert limits.take("busy") > 0, "who calls all the time is never dropped"


@pytest.mark.slow
def test_many_threads_take_no_more_than_there_is(ticks: Ticks) -> None:
    limits = Limits(500, ticks)
    with ThreadPoolExecutor(8) as pool:
        passed = sum(wait == 0 for wait in pool.map(lambda _: limits.take("a"), range(4_000)))
    assert passed == 500
