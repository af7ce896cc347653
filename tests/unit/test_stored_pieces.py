"""Pieces in columns are the same pieces."""

from __future__ import annotations

import numpy as np
import pytest

from remanence.model.ports.pieces import StoredPiece, StoredPieces

LISTED = [
    StoredPiece(7, 0, 0, 4, 0, b"abcd", b""),
    StoredPiece(7, 1, 4, 9, 0, b"efgh", b"x" * 16),
    StoredPiece(8, 0, 0, 3, 0, b"ijkl", b"y" * 32),
]
PIECES = StoredPieces.of(LISTED)


def test_they_equal_the_list_of_them() -> None:
    assert PIECES == LISTED
    assert [*PIECES] == LISTED
    assert LISTED[:2] != PIECES
    assert PIECES != 5
    assert StoredPieces.of([]) == []
    assert not StoredPieces.of([])


def test_each_is_found_by_its_place() -> None:
    assert (PIECES[1], PIECES[-1], PIECES[1:]) == (LISTED[1], LISTED[2], LISTED[1:])
    for place in (3, -4):
        with pytest.raises(IndexError):
            PIECES[place]


def test_columns_hold_what_the_pieces_hold() -> None:
    assert PIECES.keys.tolist() == [7, 7, 8]
    assert PIECES.rows().tolist() == [[*b"abcd"], [*b"efgh"], [*b"ijkl"]]
    assert PIECES.code_sizes().tolist() == [0, 16, 32]
    assert PIECES.vector_sizes().tolist() == [4, 4, 4]


def test_parts_can_be_joined() -> None:
    first, second = StoredPieces.of(LISTED[:1]), StoredPieces.of(LISTED[1:])
    assert StoredPieces.joined([first, second]) == LISTED
    assert StoredPieces.joined([PIECES]) is PIECES
    assert StoredPieces.joined([]) == []


def test_vectors_of_several_lengths_are_no_rows() -> None:
    uneven = StoredPieces.of([LISTED[0], LISTED[1]._replace(vector=b"efg")])
    with pytest.raises(ValueError, match="reshape"):
        uneven.rows()
    assert np.array_equal(uneven.vector_sizes(), [4, 3])
