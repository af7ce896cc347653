"""Pieces as a store gives them out: one by one, or in columns for those who compare many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
FIGURES = 5  # of a piece, before its bytes


class StoredPiece(NamedTuple):
    """A piece with the memory it belongs to."""

    key: int
    part: int
    start: int
    stop: int
    passage: int
    vector: bytes
    codes: bytes


@dataclass(frozen=True, slots=True, eq=False)
class StoredPieces(Sequence[StoredPiece]):
    """Several pieces in columns, which equal a list of the same ones.

    The vectors of all of them follow each other, and so do their codes; `vector_ends` and
    `code_ends` say where each ends.
    """

    figures: Whole  # the five numbers of a `StoredPiece`, a row each
    vectors: bytes
    vector_ends: Whole
    codes: bytes
    code_ends: Whole

    @classmethod
    def of(cls, pieces: Iterable[StoredPiece]) -> StoredPieces:
        """These pieces in columns."""
        listed = list(pieces)
        figures = np.array([piece[:FIGURES] for piece in listed], np.int64).reshape(-1, FIGURES).T
        vectors, codes = [p.vector for p in listed], [p.codes for p in listed]
        return cls(figures, b"".join(vectors), _ends(vectors), b"".join(codes), _ends(codes))

    @classmethod
    def joined(cls, parts: Sequence[StoredPieces]) -> StoredPieces:
        """All of them, in this order."""
        if len(parts) == 1:
            return parts[0]
        return cls.of(piece for part in parts for piece in part)

    @property
    def keys(self) -> Whole:
        """The memory of each piece."""
        keys: Whole = self.figures[0]
        return keys

    def __len__(self) -> int:
        return len(self.vector_ends)

    @overload
    def __getitem__(self, at: int) -> StoredPiece: ...
    @overload
    def __getitem__(self, at: slice) -> list[StoredPiece]: ...
    def __getitem__(self, at: int | slice) -> StoredPiece | list[StoredPiece]:
        if isinstance(at, slice):
            return [self[n] for n in range(*at.indices(len(self)))]
        place = range(len(self))[index(at)]
        key, part, start, stop, passage = self.figures[:, place].tolist()
        vector = self.vectors[_begin(self.vector_ends, place) : int(self.vector_ends[place])]
        codes = self.codes[_begin(self.code_ends, place) : int(self.code_ends[place])]
        return StoredPiece(key, part, start, stop, passage, vector, codes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def rows(self) -> NDArray[np.int8]:
        """The bytes of each vector, a row each; they have to be of one length."""
        return np.frombuffer(self.vectors, np.int8).reshape(len(self), -1)

    def vector_sizes(self) -> Whole:
        """How many bytes each vector has."""
        return np.diff(self.vector_ends, prepend=0)

    def code_sizes(self) -> Whole:
        """How many bytes each piece's codes have."""
        return np.diff(self.code_ends, prepend=0)


def _ends(parts: Sequence[bytes]) -> Whole:
    return np.cumsum([*map(len, parts)], dtype=np.int64)


def _begin(ends: NDArray[Any], place: int) -> int:
    return int(ends[place - 1]) if place else 0
