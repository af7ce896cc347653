"""What the index reads of a store: the change feed and the stored vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from remanence.model.embedding import Fingerprint
from remanence.ports.store import Change, StoredPiece


class Source(Protocol):
    """The part of `RecallSource` and `Vectors` that an index needs; every store fulfils it."""

    def position(self, partition: int) -> int:
        """As in `RecallSource`."""

    def changes(self, partition: int, after: int, limit: int) -> list[Change]:
        """As in `RecallSource`."""

    def pieces(
        self, fingerprint: Fingerprint, partition: int, keys: Sequence[int]
    ) -> list[StoredPiece]:
        """As in `Vectors`."""

    def scan_vectors(
        self, fingerprint: Fingerprint, partition: int
    ) -> Iterator[tuple[int, int, bytes]]:
        """As in `Vectors`."""
