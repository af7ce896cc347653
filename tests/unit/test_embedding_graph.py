from __future__ import annotations

import numpy as np
import pytest

from remanence.backends.embedding.graph import quantise_blocks, token_basis
from remanence.backends.embedding.word_table import quantise_rows


@pytest.fixture
def weight() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((6, 64)).astype(np.float32)


def test_blocks_come_back_within_half_a_step(weight: np.ndarray) -> None:
    codes, scale = quantise_blocks(weight)
    assert codes.shape == (6, 2, 32)
    restored = (codes.astype(np.float32) - 128) * scale[..., None]
    # The step above the largest value of the other sign is missing: 255, not 256 levels.
    assert np.all(np.abs(restored - weight.reshape(6, 2, 32)) <= np.abs(scale[..., None]) * 1.001)


def test_rows_come_back_within_half_a_step(weight: np.ndarray) -> None:
    codes, scale = quantise_rows(weight)
    assert np.all(np.abs(codes * scale - weight) <= scale * 0.501)


def test_a_row_of_zeros_stays_zero() -> None:
    codes, scale = quantise_rows(np.zeros((1, 32), np.float32))
    assert not (codes * scale).any()
    assert not (quantise_blocks(np.zeros((1, 32), np.float32))[1]).any()


@pytest.mark.slow
def test_the_basis_is_orthonormal_and_always_the_same() -> None:
    basis = token_basis(384)
    assert basis.shape == (384, 128)
    assert np.allclose(basis.T @ basis, np.eye(128), atol=1e-5)
    # Codes already stored depend on these very numbers.
    assert basis[0, :3] == pytest.approx(GOLDEN, abs=1e-6)


def test_a_narrow_model_has_a_basis_as_well() -> None:
    basis = token_basis(32)
    assert basis.shape == (32, 128)
    assert np.allclose(basis @ basis.T, np.eye(32), atol=1e-5)


GOLDEN = [0.0000620, 0.0154780, -0.0147114]
