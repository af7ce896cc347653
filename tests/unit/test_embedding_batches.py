from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remanence.backends.embedding.onnx import plan_batches


@given(st.lists(st.integers(1, 300)), st.integers(0, 2000))
def test_every_text_runs_once_and_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = plan_batches(lengths, budget)
    assert sorted(at for batch in batches for at in batch) == list(range(len(lengths)))
    for batch in batches:
        padded = len(batch) * max(lengths[at] for at in batch)
        assert padded <= budget or len(batch) == 1


def test_a_budget_of_nothing_runs_every_text_alone() -> None:
    assert plan_batches([3, 9, 3], 0) == [[1], [0], [2]]


def test_texts_of_one_length_share_a_batch() -> None:
    assert plan_batches([2, 8, 2, 8], 16) == [[1, 3], [0, 2]]
