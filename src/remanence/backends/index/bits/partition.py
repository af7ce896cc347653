"""One partition in memory: an immutable value, of rows scored exactly and of sign bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from remanence.backends.index.bits.signs import (
    RowNumbers,
    SignBits,
    estimated_cosines,
    joined,
    narrow,
    planes_of,
    rows_of,
    spilled,
    words_for,
)
from remanence.model.embedding import FloatArray
from remanence.model.ports.store import Keys
from remanence.model.ports.vector_index import Nearest

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


_STEP_BYTES = 4
_CHUNK = 512


@dataclass(frozen=True, slots=True, eq=False)
class ByteRows:
    """Whole vectors by ascending key: key, part, step, and int8 multiples of the step."""

    keys: Keys
    parts: NDArray[np.int64]
    steps: FloatArray
    values: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.keys.nbytes + self.parts.nbytes + self.steps.nbytes + self.values.nbytes

    def take(self, rows: RowNumbers) -> ByteRows:
        """Only these rows, in this order."""
        return ByteRows(
            self.keys[rows], self.parts[rows], self.steps[rows], self.values.take(rows, axis=0)
        )

    def without(self, rows: RowNumbers) -> ByteRows:
        """All but these rows."""
        return self.take(np.delete(np.arange(len(self)), rows))

    def with_rows(self, other: ByteRows) -> ByteRows:
        """Both, by key; no key may be in both."""
        both = ByteRows(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.parts, other.parts]),
            np.concatenate([self.steps, other.steps]),
            np.concatenate([self.values, other.values]),
        )
        in_order = not len(self) or not len(other) or self.keys[-1] < other.keys[0]
        return both if in_order else both.take(np.argsort(both.keys, kind="stable"))

    def signs(self) -> SignBits:
        """The same rows as sign bits."""
        return SignBits(narrow(self.keys), planes_of(self.values))

    def scored(self, query: FloatArray) -> Nearest:
        """Every row with its cosine, in no order of merit."""
        return Nearest(self.keys, self.parts, dots(self.values, query) * self.steps)


def dots(values: NDArray[np.int8], query: FloatArray) -> FloatArray:
    """Dot products with a float query, a cache-sized chunk of rows at a time."""
    out = np.empty(len(values), np.float32)
    floats = np.empty((min(len(values), _CHUNK), len(query)), np.float32)
    for start in range(0, len(values), _CHUNK):
        chunk = values[start : start + _CHUNK]
        floats[: len(chunk)] = chunk
        np.vecdot(floats[: len(chunk)], query, out=out[start : start + len(chunk)])
    return out


def unpacked(found: Iterable[tuple[int, int, bytes]], dimension: int) -> ByteRows:
    """Rows from (key, part, packed vector) in order; vectors of another size are left out."""
    size = dimension + _STEP_BYTES
    kept = [(key, part, vector) for key, part, vector in found if len(vector) == size]
    raw = np.frombuffer(b"".join(vector for _, _, vector in kept), np.int8).reshape(-1, size)
    return ByteRows(
        np.fromiter((key for key, _, _ in kept), np.int64, len(kept)),
        np.fromiter((part for _, part, _ in kept), np.int64, len(kept)),
        np.ascontiguousarray(raw[:, :_STEP_BYTES]).view(np.float32)[:, 0],
        np.ascontiguousarray(raw[:, _STEP_BYTES:]),
    )
