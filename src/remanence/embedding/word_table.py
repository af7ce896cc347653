"""The vectors of a model's words: a file of which only the words of a text are read."""

from __future__ import annotations

import os
import weakref
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from remanence.errors import ModelInvalid
from remanence.model.embedding import FloatArray, floats_of


class WordTable:
    """Rows by number: bytes as `quantised` lays a vector out, or plain floats.

    The model could hold it, mapped into memory. But the system maps what lies around each row as
    well: after some thousand questions all 12 MB of it were in memory, and a word takes 388 bytes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with path.open("rb") as file:
                npy.read_magic(file)
                self._shape, _, self._dtype = npy.read_array_header_1_0(file)
                self._begin = file.tell()
            self._file = os.open(path, os.O_RDONLY)
        except (OSError, ValueError) as error:
            raise ModelInvalid(f"{path} cannot be read as a table of words: {error}") from error
        weakref.finalize(self, os.close, self._file)

    def vectors(self, numbers: NDArray[np.int64]) -> FloatArray:
        """The vectors of these words: one more axis than the numbers have."""
        wanted, places = np.unique(numbers, return_inverse=True)
        size = self._shape[1] * self._dtype.itemsize
        found = [os.pread(self._file, size, self._begin + n * size) for n in wanted.tolist()]
        if any(len(row) != size for row in found):
            raise ModelInvalid(
                f"{self._path} lacks words that the tokenizer knows; build it again."
            )
        rows = np.frombuffer(b"".join(found), self._dtype).reshape(len(wanted), -1)
        vectors: FloatArray = floats_of(rows) if rows.dtype == np.int8 else rows
        return vectors[places].reshape(*numbers.shape, -1)


def save_words(path: Path, table: FloatArray, *, quantised: bool) -> None:
    """Write a table: a word each row, if wished in 8 bits a dimension after its step."""
    if quantised:
        codes, steps = quantise_rows(table)
        np.save(path, np.concatenate([steps.view(np.int8), codes], axis=1))
    else:
        np.save(path, np.ascontiguousarray(table, np.float32))


def quantise_rows(table: FloatArray) -> tuple[NDArray[np.int8], FloatArray]:
    """Signed bytes and one scale per row."""
    scale = np.abs(table).max(axis=1, keepdims=True) / np.float32(127)
    scale = np.where(scale == 0, np.float32(1), scale)
    return np.rint(table / scale).astype(np.int8), scale
