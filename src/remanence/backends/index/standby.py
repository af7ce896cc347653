"""A second index that answers while the first is down or behind, and says so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from remanence.errors import IndexUnavailable
from remanence.model.embedding import FloatArray
from remanence.model.ports.store import Keys
from remanence.model.ports.vector_index import IndexStats, Nearest, VectorIndex
from remanence.model.progress import Progress
from remanence.model.system.files import remove


class WithStandby:
    """A `VectorIndex` that never lets a search fail; the standby is made when first needed.

    `file` is the standby's cache, if it has one: what is erased must not stay in it either.
    """

    def __init__(
        self, first: VectorIndex, standby: Callable[[], VectorIndex], file: Path | None = None
    ) -> None:
        self.first = first
        self._file = file
        self._make = standby
        self._standby: VectorIndex | None = None
        self._lock = threading.Lock()

    def nearest(
        self,
        partition: int,
        vector: FloatArray,
        limit: int,
        allowed: Keys | None = None,
        *,
        exact: bool = True,
    ) -> Nearest:
        """As in `VectorIndex`, from the first index that can answer."""
        try:
            return self.first.nearest(partition, vector, limit, allowed, exact=exact)
        except IndexUnavailable as error:
            found = self._second().nearest(partition, vector, limit, allowed, exact=exact)
            return replace(found, degraded=f"index: {error}")

    def stats(self) -> IndexStats:
        """The first index's, with what the standby holds in this process."""
        told = self.first.stats()
        if self._standby is None:
            return told
        held = self._standby.stats().bytes_in_memory
        return replace(told, bytes_in_memory=told.bytes_in_memory + held)

    def flush(self, partitions: Iterable[int] = ()) -> bool:
        """As in `VectorIndex`."""
        chosen = tuple(partitions)
        self._forget_file()
        followed = [index.flush(chosen) for index in self._there()]
        return all(followed)

    def rebuild(self, progress: Progress | None = None) -> None:
        """As in `VectorIndex`; the standby reads the store when it is next needed."""
        self._forget_file()
        self._each(lambda index: index.rebuild(progress if index is self.first else None))

    def close(self) -> None:
        """As in `VectorIndex`."""
        self._each(lambda index: index.close())

    def _second(self) -> VectorIndex:
        with self._lock:
            if self._standby is None:
                self._standby = self._make()
            return self._standby

    def _forget_file(self) -> None:
        """Remove a file that an earlier run has left, and nobody here would rewrite."""
        with self._lock:
            if self._standby is None and self._file is not None:
                remove(self._file)

    def _each(self, act: Callable[[VectorIndex], None]) -> None:
        for index in self._there():
            act(index)

    def _there(self) -> list[VectorIndex]:
        return [index for index in (self._standby, self.first) if index is not None]
