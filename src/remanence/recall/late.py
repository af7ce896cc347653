"""Late interaction: each word of the question against each word of a memory, on 16-byte codes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from remanence import deadline
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


def token_matches(tokens: FloatArray, codes: bytes, sizes: NDArray[np.int64]) -> FloatArray:
    """For each text's codes, how well it meets each token of the question: (texts, tokens).

    `codes` are those of all texts, one after the other, and `sizes` how many bytes each has. A
    text without codes meets nothing (zeros). Codes of the cold tier have half of the bits, and so
    half of the product.
    """
    best = np.zeros((len(sizes), len(tokens)), np.float32)
    if not len(tokens):
        return best
    half = sizes % CODE_BYTES != 0
    if not half.any():
        _fill(best, np.arange(len(sizes)), np.frombuffer(codes, np.uint8), sizes, tokens)
        return best
    ends = sizes.cumsum()
    for cut in (False, True):
        rows = np.flatnonzero(half == cut)
        head = len(HALF_CODES) if cut else 0
        places = zip(ends[rows], sizes[rows], strict=True)
        own = [codes[end - size + head : end] for end, size in places]
        packed = np.frombuffer(b"".join(own), np.uint8)
        _fill(best, rows, packed, sizes[rows] - head, _halved(tokens) if cut else tokens)
    return best


def _halved(tokens: FloatArray) -> FloatArray:
    kept = HALF_CODE_BYTES * 8
    return tokens[:, :kept] * np.float32(CODE_BITS / kept)


def _fill(
    best: FloatArray,
    rows: NDArray[np.intp],
    packed: ByteArray,
    sizes: NDArray[np.int64],
    tokens: FloatArray,
) -> None:
    """The matches of these rows, whose codes follow each other and have a bit for each figure."""
    width = tokens.shape[1] // 8
    filled = np.flatnonzero(sizes)
    if not len(filled):
        return
    starts = np.concatenate([[0], np.cumsum(sizes[filled] // width)[:-1]])
    cosines = _cosines(tokens, packed.reshape(-1, width))
    best[rows[filled]] = np.maximum.reduceat(cosines, starts, axis=0)


def _cosines(tokens: FloatArray, packed: ByteArray) -> FloatArray:
    """Cosines of every code with every token, in blocks small enough to stay in the cache."""
    out = np.empty((len(packed), len(tokens)), np.float32)
    doubled = np.ascontiguousarray(2 * _SCALE * tokens.T)
    offset = _SCALE * tokens.sum(axis=1)
    for start in range(0, len(packed), BLOCK):
        deadline.check()
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
