"""The vectors of a model's words: a file of which only the words of a text are read."""

from __future__ import annotations

import os
import weakref
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from remanence.errors import ModelInvalid
from remanence.model.embedding import FloatArray, floats_of
from remanence.model.system.files import BINARY, read_at

KEPT = 2_000  # words, about 1 MB


class WordTable:
    """Rows by number: bytes as `quantised` lays a vector out, or plain floats.

    The model could hold it, mapped into memory. But the system maps what lies around each row as
    well: after some thousand questions all 12 MB of it were in memory, and a word takes 388 bytes.
    The last words are kept: each read lets go of the interpreter, and other threads then take it.
    """

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                npy.read_magic(file)
                shape, _, self._dtype = npy.read_array_header_1_0(file)
                begin = file.tell()
            self._file = os.open(path, os.O_RDONLY | BINARY)
        except (OSError, ValueError) as error:
            raise ModelInvalid(f"{path} cannot be read as a table of words: {error}") from error
        weakref.finalize(self, os.close, self._file)
        read = partial(_read, path, self._file, begin, shape[1] * self._dtype.itemsize)
        self._row = lru_cache(KEPT)(read)

    def vectors(self, numbers: NDArray[np.int64]) -> FloatArray:
        """The vectors of these words: one more axis than the numbers have."""
        found = b"".join(map(self._row, numbers.ravel().tolist()))
        rows = np.frombuffer(found, self._dtype).reshape(numbers.size, -1)
        vectors: FloatArray = floats_of(rows) if rows.dtype == np.int8 else rows
        return vectors.reshape(*numbers.shape, -1)


def _read(path: Path, file: int, begin: int, size: int, number: int) -> bytes:
    row = read_at(file, size, begin + number * size)
    if len(row) != size:
        raise ModelInvalid(f"{path} lacks words that the tokenizer knows; build it again.")
    return row


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
