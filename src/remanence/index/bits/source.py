"""What the index reads of a store: the change feed and the stored vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from remanence.model.embedding import Fingerprint
from remanence.ports.pieces import StoredPieces
from remanence.ports.store import Change


class Source(Protocol):
    """The part of `RecallSource` and `Vectors` that an index needs; every store fulfils it."""

    def position(self, partition: int) -> int:
        """As in `RecallSource`."""

    def changes(self, partition: int, after: int, limit: int) -> list[Change]:
        """As in `RecallSource`."""

    def pieces(self, fingerprint: Fingerprint, partition: int, keys: Sequence[int]) -> StoredPieces:
        """As in `Vectors`."""

    def scan_vectors(
        self, fingerprint: Fingerprint, partition: int
    ) -> Iterator[tuple[int, int, bytes]]:
        """As in `Vectors`."""
