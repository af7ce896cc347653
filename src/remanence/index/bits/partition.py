"""One partition in memory: an immutable value, so that readers never see half a change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from remanence.index.bits.members import RowNumbers, rows_of
from remanence.index.bits.rows import ByteRows, unpacked
from remanence.index.bits.signs import SignBits, estimated_cosines, joined, words_for
from remanence.index.bits.spill import spilled
from remanence.model.embedding import FloatArray
from remanence.ports.store import Keys
from remanence.ports.vector_index import Nearest

_OBJECTS = 1024  # Python and array headers of one partition
_RECENT = 4  # beside sign bits, a quarter of `small` rows wait to be folded into them
_SCAN = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Rows that are scored exactly, and sign bits once there are more than `small` of them.

    `gone` are rows of `bits` that hold no longer. Changes wait in `rows` and `gone` until enough
    have come to fold them into bits of exactly the new size, so that no room is kept in advance.
    """

    small: int
    bits: SignBits
    gone: RowNumbers
    rows: ByteRows

    def __len__(self) -> int:
        return len(self.bits) - len(self.gone) + len(self.rows)

    @property
    def nbytes(self) -> int:
        """Bytes held in memory."""
        return self.bits.nbytes + self.gone.nbytes + self.rows.nbytes + _OBJECTS

    @property
    def shrunken(self) -> bool:
        """Whether the sign bits are so few by now that whole rows would serve better."""
        return len(self.bits) > 0 and len(self) <= self.small // 2

    def changed(self, keys: Keys, rows: ByteRows) -> Partition:
        """With `rows` in place of all that was there of these (ascending) keys."""
        kept = self.rows.without(rows_of(self.rows.keys, keys))
        gone = np.union1d(self.gone, rows_of(self.bits.keys, keys))
        after = replace(self, gone=gone, rows=kept.with_rows(rows))
        return after.folded() if after._is_due() else after

    def folded(self) -> Partition:
        """The same content with every row in the sign bits."""
        bits = self.bits.without(self.gone) if len(self.gone) else self.bits
        if len(self.rows):
            bits = joined([bits, self.rows.signs()])
        nothing = np.empty(0, np.intp)
        return replace(self, bits=bits, gone=nothing, rows=self.rows.take(nothing))

    def spilled(self, folder: Path | None) -> Partition:
        """The same content with its sign bits in a file, not in memory."""
        return replace(self, bits=spilled(self.bits, folder))

    def among(self, allowed: Keys) -> Partition:
        """Only the rows of these (ascending) keys."""
        inside = rows_of(self.bits.keys, allowed)
        if len(self.gone):
            inside = np.setdiff1d(inside, self.gone, assume_unique=True)
        return replace(
            self,
            bits=self.bits.take(inside),
            gone=np.empty(0, np.intp),
            rows=self.rows.take(rows_of(self.rows.keys, allowed)),
        )

    def candidates(self, query: FloatArray, wanted: int) -> Keys:
        """Memories behind the best sign bits, to be scored exactly."""
        best = self.bits.nearest(query, wanted, self.gone)
        return np.unique(self.bits.keys[best]).astype(np.int64)

    def estimates(self, query: FloatArray, wanted: int) -> Nearest:
        """The best pieces by their sign bits, with the cosine these suggest."""
        best = self.bits.nearest(query, wanted, self.gone)
        keys = self.bits.keys[best].astype(np.int64)
        scores = estimated_cosines(self.bits.planes.take(best, axis=1), query)
        return Nearest(keys, np.zeros(len(keys), np.int64), scores)

    def _is_due(self) -> bool:
        if not len(self.bits):
            return len(self.rows) > self.small
        waiting = self.small // _RECENT
        return len(self.rows) > waiting or len(self.gone) > max(waiting, len(self.bits) // 16)


def of_bits(bits: SignBits, dimension: int, small: int) -> Partition:
    """A partition of sign bits alone."""
    return Partition(small, bits, np.empty(0, np.intp), unpacked([], dimension))


def scanned(vectors: Iterator[tuple[int, int, bytes]], dimension: int, small: int) -> Partition:
    """A partition from (key, part, packed vector) in order of key; never all of them at once."""
    first = list(islice(vectors, small + 1))
    rows = unpacked(first, dimension)
    if len(first) <= small:
        return Partition(small, _no_bits(dimension), np.empty(0, np.intp), rows)
    parts = [rows.signs()]
    while chunk := list(islice(vectors, _SCAN)):
        parts.append(unpacked(chunk, dimension).signs())
    return of_bits(joined(parts), dimension, small)


def _no_bits(dimension: int) -> SignBits:
    return SignBits(np.empty(0, np.int32), np.empty((words_for(dimension), 0), np.uint64))
