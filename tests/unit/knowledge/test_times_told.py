"""Times are told as exactly as they are known and no more; plans, events and births are no ends."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from remanence.knowledge.belief import believe
from remanence.model.knowledge import Claim, Timespan, entity_id

# A Monday.
AT = datetime(2023, 6, 12, 15, tzinfo=UTC)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "told"),
    [
        ("2023-05-07", "2023-05-07", "2023-05-07"),
        ("2023-05-07", "2023-05-08", "2023-05-07"),
        ("2023-05-06", "2023-05-08", "the weekend of 2023-05-06"),
        ("2023-05-09", "2023-05-12", "between 2023-05-09 and 2023-05-11"),
        ("2023-05-01", "2023-05-08", "the week of 2023-05-01"),
        ("2023-05-03", "2023-05-12", "about 2023-05-07"),
        ("2023-05-01", "2023-06-01", "2023-05"),
        ("2023-04-16", "2023-06-16", "about 2023-05"),
        ("2023-06-01", "2023-09-01", "between 2023-06 and 2023-08"),
        ("2022-11-10", "2023-04-10", "between 2022-11 and 2023-04"),
        ("2016-01-01", "2017-01-01", "2016"),
        ("2015-10-02", "2017-04-02", "about 2016"),
        ("1990-01-01", "2000-01-01", "between 1990 and 1999"),
        ("2016-11-10", "2022-03-01", "between 2016 and 2022"),
        (None, "2023-05-07", "before 2023-05-07"),
        (None, "2016-01-01", "before 2016"),
        ("2023-06-01", None, "after 2023-05-31"),
        (None, None, "some time"),
    ],
)
def test_a_time_is_told_as_exactly_as_it_is_known(
    start: str | None, end: str | None, told: str
) -> None:
    when = Timespan(start=start and day(start), end=end and day(end))
    assert str(when) == told


def test_what_was_replaced_ended_by_the_day_that_was_said() -> None:
    old = Claim(
        id="1", subject=entity_id(None, "Ana"), predicate="lives in", value="Bonn", text="",
        observed_at=day("2023-01-02"), recorded_at=day("2023-01-02"),
    )  # fmt: skip
    new = Claim(
        id="2", subject=entity_id(None, "Ana"), predicate="lives in", value="Rome", text="",
        observed_at=AT, recorded_at=AT,
    )  # fmt: skip
    assert [one.when for one in believe([old, new], names={}, now=AT)] == [
        "ended by 2023-06-12",
        "",
    ]
