"""The stored pieces of the pool and its neighbours: cosines and token matches, read in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from remanence.model import deadline
from remanence.model.embedding import (
    CODE_BITS,
    CODE_BYTES,
    HALF_CODE_BYTES,
    HALF_CODES,
    ByteArray,
    Fingerprint,
    FloatArray,
    QueryEmbedding,
    floats_of,
)
from remanence.model.fork_safety import computing
from remanence.model.ports.pieces import StoredPieces
from remanence.recall.columns import Columns
from remanence.recall.conditions import PiecesOf
from remanence.recall.postings import Rows

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

# Memories are read together up to so many characters: any ordinary pool at once, long texts one by
# one. The pieces of a million characters take some 10 MB, at worst 60.
TOGETHER = 1_000_000


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


@dataclass(frozen=True, slots=True)
class BestPiece:
    """The piece of a memory that is nearest to the question, and the passage around it."""

    cosine: float
    passage: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What the pieces say about some rows: best and mean cosine, token matches, leading vector."""

    order: Rows  # the rows read, ascending
    best: FloatArray
    mean: FloatArray
    matches: FloatArray  # (rows, tokens)
    vectors: FloatArray  # (rows, dimension): the best piece of each
    passages: NDArray[np.int64]  # (rows, 2): where the best piece's passage starts and stops

    def places(self, rows: Rows) -> NDArray[np.int64]:
        """Where each row stands in this evidence, -1 where it was not read or has no pieces."""
        if not len(self.order):
            return np.full(len(rows), -1, np.int64)
        found = np.minimum(np.searchsorted(self.order, rows), len(self.order) - 1)
        return np.where(self.order[found] == rows, found, -1)

    def at(self, figures: FloatArray, places: NDArray[np.int64]) -> FloatArray:
        """One of the figures at these places, 0 where there is none."""
        if not len(figures):
            return np.zeros((len(places), *figures.shape[1:]), np.float32)
        known = places >= 0
        if known.all():
            return figures[places]
        return figures[places] * known.reshape(-1, *[1] * (figures.ndim - 1))

    def best_piece(self, row: int) -> BestPiece | None:
        """The row's best piece; None where it has none."""
        place = int(self.places(np.array([row]))[0])
        if place < 0:
            return None
        start, stop = self.passages[place].tolist()
        return BestPiece(float(self.best[place]), (start, stop))


def read_evidence(
    pieces_of: PiecesOf,
    fingerprint: Fingerprint,
    partition: int,
    columns: Columns,
    rows: Rows,
    query: QueryEmbedding,
    weights: FloatArray,
) -> Evidence:
    """Read the pieces of these rows (any order, -1 and repeats allowed) and compare them.

    `weights` is what each token of the question is worth. Of a long text only the piece that meets
    them best counts: one that touches everything somewhere is no better than one that says it.
    """
    parts = []
    for block in _blocks(columns, np.unique(rows[rows >= 0])):
        pieces = pieces_of(fingerprint, partition, columns.key[block].tolist())
        if len(pieces):
            with computing():
                parts.append(_compare(pieces, columns.rows_of(pieces.keys), query, weights))
    if not parts:
        return no_evidence(len(query.tokens), len(query.vector))
    return parts[0] if len(parts) == 1 else _joined(parts)


def _blocks(columns: Columns, rows: Rows) -> Iterator[Rows]:
    """These (ascending) rows in blocks whose texts are not longer together than `TOGETHER`."""
    ends = np.cumsum(columns.characters[rows], dtype=np.int64)
    start, done = 0, 0
    while start < len(rows):
        stop = max(int(np.searchsorted(ends, done + TOGETHER, side="right")), start + 1)
        yield rows[start:stop]
        start, done = stop, int(ends[stop - 1])


def _joined(parts: Sequence[Evidence]) -> Evidence:
    """The evidence of blocks of rows, which ascend from block to block."""
    names = [field.name for field in fields(Evidence)]
    return Evidence(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _compare(
    pieces: StoredPieces, owners: Rows, query: QueryEmbedding, weights: FloatArray
) -> Evidence:
    by_owner = np.argsort(owners, kind="stable")
    order, starts, counts = np.unique(owners[by_owner], return_index=True, return_counts=True)
    vectors = floats_of(pieces.rows()[by_owner])
    cosines = vectors @ query.vector
    matches = token_matches(query.tokens, pieces.codes, pieces.code_sizes())[by_owner]
    leading = _leading(cosines, starts, counts)
    return Evidence(
        order=order,
        best=cosines[leading],
        mean=(np.add.reduceat(cosines, starts) / counts).astype(np.float32),
        matches=matches[_leading(weighted(matches, weights), starts, counts)],
        vectors=vectors[leading],
        passages=_passages(pieces.figures[2:, by_owner], leading, starts, counts),
    )


def _leading(
    figures: FloatArray, starts: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The place of the highest figure of each group, the first if several are equal."""
    best = np.maximum.reduceat(figures, starts)
    hits = np.flatnonzero(figures == np.repeat(best, counts))
    return hits[np.searchsorted(hits, starts)]


def _passages(
    spans: NDArray[np.int64],
    leading: NDArray[np.int64],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Where the passage of each leading piece starts and stops, all of its pieces together."""
    start, stop, passage = spans
    same = passage == np.repeat(passage[leading], counts)
    first = np.minimum.reduceat(np.where(same, start, np.iinfo(np.int64).max), starts)
    last = np.maximum.reduceat(np.where(same, stop, 0), starts)
    return np.column_stack([first, last])


def no_evidence(tokens: int = 0, dimension: int = 1) -> Evidence:
    """What there is to say when nothing was read."""
    none = np.zeros(0, np.float32)
    rows = np.zeros(0, np.int64)
    matches = np.zeros((0, tokens), np.float32)
    vectors = np.zeros((0, dimension), np.float32)
    return Evidence(rows, none, none, matches, vectors, np.zeros((0, 2), np.int64))
