"""Cron expressions: what is read, what is refused, and the moments they name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.consolidation.schedules.plans import Cron
from remanence.errors import InvalidInput

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def moments(cron: Cron, since: datetime, count: int) -> list[str]:
    found = []
    for _ in range(count):
        following = cron.after(since)
        assert following is not None
        since = following
        found.append(f"{since:%m-%d %H:%M}")
    return found


def test_moments_come_in_order() -> None:
    assert moments(Cron("30 3 * * *"), NEW_YEAR, 2) == ["01-01 03:30", "01-02 03:30"]
    assert moments(Cron("0 4 * * 0"), NEW_YEAR, 2) == ["01-04 04:00", "01-11 04:00"]
    assert moments(Cron("*/20 9-10 * * MON-FRI"), NEW_YEAR, 2) == ["01-01 09:00", "01-01 09:20"]


def test_a_moment_itself_is_the_latest_and_not_the_next() -> None:
    hourly = Cron("0 * * * *")
    assert hourly.latest(NEW_YEAR) == NEW_YEAR
    assert hourly.latest(NEW_YEAR - timedelta(microseconds=1)) == NEW_YEAR - timedelta(hours=1)
    assert hourly.latest(NEW_YEAR + timedelta(microseconds=1)) == NEW_YEAR
    assert hourly.after(NEW_YEAR) == NEW_YEAR + timedelta(hours=1)


@pytest.mark.parametrize(
    "expression",
    ["", "* * * *", "0 0 0 * * *", "61 * * * *", "* 24 * * *", "0 0 30 2 *", "a b c d e", "@daily"],
)
def test_what_cannot_be_read_is_refused_with_an_example(expression: str) -> None:
    with pytest.raises(InvalidInput, match="30 3"):
        Cron(expression)


def test_a_moment_that_never_comes_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no moment"):
        Cron("* * */20 * 1L")


def test_a_zone_nobody_knows_is_refused() -> None:
    for zone in ("Mars/Olympus", "../etc/passwd", ""):
        with pytest.raises(InvalidInput, match="Europe/Lisbon"):
            Cron("0 0 * * *", zone)


def test_where_clocks_change_every_day_has_its_moment() -> None:
    berlin = Cron("30 2 * * *", "Europe/Berlin")
    assert moments(berlin, datetime(2026, 3, 28, tzinfo=UTC), 3) == [
        "03-28 01:30",
        "03-29 01:00",  # 02:30 is skipped that night: right after the gap
        "03-30 00:30",
    ]
    assert moments(berlin, datetime(2026, 10, 24, tzinfo=UTC), 3) == [
        "10-24 00:30",
        "10-25 00:30",  # 02:30 is there twice: the first one
        "10-26 01:30",
    ]


@given(
    expression=st.sampled_from(
        ["0 * * * *", "30 2 * * *", "*/7 1-3 * * *", "15 2 * * 0", "0 0 1 * *", "*/30 * * * *"]
    ),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
    minutes=st.integers(0, 2 * 366 * 24 * 60),
)
def test_the_latest_and_the_next_have_no_moment_between_them(
    expression: str, zone: str, minutes: int
) -> None:
    cron, now = Cron(expression, zone), NEW_YEAR + timedelta(minutes=minutes, seconds=17)
    latest, following = cron.latest(now), cron.after(now)
    assert latest is not None
    assert following is not None
    assert latest <= now < following
    assert cron.after(latest) == following
    assert cron.after(latest - timedelta(seconds=1)) == latest
