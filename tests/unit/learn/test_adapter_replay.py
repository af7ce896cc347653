"""Replay: bounded, balanced over time, surprising first, and the same for the same seed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.consolidation.learning.school import contradicted, lessons_of, replayed, surprise
from remanence.consolidation.learning.trainer import judged_by, split, verdict
from remanence.errors import InvalidInput
from remanence.model.learning import Experience, LearnPolicy

BEGIN = datetime(2025, 1, 1, tzinfo=UTC)


def experience(
    day: int, *, useful: bool = True, query: str | None = "q", id: str = "m", rank: int | None = 1
) -> Experience:
    return Experience(id=id, query=query, useful=useful, at=BEGIN + timedelta(days=day), rank=rank)


EXPERIENCES = st.lists(
    st.builds(
        experience,
        st.integers(0, 400),
        useful=st.booleans(),
        query=st.sampled_from([None, "a", "b", "c"]),
        id=st.sampled_from(["m", "n", "o"]),
        rank=st.none() | st.integers(1, 60),
    ),
    max_size=60,
)


@pytest.mark.slow
@given(EXPERIENCES, st.integers(0, 70), st.integers(0, 5))
def test_a_selection_is_bounded_and_of_what_was_given(
    given_: list[Experience], most: int, seed: int
) -> None:
    chosen = replayed(given_, most, seed)
    assert len(chosen) == min(most, len(set(given_)))
    assert len(set(chosen)) == len(chosen)
    assert set(chosen) <= set(given_)
    assert [one.at for one in chosen] == sorted(one.at for one in chosen)


@given(EXPERIENCES, st.integers(0, 70), st.integers(0, 5), st.randoms())
def test_a_selection_depends_on_nothing_but_the_seed(
    given_: list[Experience], most: int, seed: int, random: st.DataObject
) -> None:
    shuffled = list(given_)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert replayed(shuffled, most, seed) == replayed(given_, most, seed)


@given(EXPERIENCES, st.integers(1, 40))
def test_every_month_keeps_its_share(given_: list[Experience], most: int) -> None:
    there = Counter((one.at.year, one.at.month) for one in set(given_))
    kept = Counter((one.at.year, one.at.month) for one in replayed(given_, most))
    share = most // max(len(there), 1)
    for month, count in there.items():
        assert kept[month] >= min(count, share)


@given(EXPERIENCES, st.integers(1, 40))
def test_within_a_month_the_surprising_come_first(given_: list[Experience], most: int) -> None:
    torn = contradicted(given_)
    chosen = set(replayed(given_, most))
    for one in set(given_) - chosen:
        month = (one.at.year, one.at.month)
        beside = [other for other in chosen if (other.at.year, other.at.month) == month]
        assert all(surprise(other, torn) >= surprise(one, torn) for other in beside)


def test_what_surprises() -> None:
    nothing = frozenset[tuple[str, str | None]]()
    assert surprise(experience(0, rank=1), nothing) == 0
    assert surprise(experience(0, rank=30), nothing) == 2
    assert surprise(experience(0, rank=None), nothing) == 2
    assert surprise(experience(0, useful=False, rank=1), nothing) == 2
    assert surprise(experience(0, useful=False, rank=30), nothing) == 0
    both = [experience(0), experience(9, useful=False)]
    assert surprise(both[0], contradicted(both)) == 3


def test_lessons_take_the_last_word_and_leave_out_what_has_no_question() -> None:
    told = [
        experience(3, useful=False, query="where  is it?", id="a"),
        experience(1, query="where is it?", id="a"),
        experience(2, query="where is it?", id="b"),
        experience(4, query=None, id="c"),
    ]
    [lesson] = lessons_of(told)
    assert (lesson.query, lesson.useful, lesson.useless) == (
        "where is it?",
        frozenset({"b"}),
        frozenset({"a"}),
    )
    assert lesson.at == BEGIN + timedelta(days=3)


@given(st.integers(0, 60), st.integers(0, 3))
def test_no_question_is_learned_from_and_judged_by(count: int, seed: int) -> None:
    lessons = lessons_of(experience(day, query=f"q{day}") for day in range(count))
    parts = split(lessons, seed)
    sides = [*parts.learned, *parts.newest, *parts.older]
    assert sorted(one.query for one in sides) == sorted(one.query for one in lessons)
    assert not parts.newest or min(one.at for one in parts.newest) > max(
        one.at for one in (*parts.learned, *parts.older)
    )


def test_the_verdict_asks_for_a_gain_that_is_no_chance_and_costs_nothing_older() -> None:
    policy = LearnPolicy()

    def told(newest: list[tuple[float, float]], older: list[tuple[float, float]]) -> str | None:
        gains = [after - before for before, after in (*newest, *older)]
        return verdict(judged_by(newest, older), gains, policy)

    won, same, lost = (0.2, 0.9), (0.5, 0.5), (0.6, 0.4)
    assert told([won] * 6, [won] * 3) is None
    assert "too few" in str(told([won] * 2, []))
    assert "less than" in str(told([same] * 8, [same] * 4))
    assert "chance" in str(told([(0.1, 1.0), *[lost] * 3, *[same] * 4], []))
    assert "older" in str(told([won] * 8, [lost] * 2))
    assert "present version" in str(
        verdict(judged_by([won] * 8, []), [0.7] * 8, policy, beside=-0.1)
    )


@pytest.mark.parametrize(
    "wrong",
    [{"kept": 0}, {"replayed": True}, {"least": 1.5}, {"margin": 2}, {"seed": "x"}, {"new": -1}],
)
def test_a_policy_checks_itself(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        replace(LearnPolicy(), **wrong)  # type: ignore[arg-type]
