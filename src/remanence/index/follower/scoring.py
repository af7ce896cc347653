"""Exact scores from the store's own vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from remanence.index.bits.rows import unpacked
from remanence.index.bits.source import Source
from remanence.index.follower.engine import PART_BITS
from remanence.index.ranking import best, nothing, together
from remanence.model.embedding import Fingerprint, FloatArray
from remanence.ports.store import Keys
from remanence.ports.vector_index import Nearest

CHUNK = 4096


class Scoring:
    """Cosines of stored 8-bit vectors, read in chunks."""

    def __init__(self, source: Source, fingerprint: Fingerprint) -> None:
        self._source, self._fingerprint = source, fingerprint

    def of_all(self, partition: int, query: FloatArray, limit: int) -> Nearest:
        """The nearest pieces of a whole partition."""
        scan = self._source.scan_vectors(self._fingerprint, partition)
        found = nothing()
        while chunk := list(islice(scan, CHUNK)):
            found = best(together(found, self._scored(chunk, query)), limit)
        return found

    def of(self, partition: int, query: FloatArray, keys: Sequence[int], limit: int) -> Nearest:
        """The nearest pieces of these memories."""
        found = nothing()
        for at in range(0, len(keys), CHUNK):
            rows = self._rows(partition, keys[at : at + CHUNK])
            found = best(together(found, self._scored(list(rows), query)), limit)
        return found

    def again(self, partition: int, query: FloatArray, found: Nearest) -> Nearest:
        """The same pieces with exact scores, less those that the store no longer has."""
        rows = list(self._rows(partition, np.unique(found.keys).tolist()))
        scored = self._scored(rows, query)
        wanted = np.isin(_joined(scored), _joined(found))
        return Nearest(scored.keys[wanted], scored.parts[wanted], scored.scores[wanted])

    def _rows(self, partition: int, keys: Sequence[int]) -> Iterator[tuple[int, int, bytes]]:
        for piece in self._source.pieces(self._fingerprint, partition, keys):
            yield piece.key, piece.part, piece.vector

    def _scored(self, rows: list[tuple[int, int, bytes]], query: FloatArray) -> Nearest:
        return unpacked(rows, self._fingerprint.dimension).scored(query)


def among(found: Nearest, allowed: Keys) -> Nearest:
    """Only the pieces of allowed memories (ascending keys)."""
    at = np.searchsorted(allowed, found.keys)
    at[at == len(allowed)] = 0
    kept = allowed[at] == found.keys
    return Nearest(found.keys[kept], found.parts[kept], found.scores[kept])


def without(found: Nearest, keys: Keys) -> Nearest:
    """Only the pieces of other memories than these."""
    kept = ~np.isin(found.keys, keys)
    return Nearest(found.keys[kept], found.parts[kept], found.scores[kept])


def _joined(found: Nearest) -> Keys:
    return (found.keys << PART_BITS) | found.parts
