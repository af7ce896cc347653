"""What each step of a training sees, and how large it is."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.consolidation.learning.lora.jobs import (
    SHOWINGS,
    TrainingRecipe,
    batches,
    steps_for,
)
from remanence.errors import InvalidInput


def test_the_same_seed_gives_the_same_batches() -> None:
    new, old = list(range(10)), list(range(100, 107))
    one = list(batches(new, old, TrainingRecipe(steps=20, seed=3)))
    assert one == list(batches(new, old, TrainingRecipe(steps=20, seed=3)))
    assert one != list(batches(new, old, TrainingRecipe(steps=20, seed=4)))


@given(
    new=st.integers(1, 30),
    old=st.integers(0, 30),
    replay=st.floats(0, 0.95),
    batch=st.integers(1, 9),
)
def test_replay_keeps_its_share_and_nobody_is_left_out(
    new: int, old: int, replay: float, batch: int
) -> None:
    steps = steps_for(new, old, replay, batch)
    recipe = TrainingRecipe(steps=steps, replay=replay, batch=batch)
    seen = list(batches([("new", n) for n in range(new)], [("old", n) for n in range(old)], recipe))
    assert [len(one) for one in seen] == [batch] * steps
    shown = Counter(one for taken in seen for one in taken)
    replayed = sum(count for (side, _), count in shown.items() if side == "old")
    assert abs(replayed - steps * batch * (replay if old else 0)) <= 1
    fresh = [shown[("new", n)] for n in range(new)]
    assert min(fresh) >= SHOWINGS - 1
    assert max(fresh) - min(fresh) <= 1


def test_the_rate_rises_then_falls() -> None:
    recipe = TrainingRecipe(steps=100, rate=0.01)
    rates = [recipe.rate_at(step) for step in range(100)]
    assert rates[0] < rates[9]
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert 0 < rates[-1] < max(rates) <= 0.01


@pytest.mark.parametrize(
    "wrong",
    [{"steps": 0}, {"steps": 2.5}, {"rank": True}, {"replay": 1}, {"replay": -1}, {"rate": 0}],
)
def test_what_cannot_be_followed_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        TrainingRecipe(**{"steps": 5, **wrong})  # type: ignore[arg-type]
