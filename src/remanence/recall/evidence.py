"""The stored pieces of the pool and its neighbours: cosines and token matches, read in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import Fingerprint, FloatArray, QueryEmbedding, floats_of
from remanence.ports.pieces import StoredPieces
from remanence.recall.columns import Columns
from remanence.recall.conditions import Readable
from remanence.recall.late import token_matches
from remanence.recall.postings import Rows
from remanence.turns import computing

# Memories are read together up to so many characters: any ordinary pool at once, long texts one by
# one. The pieces of a million characters take some 10 MB, at worst 60.
TOGETHER = 1_000_000


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
    store: Readable,
    fingerprint: Fingerprint,
    partition: int,
    columns: Columns,
    rows: Rows,
    query: QueryEmbedding,
) -> Evidence:
    """Read the pieces of these rows (any order, -1 and repeats allowed) and compare them."""
    parts = []
    for block in _blocks(columns, np.unique(rows[rows >= 0])):
        pieces = store.pieces(fingerprint, partition, columns.key[block].tolist())
        if len(pieces):
            with computing():
                parts.append(_compare(pieces, columns.rows_of(pieces.keys), query))
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


def _compare(pieces: StoredPieces, owners: Rows, query: QueryEmbedding) -> Evidence:
    by_owner = np.argsort(owners, kind="stable")
    order, starts, counts = np.unique(owners[by_owner], return_index=True, return_counts=True)
    vectors = floats_of(pieces.rows()[by_owner])
    cosines = vectors @ query.vector
    matches = token_matches(query.tokens, pieces.codes, pieces.code_sizes())[by_owner]
    best = np.maximum.reduceat(cosines, starts)
    leading = _first_best(cosines, best, starts, counts)
    return Evidence(
        order=order,
        best=best,
        mean=(np.add.reduceat(cosines, starts) / counts).astype(np.float32),
        matches=np.maximum.reduceat(matches, starts, axis=0) if matches.size else matches[starts],
        vectors=vectors[leading],
        passages=_passages(pieces.figures[2:, by_owner], leading, starts, counts),
    )


def _first_best(
    cosines: FloatArray, best: FloatArray, starts: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    hits = np.flatnonzero(cosines == np.repeat(best, counts))
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
