"""Stored vectors as merging needs them: one for each memory, a block at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np

from remanence.model.embedding import Fingerprint, FloatArray, restored
from remanence.ports.store import Store


def vectors_of(
    store: Store, fingerprint: Fingerprint | None, partition: int, keys: Sequence[int]
) -> dict[int, FloatArray]:
    """A unit vector for each memory that has pieces: their mean.

    The mean, because a text cut elsewhere has other pieces that add up to much the same, while its
    best pieces would be alike even where the rest of it differs.
    """
    if fingerprint is None or not keys:
        return {}
    pieces = store.pieces(fingerprint, partition, keys)
    return dict(means((piece.key, piece.vector) for piece in pieces))


def blocks(
    store: Store, fingerprint: Fingerprint, partition: int, size: int = 4096
) -> Iterator[tuple[list[int], FloatArray]]:
    """Keys and unit vectors of a whole partition, so many memories at a time."""
    scanned = store.scan_vectors(fingerprint, partition)
    keys: list[int] = []
    rows: list[FloatArray] = []
    for key, vector in means((key, vector) for key, _, vector in scanned):
        keys.append(key)
        rows.append(vector)
        if len(keys) == size:
            yield keys, np.stack(rows)
            keys, rows = [], []
    if keys:
        yield keys, np.stack(rows)


def means(pieces: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, FloatArray]]:
    """The mean of each key's vectors, of length 1; pieces come by key."""
    for key, found in groupby(pieces, key=lambda piece: piece[0]):
        total = restored([vector for _, vector in found]).sum(axis=0)
        length = float(np.linalg.norm(total))
        if length > 0:
            yield key, np.asarray(total / length, np.float32)
