"""The laws of fading: what time and use do to a memory's strength, and when the rule lets it go."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from remanence.consolidation.retention.steps import (
    ActiveDays,
    Trace,
    allowance,
    calendar_days,
    days_to_fade,
    forgettable,
    forgotten_on,
    reason_of,
    stability,
    strength,
    trace_of,
)
from remanence.errors import InvalidInput
from remanence.model.sleep import ForgetPolicy
from remanence.testing.store_suites.making import memory

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SEED = ForgetPolicy()
EVERY_DAY = ActiveDays(range(40_000))

units = st.floats(0, 1)
days = st.floats(0, 1e6)
uses = st.integers(0, 10**6)
thousandths = st.integers(0, 1_000).map(lambda n: n / 1_000)
policies = st.builds(
    ForgetPolicy,
    daily=thousandths,
    floor=thousandths,
    importance_below=thousandths,
    older_than_days=st.floats(0, 5_000),
    uses_below=st.integers(0, 10),
)


def trace(
    importance: float = 0.05, uses: int = 0, age: float = 0, unused: float | None = None
) -> Trace:
    since = NOW - timedelta(days=age)
    touched = since if unused is None else max(since, NOW - timedelta(days=unused))
    return Trace(importance=importance, uses=uses, since=since, touched=touched)


@settings(deadline=None)
@given(units, days, days, uses, policies)
def test_time_only_weakens(
    importance: float, a: float, b: float, used: int, policy: ForgetPolicy
) -> None:
    early, late = sorted((a, b))
    assert (
        importance
        >= strength(importance, early, used, policy)
        >= strength(importance, late, used, policy)
        >= 0
    )


@settings(deadline=None)
@given(units, days, uses, uses, policies)
def test_use_only_strengthens(
    importance: float, since: float, a: int, b: int, policy: ForgetPolicy
) -> None:
    few, many = sorted((a, b))
    assert strength(importance, since, few, policy) <= strength(importance, since, many, policy)


@settings(deadline=None)
@given(units, uses, policies)
def test_a_use_gives_it_all_its_importance_back(
    importance: float, used: int, policy: ForgetPolicy
) -> None:
    assert strength(importance, 0, used, policy) == importance
    assert strength(importance, -5, used, policy) == importance


def test_the_half_life_grows_by_as_much_with_each_use() -> None:
    for used in range(5):
        assert strength(0.8, 13.513 * (used + 1), used, SEED) == pytest.approx(0.4, abs=1e-3)
    assert stability(10**400) == stability(10**9)
    assert stability(-3) == 1


@pytest.mark.parametrize("since", [float("nan")])
def test_no_number_of_days_is_refused(since: float) -> None:
    with pytest.raises(InvalidInput, match="number of days"):
        strength(0.5, since, 0, SEED)


@pytest.mark.parametrize("importance", [-0.1, 1.1, float("nan"), "much", None, True])
def test_no_importance_is_refused(importance: Any) -> None:
    with pytest.raises(InvalidInput, match="importance"):
        strength(importance, 1, 0, SEED)


def test_endless_days_leave_nothing_or_everything() -> None:
    assert strength(1, float("inf"), 10**12, SEED) == 0
    assert strength(1, float("inf"), 0, ForgetPolicy(daily=1)) == 1
    assert strength(1, 1e-300, 0, ForgetPolicy(daily=0)) == pytest.approx(1, abs=1)


@settings(deadline=None)
@given(units, st.floats(0, 400), st.integers(0, 5), st.floats(0, 400))
@example(0.1, 31, 0, 31)
@example(0.0999, 30, 0, 30)
@example(0.0999, 30.001, 1, 0)
@example(0.0999, 31, 2, 31)
def test_the_rule_of_old(importance: float, age: float, used: int, unused: float) -> None:
    """Importance below 0.1, more than 30 days old, fewer than two uses; nothing else counts."""
    found = trace(importance, used, age, unused)
    older = NOW - found.since > timedelta(days=30)
    expected = importance < 0.1 and older and used < 2
    assert forgettable(found, NOW, SEED, calendar_days) is expected


@settings(deadline=None)
@given(thousandths, st.integers(0, 5), st.floats(0, 400), st.floats(0, 400), policies)
def test_the_day_foretold_is_the_day_it_comes(
    importance: float, used: int, age: float, unused: float, policy: ForgetPolicy
) -> None:
    found = trace(importance, used, age, unused)
    on = forgotten_on(found, NOW, policy, calendar_days)
    far = datetime(9000, 1, 1, tzinfo=UTC)
    if on is None:
        assert not forgettable(found, far, policy, calendar_days)
        return
    assume(on.year < 9000)
    midnight = datetime.combine(on, datetime.min.time(), UTC)
    assert forgettable(found, midnight + timedelta(days=1, seconds=1), policy, calendar_days)
    if on > NOW.date():
        before = midnight - timedelta(seconds=1)
        assert not forgettable(found, before, policy, calendar_days)


@pytest.mark.parametrize(
    "policy",
    [
        ForgetPolicy(floor=0, importance_below=1),
        ForgetPolicy(daily=1, importance_below=1),
        ForgetPolicy(importance_below=0.5),
        ForgetPolicy(importance_below=1, uses_below=1),
        ForgetPolicy(importance_below=1, older_than_days=float("inf")),
        ForgetPolicy(importance_below=1, older_than_days=1e300),
        ForgetPolicy(importance_below=1, daily=0.9999999999999999),
    ],
)
def test_what_is_never_forgotten(policy: ForgetPolicy) -> None:
    assert forgotten_on(trace(0.6, 1, 3), NOW, policy, calendar_days) is None


def test_what_fades_at_once_waits_for_its_age_alone() -> None:
    policy = ForgetPolicy(daily=0, importance_below=1)
    assert days_to_fade(0.6, 0, policy) == 0
    assert forgotten_on(trace(0.6, 0, 3), NOW, policy, calendar_days) == date(2026, 3, 28)


@settings(deadline=None)
@given(st.integers(-4_000, -1), policies)
def test_what_is_of_the_future_is_not_forgotten(age: int, policy: ForgetPolicy) -> None:
    found = trace(0.0, 0, age)
    assert not forgettable(found, NOW, policy, calendar_days)
    assert not forgettable(found, NOW, policy, EVERY_DAY)
    on = forgotten_on(found, NOW, policy, calendar_days)
    assert on is None or on >= found.since.date()


def test_times_that_count() -> None:
    old = NOW - timedelta(days=4_000)
    imported = memory("import", happened_at=old, created_at=NOW, updated_at=NOW)
    assert trace_of(imported).since == NOW
    planned = memory("plan", happened_at=NOW, created_at=old, updated_at=old)
    assert trace_of(planned).since == NOW
    revived = memory("revived", happened_at=old, created_at=old, updated_at=NOW)
    assert trace_of(revived).since == NOW
    used = memory("used", happened_at=old, created_at=old, updated_at=old, uses=1, used_at=NOW)
    assert (trace_of(used).since, trace_of(used).touched) == (old, NOW)


def number(day: date) -> int:
    return (day - date(1970, 1, 1)).days


def test_active_days_are_those_after_the_first_up_to_the_last() -> None:
    written = ActiveDays([number(date(2026, 2, day)) for day in (1, 3, 3, 10, 20)])
    start = datetime(2026, 2, 1, 9, tzinfo=UTC)
    assert written(start, start + timedelta(hours=1)) == 0
    assert written(start, datetime(2026, 2, 3, tzinfo=UTC)) == 1
    assert written(start, NOW) == 3
    assert written(NOW, start) == 0
    assert ActiveDays([])(start, NOW) == 0


@settings(deadline=None)
@given(st.sets(st.integers(20_000, 21_000)), st.floats(0, 900), st.floats(0, 900))
def test_active_days_are_never_more_than_days(written: set[int], a: float, b: float) -> None:
    start, end = (NOW - timedelta(days=n) for n in sorted((a, b), reverse=True))
    counted = ActiveDays(written)(start, end)
    assert 0 <= counted <= calendar_days(start, end) + 1


def test_who_was_away_forgets_nothing_meanwhile() -> None:
    found = trace(0.05, 0, 400)
    policy = ForgetPolicy(active_days=True)
    first = number(found.since.date())
    away = ActiveDays([first])
    assert not forgettable(found, NOW, policy, away)
    assert forgotten_on(found, NOW, policy, away) == date(2026, 4, 1)
    assert forgettable(found, NOW, policy, ActiveDays(range(first, first + 32)))
    assert not forgettable(found, NOW, policy, ActiveDays(range(first, first + 31)))
    assert "active days" in reason_of(found, NOW, policy, away)


def test_a_share_rounds_up_and_none_is_none() -> None:
    given = [(0.02, 100), (0.07, 100), (0.02, 1), (0.02, 51), (0, 10**9), (1, 7)]
    assert [allowance(*one) for one in given] == [2, 7, 1, 2, 0, 7]
