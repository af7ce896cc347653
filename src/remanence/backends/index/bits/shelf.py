"""The partitions held in memory: loaded on first use, kept up to date, dropped past a budget.

Nothing here locks; the index calls it from one thread at a time.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from remanence.backends.index.bits.cache_file import (
    CacheFile,
    VectorOwner,
    opened,
    removed,
    written,
)
from remanence.backends.index.bits.partition import ByteRows, Partition, of_bits, scanned, unpacked
from remanence.backends.index.bits.signs import SignBits
from remanence.errors import Closed, StoreError
from remanence.model.embedding import Fingerprint, FloatArray, unit_of
from remanence.model.fork_safety import computing
from remanence.model.ports.store import Keys, Store
from remanence.model.ports.vector_index import IndexStats, Nearest
from remanence.model.progress import Progress

_FEED = 10_000
_READ = 1_000


@dataclass(frozen=True, slots=True)
class HeldPartition:
    """A partition as it was at a position of its feed."""

    partition: Partition
    position: int


class PartitionShelf:
    """Partitions by number, each at its own position of its own feed."""

    def __init__(
        self,
        source: Store,
        owner: VectorOwner,
        file: Path | None,
        small: int,
        budget: int,
        *,
        spill: bool = True,
    ) -> None:
        self._source, self._owner, self._file = source, owner, file
        self._small, self._budget, self._spill = small, budget, spill
        self._held: OrderedDict[int, HeldPartition] = OrderedDict()
        self._bytes = 0
        self._cached: CacheFile | None = None
        self._begun = self._unsaved = False

    @property
    def vectors(self) -> int:
        """How many are in memory."""
        return sum(len(held.partition) for held in self._held.values())

    @property
    def nbytes(self) -> int:
        """Bytes of all that is in memory."""
        return self._bytes

    def partition(self, number: int, *, afresh: bool = False) -> Partition:
        """The partition at the feed's present position; `afresh` trusts nothing but the store."""
        self._begin()
        if afresh:
            self._release(number)
            self._forget_cached(number)
        before = self._held.get(number)
        held = self._current(number)
        if held is not before:
            held = self._hold(number, held)
        if number in self._held:
            self._held.move_to_end(number)
        return held.partition

    def save(self) -> None:
        """Write the file if it would differ from the one there; without sign bits, remove it."""
        if self._file is None:
            return
        self._begin()
        numbers = self._with_bits()
        if not (self._unsaved or any(self._is_old(number) for number in numbers)):
            return
        if numbers:
            self._cached = written(self._file, self._owner, self._kept(numbers))
        if not numbers or self._cached is None:
            self.drop_file()
        self._unsaved = False

    def forget(self) -> None:
        """Let go of all that is in memory, and of the file's content."""
        self._held.clear()
        self._bytes = 0
        self._cached = None
        self._unsaved = True

    def drop_file(self) -> None:
        """Remove the file."""
        self._cached = None
        if self._file is not None:
            removed(self._file)

    def _begin(self) -> None:
        if not self._begun:
            self._cached = opened(self._file, self._owner) if self._file is not None else None
            self._unsaved |= self._cached is None  # a file that cannot be trusted does not stay
            self._begun = True

    def _current(self, number: int) -> HeldPartition:
        """The partition from memory, else from the file, else scanned; then moved by the feed."""
        newest = self._source.recall.position(number)
        for look in (self._held.get, self._restored):  # the file only where memory has nothing
            found = look(number)
            held = None if found is None else self._followed(number, found, newest)
            if held is not None:
                return held
        self._forget_cached(number)
        return HeldPartition(self._scanned(number), newest)

    def _followed(self, number: int, held: HeldPartition, newest: int) -> HeldPartition | None:
        """The partition moved along the feed; nothing if a scan would be quicker."""
        if newest == held.position:
            return held
        at, keys = held.position, set[int]()
        while at < newest and len(keys) <= _READ + len(held.partition) // 4:
            changes = self._source.recall.changes(number, at, _FEED)
            keys.update(change.key for change in changes)
            at = changes[-1].seq if changes else newest
        if at < newest or held.position > newest:
            return None
        after = self._changed(number, held.partition, keys)
        return None if after is None else HeldPartition(after, at)

    def _changed(self, number: int, partition: Partition, keys: set[int]) -> Partition | None:
        """The partition with those memories read again; nothing if a scan would be quicker."""
        if len(keys) > _READ + len(partition) // 4:
            return None
        ordered = np.array(sorted(keys), np.int64)
        after = partition.changed(ordered, self._read(number, ordered))
        return None if after.shrunken else after

    def _read(self, number: int, keys: Keys) -> ByteRows:
        fingerprint = self._owner.fingerprint
        found = [
            (piece.key, piece.part, piece.vector)
            for start in range(0, len(keys), _READ)
            for piece in self._source.vectors.pieces(
                fingerprint, number, keys[start : start + _READ].tolist()
            )
        ]
        return unpacked(found, fingerprint.dimension)

    def _restored(self, number: int) -> HeldPartition | None:
        bits = self._cached.read(number) if self._cached is not None else None
        if bits is None or self._cached is None:
            return None
        partition = of_bits(bits, self._owner.fingerprint.dimension, self._small)
        return HeldPartition(partition, self._cached.entries[number].position)

    def _scanned(self, number: int) -> Partition:
        fingerprint = self._owner.fingerprint
        vectors = self._source.vectors.scan(fingerprint, number)
        return scanned(vectors, fingerprint.dimension, self._small)

    def _hold(self, number: int, held: HeldPartition) -> HeldPartition:
        """Keep it as far as the budget goes: sign bits past it are read from a file instead.

        What is too large even so (whole rows of a small partition) is made again at each search.
        """
        self._release(number)
        too_large = held.partition.nbytes > self._budget and len(held.partition.bits)
        if too_large and self._spill:
            folder = None if self._file is None else self._file.parent
            held = HeldPartition(held.partition.spilled(folder), held.position)
        self._held[number] = held
        self._bytes += held.partition.nbytes
        # The keys of the last one used are the least there is: without them every search scans.
        least = 1 if len(held.partition.bits) else 0
        while self._bytes > self._budget and len(self._held) > least:
            self._release(next(iter(self._held)))
        return held

    def _release(self, number: int) -> None:
        held = self._held.pop(number, None)
        self._bytes -= held.partition.nbytes if held is not None else 0

    def _forget_cached(self, number: int) -> None:
        if self._cached is not None and number in self._cached.entries:
            del self._cached.entries[number]
            self._unsaved = True

    def _with_bits(self) -> list[int]:
        cached = set(self._cached.entries) if self._cached is not None else set()
        held = {number for number, held in self._held.items() if len(held.partition.bits)}
        return sorted(cached | held)

    def _is_old(self, number: int) -> bool:
        entry = self._cached.entries.get(number) if self._cached is not None else None
        return entry is None or entry.position != self._source.recall.position(number)

    def _kept(self, numbers: list[int]) -> Iterator[tuple[int, int, SignBits]]:
        for number in numbers:
            held = self._current(number)
            if len(held.partition.bits):
                yield number, held.position, held.partition.folded().bits


_ATTEMPTS = 3
_RESCORE_OF = 100_000


class BitsIndex:
    """The embedded `VectorIndex`.

    Partitions of at most `small` vectors are scored exactly from memory. Larger ones keep one
    bit a dimension; the best by these are read from the store and scored exactly: `rescore` up to
    100,000 vectors, then growing with the root of their number, and always half more than
    `limit`. Past `budget_bytes`, partitions not used lately are dropped, and one that is too large
    by itself keeps its sign bits in a file and 4 bytes a vector in memory; what is found stays the
    same. Reading or writing `file`, which holds the sign bits between runs, takes one partition's
    for a moment. `identity` is the store's. Without `spill`, a partition
    that is too large for the budget stays in memory all the same.
    """

    def __init__(
        self,
        source: Store,
        fingerprint: Fingerprint,
        *,
        identity: str,
        file: Path | None = None,
        small: int = 4096,
        rescore: int = 160,
        budget_bytes: int = 64 << 20,
        spill: bool = True,
    ) -> None:
        self._source, self._fingerprint, self._rescore = source, fingerprint, rescore
        self._shelf = PartitionShelf(
            source, VectorOwner(identity, fingerprint), file, small, budget_bytes, spill=spill
        )
        self._lock = threading.Lock()
        self._closed = False

    def nearest(
        self,
        partition: int,
        vector: FloatArray,
        limit: int,
        allowed: Keys | None = None,
        *,
        exact: bool = True,
    ) -> Nearest:
        """As in `VectorIndex`; scores are exact cosines of the stored 8-bit vectors.

        Estimates come from the sign bits alone, without a look into the store.
        """
        query = unit_of(vector, self._fingerprint)
        if not exact:
            held = self._current(partition, afresh=False)
            return self._estimated(held, query, limit, allowed).best(limit)
        for attempt in range(_ATTEMPTS):
            held = self._current(partition, afresh=attempt == _ATTEMPTS - 1)
            found, whole = self._search(partition, held, query, limit, allowed)
            if whole or len(found.keys) >= limit:
                break
        return found.best(limit)

    def stats(self) -> IndexStats:
        """As in `VectorIndex`."""
        with self._lock:
            shelf = self._shelf
            return IndexStats(vectors=shelf.vectors, bytes_in_memory=shelf.nbytes)

    def flush(self, partitions: Iterable[int] = ()) -> bool:
        """As in `VectorIndex`; what was erased before is not in the new file."""
        with self._lock:
            self._refuse_if_closed()
            self._shelf.save()
        return True

    def rebuild(self, progress: Progress | None = None) -> None:
        """As in `VectorIndex`."""
        with self._lock:
            self._refuse_if_closed()
            self._shelf.forget()
            self._shelf.drop_file()

    def close(self) -> None:
        """As in `VectorIndex`; a store that cannot be read any more is no error here."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                self._shelf.save()
            except (StoreError, Closed):
                pass
            finally:
                self._shelf.forget()

    def _current(self, partition: int, *, afresh: bool) -> Partition:
        with self._lock:
            self._refuse_if_closed()
            return self._shelf.partition(partition, afresh=afresh)

    def _search(
        self, number: int, held: Partition, query: FloatArray, limit: int, allowed: Keys | None
    ) -> tuple[Nearest, bool]:
        """Scored pieces, and whether every memory chosen was still in the store."""
        if allowed is not None:
            held = held.among(allowed)
        keys = held.candidates(query, self._wanted(len(held.bits), limit))
        if not len(keys):
            return held.rows.scored(query), True
        pieces = self._source.vectors.pieces(self._fingerprint, number, keys.tolist())
        packed = ((piece.key, piece.part, piece.vector) for piece in pieces)
        read = unpacked(packed, self._fingerprint.dimension)
        whole = len(np.unique(read.keys)) == len(keys)
        return read.scored(query).together(held.rows.scored(query)), whole

    def _estimated(
        self, held: Partition, query: FloatArray, limit: int, allowed: Keys | None
    ) -> Nearest:
        if allowed is not None:
            held = held.among(allowed)
        with computing():
            return held.estimates(query, limit).together(held.rows.scored(query))

    def _wanted(self, rows: int, limit: int) -> int:
        grown = round(self._rescore * math.sqrt(rows / _RESCORE_OF))
        return max(grown, self._rescore, limit + limit // 2)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise Closed("The index is closed; open the memory again.")
