"""Pieces come out of SQLite joined into one row, byte for byte as they went in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from remanence.model.write import Piece, Pieces
from remanence.store.sqlite import SqliteStore
from remanence.store.sqlite import vectors as reading
from remanence.testing.store_suites.making import FINGERPRINT, add, memory, partition_of

SIZE = FINGERPRINT.dimension + 4
ODD = [b"\0" * 16, b"\xff" * 32, b"", bytes(range(256)), b"\xed\xa0\x80" + b"\0" * 13]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "pieces.db")
    yield opened
    opened.close()


def made(*codes: bytes) -> Pieces:
    parts = [
        Piece(part=n, passage=n // 2, start=n, stop=n + 3, vector=os.urandom(SIZE), codes=code)
        for n, code in enumerate(codes)
    ]
    return Pieces(fingerprint=FINGERPRINT, pieces=tuple(parts))


def test_bytes_that_are_no_text_stay_as_they_are(store: SqliteStore) -> None:
    zeros = made(*ODD)
    dark = Piece(part=5, passage=2, start=5, stop=8, vector=b"\0" * SIZE, codes=b"")
    whole = Pieces(fingerprint=FINGERPRINT, pieces=(*zeros.pieces, dark))
    add(store, memory("x"), made=whole)
    found = store.vectors.pieces(FINGERPRINT, partition_of(store), [1])
    assert [piece[1:] for piece in found] == [
        (p.part, p.start, p.stop, p.passage, p.vector, p.codes) for p in whole.pieces
    ]


def test_many_are_read_in_order_however_they_are_asked(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_CHUNK", 3)
    kept = [made(b"a" * 16, b"b" * 32) for _ in range(8)]
    for one in kept:
        add(store, memory("x"), made=one)
    found = store.vectors.pieces(FINGERPRINT, partition_of(store), [8, 2, 5, 1, 2, 7, 3, 6, 4, 99])
    assert [(p.key, p.part) for p in found] == [(key, n) for key in range(1, 9) for n in (0, 1)]
    assert [p.vector for p in found] == [p.vector for one in kept for p in one.pieces]


def test_nothing_is_found_for_no_keys_and_for_no_terms(store: SqliteStore) -> None:
    add(store, memory("x"), made=made(b""))
    assert store.vectors.pieces(FINGERPRINT, partition_of(store), []) == []
    assert store.vectors.pieces(FINGERPRINT, partition_of(store), [77]) == []
    assert store.recall.postings(partition_of(store), [], 9) == []
