"""Times are told as exactly as they are known and no more; plans, events and births are no ends."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from remanence.knowledge.belief import believe
from remanence.language.english.extraction.reading import read
from remanence.language.english.extraction.statement import NamedEntity, Statement
from remanence.model.knowledge import Claim, EntityType, Fact, Standing, Timespan, entity_id

# A Monday.
AT = datetime(2023, 6, 12, 15, tzinfo=UTC)
ANA = NamedEntity("Ana", EntityType.PERSON)


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


def stated(text: str) -> list[Statement]:
    return list(read(text, speaker=ANA, at=AT, all=True).statements)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I moved to Rome around 2016", "since about 2016"),
        ("I moved to Rome about May 2019", "since about 2019-05"),
        ("I moved to Rome three weeks ago", "since about 2023-05-22"),
        ("I moved to Rome about three weeks ago", "since about 2023-05-22"),
        ("I moved to Rome a few years ago", "began between 2016 and 2022"),
        ("I moved to Rome last month", "since 2023-05"),
        ("I moved to Rome last week", "since the week of 2023-06-05"),
        ("We moved to Rome that week", ""),
        ("I've lived in Rome since around 2016", "since about 2016"),
        ("I lived in Rome from 2021 to 2022 with my sister", "since 2021 until 2022"),
        ("I lived in Rome from 2021", "since 2021 ended before 2023-06-12"),
        ("I lived in Rome before 2016", "ended before 2016"),
        ("I used to live in Rome", "ended before 2023-06-12"),
        ("I used to live in Rome until around 2016", "until about 2016"),
        ("I plan to visit Rome this weekend", "planned for the weekend of 2023-06-17"),
        ("I plan to visit Rome next month", "planned for 2023-07"),
        ("I want to visit Rome next year", "planned for 2024"),
        ("I finished the marathon before 2020", "before 2020"),
        ("I refilled his medication on the 12th of last month", "2023-05-12"),
        ("She recommended the soup on a Saturday morning", ""),
        ("I visited the Summer Fest in Rome", ""),
        ("Lena works at Acme, by the end of this month", ""),
    ],
)
def test_what_a_sentence_says_of_time(text: str, told: str) -> None:
    assert {one.when for one in stated(text)} | {""} == {told, ""}


@pytest.mark.parametrize(
    ("text", "on"),
    [
        ("My daughter Lena was born in May 2020", "May 2020"),
        ("My daughter Lena was born on 20 May", "20 May"),
        ("My daughter Lena was born on May 20, 2020", "20 May 2020"),
    ],
)
def test_a_birth_has_its_own_day_and_begins_no_state(text: str, on: str) -> None:
    found = {one.predicate: one for one in stated(text)}
    assert found["born on"].value == on
    assert all(one.when == "" for one in found.values())


def fact(said: Statement, now: datetime = AT) -> Fact:
    claim = Claim(
        id="1", subject=entity_id(None, "Ana"), predicate=said.predicate, value=said.value,
        text="", kind=said.kind, observed_at=AT, recorded_at=AT, began=said.began, ended=said.ended,
    )  # fmt: skip
    [found] = believe([claim], names={}, now=now)
    return found


def test_what_began_around_a_year_holds_after_it_and_is_not_denied_in_it() -> None:
    [lives] = stated("I moved to Rome around 2016")
    assert all(
        fact(lives).holds_at(day(text)) for text in ("2016-01-01", "2017-01-01", "2020-01-01")
    )
    assert not fact(lives).holds_at(day("2015-01-01"))


def test_a_plan_holds_until_its_time_is_over() -> None:
    [plan] = stated("I plan to visit Rome this weekend")
    assert fact(plan, day("2023-06-18")).standing is Standing.HOLDS
    assert fact(plan, day("2023-06-19")).standing is Standing.ENDED
    assert fact(plan).when == "planned for the weekend of 2023-06-17"


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
