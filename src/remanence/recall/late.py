"""Late interaction: each word of the question against each word of a memory, on 16-byte codes."""

from __future__ import annotations

from dataclasses import replace

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
    QueryEmbedding,
)

# A product of so many multiplications stays on one thread and in the cache. A larger one wakes
# others, which on a busy machine took twenty times as long.
PRODUCT = 1_000_000
BLOCK = 256
# So many codes are compared before their figures are summed up: 8 MB at most.
AT_ONCE = 64 * BLOCK
# Of a long question, only the words that are worth most are compared; no short one has as many.
MOST_TOKENS = 128
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
    filled = np.flatnonzero(sizes)
    if not len(filled):
        return
    codes, owners = packed.reshape(-1, tokens.shape[1] // 8), rows[filled]
    ends = np.cumsum(sizes[filled]) // codes.shape[1]
    starts = np.concatenate([[0], ends[:-1]])
    doubled = np.ascontiguousarray(2 * _SCALE * tokens.T)
    offset = _SCALE * tokens.sum(axis=1)
    for begin in range(0, len(codes), AT_ONCE):
        first = int(ends.searchsorted(begin, side="right"))
        last = int(starts.searchsorted(begin + AT_ONCE))
        cosines = _cosines(codes[begin : begin + AT_ONCE], doubled, offset)
        found = np.maximum.reduceat(cosines, np.maximum(starts[first:last] - begin, 0), axis=0)
        if starts[first] < begin:  # its first codes were in the block before
            found[0] = np.maximum(found[0], best[owners[first]])
        best[owners[first:last]] = found


def _cosines(codes: ByteArray, doubled: FloatArray, offset: FloatArray) -> FloatArray:
    """Cosines of every code with every token, in products that stay on this thread."""
    out = np.empty((len(codes), len(offset)), np.float32)
    block = min(BLOCK, max(PRODUCT // doubled.size // 16, 1) * 16)
    for start in range(0, len(codes), block):
        deadline.check()
        bits = np.unpackbits(codes[start : start + block], axis=1)
        np.matmul(bits.astype(np.float32), doubled, out=out[start : start + block])
    out -= offset
    return out


def worthiest(
    query: QueryEmbedding, weights: FloatArray, most: int = MOST_TOKENS
) -> tuple[QueryEmbedding, FloatArray]:
    """The question with the tokens that are worth most, in their order, and what each is worth."""
    kept = np.sort(np.argsort(-weights, kind="stable")[:most])
    spans = tuple(query.spans[at] for at in kept)
    return replace(query, tokens=query.tokens[kept], spans=spans), weights[kept]


def weighted(matches: FloatArray, weights: FloatArray) -> FloatArray:
    """One figure per text: the matches averaged by the worth of the question's tokens."""
    total = float(weights.sum())
    if not total:
        return np.zeros(len(matches), np.float32)
    return (matches @ weights) / total
