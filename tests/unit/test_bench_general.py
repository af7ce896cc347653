"""Metrics of the benchmark of language outside chat, and the data that it reads."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

BENCH = Path(__file__).parents[2] / "bench" / "general.py"


@pytest.fixture(scope="module")
def general() -> Any:
    spec = importlib.util.spec_from_file_location("bench_general", BENCH)
    assert spec
    assert spec.loader
    module = sys.modules["bench_general"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_letters(texts: list[str]) -> NDArray[np.float32]:
    counted = [[1 + text.lower().count(letter) for letter in "aeionrst"] for text in texts]
    return np.array(counted, dtype=np.float32)


def test_equal_values_share_their_rank(general: Any) -> None:
    assert general.ranks(np.array([3.0, 1.0, 3.0, 9.0])).tolist() == [2.5, 1, 2.5, 4]


def test_spearman_sees_the_order_only(general: Any) -> None:
    given = np.array([0.0, 1, 2, 3])
    assert general.spearman(given, np.exp(given)) == pytest.approx(1)
    assert general.spearman(given, -given) == pytest.approx(-1)
    assert general.spearman(given, np.array([1.0, 0, 3, 2])) == pytest.approx(0.6)


def test_recall_is_of_what_the_first_places_could_hold(general: Any) -> None:
    order = np.array([4, 2, 0, 1, 3])
    assert general.recall(order, [4, 3], 1) == 1
    assert general.recall(order, [2], 1) == 0
    assert general.recall(order, [4, 3], 3) == 0.5


def test_ndcg_falls_with_the_place(general: Any) -> None:
    order = np.array([4, 2, 0, 1, 3])
    assert general.ndcg(order, [4], 10) == 1
    assert general.ndcg(order, [2], 10) == pytest.approx(1 / np.log2(3))
    assert general.ndcg(order, [4, 2], 10) == pytest.approx(1)
    assert general.ndcg(order, [3], 2) == 0


def test_figures_of_a_made_up_embedder(general: Any) -> None:
    found = general.score_vectors(by_letters)
    mean = found["retrieval"].pop("mean")
    each = [task["ndcg@10"] for task in found["retrieval"].values()]
    assert mean["ndcg@10"] == pytest.approx(np.mean(each))
    both = (found["spearman"]["all"], mean["ndcg@10"])
    assert found["points"] == pytest.approx(100 * np.mean(both))


def test_a_model_has_no_difference_to_itself(general: Any) -> None:
    outcome = general.measured(by_letters)
    found = general.difference(outcome, outcome, rounds=3)
    assert found == {"points": 0, "low": 0, "high": 0}


def test_an_interval_holds_the_difference(general: Any) -> None:
    ours = general.measured(by_letters)
    theirs = general.measured(lambda texts: by_letters(texts) ** 4)
    found = general.difference(ours, theirs, rounds=50)
    assert found["low"] < found["points"] < found["high"]


def test_pairs_are_graded_and_said_once(general: Any) -> None:
    pairs = general.rows_of(general.DATA / "pairs.jsonl")
    assert all(0 <= pair["score"] <= 5 and pair["a"] != pair["b"] for pair in pairs)
    assert len({(pair["a"], pair["b"]) for pair in pairs}) == len(pairs) >= 320


def test_each_task_has_texts_enough_to_choose_from(general: Any) -> None:
    paths = list((general.DATA / "retrieval").glob("*.jsonl"))
    tasks = [general.read_task(path) for path in paths]
    assert len(tasks) >= 6
    for task in tasks:
        assert len(set(task.texts)) == len(task.texts) >= 40
        assert len(set(task.queries)) == len(task.queries) >= 25
