"""Sign bits that do not fit the budget: in a nameless file, read block by block at each search."""

from __future__ import annotations

import os
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.index.bits.signs import BLOCK_ROWS, Planes, SignBits
from remanence.system.files import read_at


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
