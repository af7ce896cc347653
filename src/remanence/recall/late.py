"""Late interaction: each word of the question against each word of a memory, on 16-byte codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import (
    CODE_BITS,
    CODE_BYTES,
    HALF_CODE_BYTES,
    HALF_CODES,
    ByteArray,
    FloatArray,
)

# Products of this size stay on one thread, which is faster than waking a second.
BLOCK = 256
# Signs keep sqrt(2/pi) of a direction's length on average; dividing brings cosines back to scale.
_SCALE = np.float32(1 / np.sqrt(CODE_BITS * 2 / np.pi))


def token_matches(tokens: FloatArray, codes: Sequence[bytes]) -> FloatArray:
    """For each text's codes, how well it meets each token of the question: (texts, tokens).

    A text without codes meets nothing (zeros). Codes of the cold tier have half of the bits, and
    so half of the product.
    """
    best = np.zeros((len(codes), len(tokens)), np.float32)
    if not len(tokens):
        return best
    half = np.fromiter(map(len, codes), np.int64, len(codes)) % CODE_BYTES != 0
    _fill(best, np.flatnonzero(~half), codes, b"", tokens, CODE_BYTES)
    if not half.any():
        return best
    kept = HALF_CODE_BYTES * 8
    doubled = tokens[:, :kept] * np.float32(CODE_BITS / kept)
    _fill(best, np.flatnonzero(half), codes, HALF_CODES, doubled, HALF_CODE_BYTES)
    return best


def _fill(
    best: FloatArray,
    rows: NDArray[np.intp],
    codes: Sequence[bytes],
    head: bytes,
    tokens: FloatArray,
    size: int,
) -> None:
    """The matches of texts whose codes all have that head and size."""
    bodies = [codes[row][len(head) :] for row in rows.tolist()]
    lengths = np.fromiter(map(len, bodies), np.int64, len(bodies)) // size
    filled = np.flatnonzero(lengths)
    if not len(filled):
        return
    packed = np.frombuffer(b"".join(bodies), np.uint8).reshape(-1, size)
    starts = np.concatenate([[0], np.cumsum(lengths[filled])[:-1]])
    best[rows[filled]] = np.maximum.reduceat(_cosines(tokens, packed), starts, axis=0)


def _cosines(tokens: FloatArray, packed: ByteArray) -> FloatArray:
    """Cosines of every code with every token, in blocks small enough to stay in the cache."""
    out = np.empty((len(packed), len(tokens)), np.float32)
    doubled = np.ascontiguousarray(2 * _SCALE * tokens.T)
    offset = _SCALE * tokens.sum(axis=1)
    for start in range(0, len(packed), BLOCK):
        bits = np.unpackbits(packed[start : start + BLOCK], axis=1)
        np.matmul(bits.astype(np.float32), doubled, out=out[start : start + BLOCK])
    out -= offset
    return out


def weighted(matches: FloatArray, weights: FloatArray) -> FloatArray:
    """One figure per text: the matches averaged by the worth of the question's tokens."""
    total = float(weights.sum())
    if not total:
        return np.zeros(len(matches), np.float32)
    return (matches @ weights) / total
