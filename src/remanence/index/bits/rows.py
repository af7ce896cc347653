"""Vectors in 8 bits a dimension, resident and scored exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remanence.index.bits.members import RowNumbers, narrow
from remanence.index.bits.signs import SignBits, planes_of
from remanence.model.embedding import FloatArray
from remanence.ports.store import Keys
from remanence.ports.vector_index import Nearest

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
