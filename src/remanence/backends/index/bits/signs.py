"""Sign bits of vectors as planes of 64-bit words: packed, scanned, narrowed, spilled to a file."""

from __future__ import annotations

import math
import os
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import FloatArray
from remanence.model.system.files import read_at

RowNumbers: TypeAlias = NDArray[np.intp]
KeyColumn: TypeAlias = NDArray[np.signedinteger[Any]]

_SPARSE = 16
_WIDE = 32

Planes: TypeAlias = NDArray[np.uint64]

# Chunks of this size keep the intermediate arrays in the cache: 0.42 ms per 100,000 rows of MiniLM
# against 0.66 ms with 4,096. faiss.knn_hamming took 0.4 ms, 14 MB and a 40 MB install.
BLOCK_ROWS = 1 << 15
_WORDS_PER_BYTE_SUM = 3  # three words differ in at most 192 places, which fits a byte
_NARROW = 8
_SUMMED = 256  # rows at a time: their bits as floats stay in the cache
_SAMPLE = 1 << 13  # counting all distances would take a tenth of the time of the scan


def rows_of(column: KeyColumn, wanted: KeyColumn) -> RowNumbers:
    """Rows whose key is among `wanted`; both ascending, `wanted` without repeats."""
    if not len(column):
        return np.empty(0, np.intp)
    low, high = int(column[0]), int(column[-1])
    first, last = np.searchsorted(wanted, low), np.searchsorted(wanted, high, "right")
    inside = wanted[first:last].astype(column.dtype)
    if len(inside) * _SPARSE < len(column) or high - low > _WIDE * len(column):
        return _by_search(column, inside)
    return _by_table(column, inside, low, high)


def narrow(keys: KeyColumn) -> KeyColumn:
    """The keys in 32 bits if they fit."""
    fits = not len(keys) or int(keys.max()) <= np.iinfo(np.int32).max
    return keys.astype(np.int32 if fits else np.int64)


def _by_search(column: KeyColumn, wanted: KeyColumn) -> RowNumbers:
    first = np.searchsorted(column, wanted)
    counts = np.searchsorted(column, wanted, "right") - first
    ends = np.cumsum(counts)
    return np.repeat(first - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)


def _by_table(column: KeyColumn, wanted: KeyColumn, low: int, high: int) -> RowNumbers:
    table = np.zeros(high - low + 1, np.bool_)
    table[wanted - low] = True
    return np.flatnonzero(table[column - low])


class StoredPlanes(Protocol):
    """Bit planes that are not in memory; as much of an array as a scan needs."""

    shape: tuple[int, int]

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""

    def __getitem__(self, at: tuple[slice, slice]) -> Planes:
        """All planes of one block of `BLOCK_ROWS` rows."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All of it in memory."""

    def take(self, rows: RowNumbers, axis: int) -> Planes:
        """The planes of these rows, in this order."""


@dataclass(frozen=True, slots=True, eq=False)
class SignBits:
    """The signs of many vectors: ascending keys, and bit planes of shape (words, rows)."""

    keys: KeyColumn
    planes: Planes | StoredPlanes

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.keys.nbytes + self.planes.nbytes

    def take(self, rows: RowNumbers) -> SignBits:
        """Only these rows, in this order."""
        return SignBits(self.keys.take(rows), self.planes.take(rows, axis=1))

    def without(self, rows: RowNumbers) -> SignBits:
        """All but these rows."""
        planes = np.asarray(self.planes)
        return SignBits(np.delete(self.keys, rows), np.delete(planes, rows, axis=1))

    def nearest(self, query: FloatArray, wanted: int, gone: RowNumbers) -> RowNumbers:
        """About the best `wanted` rows for a query: by Hamming distance, then by signed sum."""
        found = distances(self.planes, planes_of(query[None])[:, 0])
        found[gone] = len(query) + 1
        live = len(self) - len(gone)
        rows = closest(found, min(wanted * _NARROW, live))
        if len(rows) <= wanted:
            return rows
        sums = signed_sums(self.planes.take(rows, axis=1), query)
        return rows[np.argpartition(sums, -wanted)[-wanted:]]


def planes_of(values: NDArray[Any]) -> Planes:
    """One bit a dimension, set if positive; the last plane is padded with zeros."""
    rows, dimension = values.shape
    padded = np.zeros((rows, words_for(dimension) * 8), np.uint8)
    bits = np.packbits(values > 0, axis=1)
    padded[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(padded.view(np.uint64).T)


def words_for(dimension: int) -> int:
    """How many 64-bit words hold that many bits."""
    return -(-dimension // 64)


def joined(parts: Sequence[SignBits]) -> SignBits:
    """All of them as one, by key."""
    keys = np.concatenate([part.keys.astype(np.int64) for part in parts])
    planes = np.concatenate([np.asarray(part.planes) for part in parts], axis=1)
    if np.any(keys[1:] < keys[:-1]):
        order = np.argsort(keys, kind="stable")
        keys, planes = keys[order], planes.take(order, axis=1)
    return SignBits(narrow(keys), planes)


def distances(planes: Planes | StoredPlanes, words: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Hamming distance of every row to the query's words."""
    out = np.zeros(planes.shape[1], np.uint16)
    scratch = _Scratch.of(min(len(out), BLOCK_ROWS))
    for start in range(0, len(out), BLOCK_ROWS):
        chunk = slice(start, start + BLOCK_ROWS)
        _add_distances(planes[:, chunk], words[:, None], out[chunk], scratch)
    return out


class _Scratch(NamedTuple):
    """Arrays of one block, used again for the next: fresh ones would take half as long again."""

    other: NDArray[np.uint64]
    counts: NDArray[np.uint8]
    total: NDArray[np.uint8]

    @classmethod
    def of(cls, rows: int) -> _Scratch:
        shape = (_WORDS_PER_BYTE_SUM, rows)
        return cls(np.empty(shape, np.uint64), np.empty(shape, np.uint8), np.empty(rows, np.uint8))


def _add_distances(
    planes: Planes, words: NDArray[np.uint64], out: NDArray[np.uint16], scratch: _Scratch
) -> None:
    """Several words at a time: each call gives other threads a turn, and waits for its own."""
    total = scratch.total[: len(out)]
    for first in range(0, len(words), _WORDS_PER_BYTE_SUM):
        some = slice(first, first + _WORDS_PER_BYTE_SUM)
        used = len(words[some])
        other, counts = scratch.other[:used, : len(out)], scratch.counts[:used, : len(out)]
        np.bitwise_xor(planes[some], words[some], out=other)
        np.bitwise_count(other, out=counts)
        np.add.reduce(counts, axis=0, dtype=np.uint8, out=total)
        np.add(out, total, out=out)


def closest(found: NDArray[np.uint16], wanted: int) -> RowNumbers:
    """The `wanted` rows of least distance; among equals the first ones."""
    if wanted >= len(found):
        return np.arange(len(found))
    if wanted <= 0:
        return np.empty(0, np.intp)
    rows = np.flatnonzero(found <= _guessed_edge(found, wanted))
    if len(rows) < wanted:
        rows = np.arange(len(found))
    near = found[rows]
    edge = int(np.searchsorted(np.cumsum(np.bincount(near)), wanted))
    nearer = rows[near < edge]
    return np.concatenate([nearer, rows[near == edge][: wanted - len(nearer)]])


def _guessed_edge(found: NDArray[np.uint16], wanted: int) -> int:
    """A distance that probably takes in more than `wanted` rows, judged by a sample of them."""
    sample = found[:: max(1, len(found) // _SAMPLE)]
    expected = wanted * len(sample) / len(found)
    counts = np.cumsum(np.bincount(sample))
    return int(np.searchsorted(counts, expected + 4 * math.sqrt(expected)))


def signed_sums(planes: Planes, query: FloatArray) -> FloatArray:
    """The query's sum over each row's positive dimensions: orders rows better than Hamming."""
    rows = np.ascontiguousarray(planes.T).view(np.uint8)
    sums = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _SUMMED):
        some = slice(start, start + _SUMMED)
        bits = np.unpackbits(rows[some], axis=1, count=len(query))
        # Not `@`: on a busy machine its threads wait for each other, 16 ms instead of 0.05.
        np.vecdot(bits.astype(np.float32), query, out=sums[some])
    return sums


def estimated_cosines(planes: Planes, query: FloatArray) -> FloatArray:
    """Cosines of a unit query as the signs suggest them: signs keep sqrt(2/pi) of a length."""
    scale = math.sqrt(math.pi / (2 * len(query)))
    cosines: FloatArray = (2 * signed_sums(planes, query) - query.sum()) * np.float32(scale)
    return cosines


class FilePlanes:
    """Bit planes of shape (words, rows) in a file that goes with the last who uses it.

    A block is as many rows as a scan takes at a time; its planes lie one after the other, so that
    one read fetches them.
    """

    def __init__(self, planes: Planes, folder: Path | None) -> None:
        self.shape: tuple[int, int] = planes.shape
        with tempfile.TemporaryFile(dir=folder) as file:
            for start in range(0, self.shape[1], BLOCK_ROWS):
                file.write(np.ascontiguousarray(planes[:, start : start + BLOCK_ROWS]).data)
            file.flush()
            self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return 0

    def __getitem__(self, at: tuple[slice, slice]) -> Planes:
        """All planes of one block: `[:, start : start + BLOCK_ROWS]`."""
        return self._block(at[1].start // BLOCK_ROWS)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All of it in memory, for the moment in which it is changed."""
        blocks = range(-(-self.shape[1] // BLOCK_ROWS))
        whole = np.concatenate([self._block(number) for number in blocks], axis=1)
        return whole if dtype is None else whole.astype(dtype)

    def take(self, rows: NDArray[np.intp], axis: int) -> Planes:
        """The planes of these rows, in this order."""
        out = np.empty((self.shape[0], len(rows)), np.uint64)
        of_block = rows // BLOCK_ROWS
        for number in np.unique(of_block):
            here = np.flatnonzero(of_block == number)
            out[:, here] = self._block(int(number))[:, rows[here] % BLOCK_ROWS]
        return out

    def _block(self, number: int) -> Planes:
        words, every = self.shape
        rows = min(BLOCK_ROWS, every - number * BLOCK_ROWS)
        raw = read_at(self._file, words * rows * 8, number * BLOCK_ROWS * words * 8)
        return np.frombuffer(raw, np.uint64).reshape(words, rows)


def spilled(bits: SignBits, folder: Path | None) -> SignBits:
    """The same bits with only their keys in memory."""
    return SignBits(bits.keys, FilePlanes(np.asarray(bits.planes), folder))
