"""Simulated power loss: the acknowledged is there, and a store that never syncs is found out."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.power_loss import fast_folder, simulate, without_syncs

POINTS = 1000
CONTROL_POINTS = 200


def test_nothing_acknowledged_is_lost_with_the_power(fast: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    assert simulate(fast, seed, 150, POINTS) == {"fine": POINTS, "lost": 0, "corrupt": 0}


CUT_SHORT = 1572283746
"""A seed whose losses leave a file that ends before its pages do."""


@pytest.mark.parametrize("seed", [None, CUT_SHORT])
def test_without_syncs_the_same_test_finds_losses(seed: int | None, fast: Path) -> None:
    seed = seed or random.randrange(2**32)
    print(f"seed {seed}")
    with without_syncs():
        counts = simulate(fast, seed, 60, CONTROL_POINTS)
    assert counts["lost"] + counts["corrupt"] > CONTROL_POINTS / 4


@pytest.fixture
def fast(tmp_path: Path) -> Iterator[Path]:
    with fast_folder(tmp_path) as folder:
        yield folder
