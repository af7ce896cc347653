"""How the confidence is fitted and judged: by hand-made figures."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def trainer() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        spec = importlib.util.spec_from_file_location("train", BENCH / "train_confidence.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, "train", module)
        spec.loader.exec_module(module)
        yield module


def test_the_area_counts_equals_half(trainer: Any) -> None:
    assert trainer.auc(np.array([1.0, 2.0]), np.array([0.0])) == 1
    assert trainer.auc(np.array([1.0]), np.array([1.0, 0.0, 2.0, 2.0])) == pytest.approx(0.375)


def test_bins_hold_equal_weight(trainer: Any) -> None:
    chances = np.linspace(0.05, 0.95, 10)
    bins = trainer.reliability(chances, chances.round(), np.ones(10))
    assert [said for said, _ in bins] == pytest.approx(chances.tolist())
    assert [true for _, true in bins] == chances.round().tolist()


def test_kinds_and_sets_weigh_the_same(trainer: Any) -> None:
    kinds = {
        "locomo": ("answerable", "adversarial", "foreign", "renamed", "foreign"),
        "beam": ("answerable", "foreign"),
        "longmemeval": ("answerable", "foreign", "foreign"),
    }
    samples = [
        trainer.Sample(dataset, "c", 0, size, kind, False, ())
        for dataset, found in kinds.items()
        for kind in found
        for size in ("whole", "small")
    ]
    weights = trainer.weights_of(samples)

    def share(**wanted: str) -> float:
        fits = [all(getattr(one, n) == v for n, v in wanted.items()) for one in samples]
        return float(weights[fits].sum() / weights.sum())

    assert share(kind="answerable") == pytest.approx(1 / 3)
    assert share(kind="adversarial") == pytest.approx(1 / 3)
    for dataset in kinds:
        answerable = share(dataset=dataset, kind="answerable")
        assert answerable == pytest.approx(share(dataset=dataset) / 3)


def test_a_match_never_counts_against_an_answer(trainer: Any) -> None:
    draw = np.random.default_rng(5)
    rows = draw.normal(size=(400, len(trainer.NAMES)))
    samples = [
        trainer.Sample("beam", "c", 0, "whole", kind, kind == "answerable", tuple(row))
        for row in rows
        for kind in ["answerable" if row[0] - row[1] > 0 else "foreign"]
    ]
    found = trainer.fitted(samples)
    assert found.weight[0] > 0.5
    assert found.weight.min() > -1e-6
    chances = found.chances(rows)
    assert ((chances > 0) & (chances < 1)).all()
