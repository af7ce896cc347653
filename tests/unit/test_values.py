"""Values that texts state, and which of them a question asks for."""

from __future__ import annotations

import pytest

from remanence.language.english.values import asked_units, says_change, values


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("My budget went up to $1,650 a month", "$", "1650"),
        ("the suite covers 78% of it", "%", "78"),
        ("moved to April 22 at 11 AM", "date", "apr22"),
        ("moved to April 22 at 11 AM", "time", "11a"),
        ("I now have 52 sources in it", "sourc", "52"),
        ("seen by 1,350 people", "peopl", "1350"),
    ],
)
def test_a_value_is_known_by_what_it_measures(text: str, unit: str, value: str) -> None:
    assert value in values(text)[unit]


def test_a_year_and_code_state_nothing() -> None:
    assert not values("It was founded in 1998.")
    assert not values("```python\nlimit = 60 calls\n```")


@pytest.mark.parametrize(
    ("question", "unit"),
    [
        ("What is my monthly budget for books?", "$"),
        ("What is the test coverage of the module?", "%"),
        ("When is my call with the director?", "date"),
        ("What time is the call?", "time"),
        ("How many sources are in my library?", "sourc"),
        ("How long does the trial take?", "month"),
    ],
)
def test_a_question_asks_for_a_kind_of_value(question: str, unit: str) -> None:
    assert unit in asked_units(question)


@pytest.mark.parametrize(
    "question",
    [
        "What was my budget before the raise?",
        "What was my original deadline?",
        "How did my score change over time?",
        "How should I plan my budget?",
    ],
)
def test_what_asks_of_the_past_or_for_advice_asks_for_no_value_of_today(question: str) -> None:
    assert asked_units(question) == frozenset()


def test_a_change_is_said() -> None:
    assert says_change("The deadline was extended to May 20")
    assert not says_change("The deadline is May 10")
