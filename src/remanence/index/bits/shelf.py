"""The partitions held in memory: loaded on first use, kept up to date, dropped past a budget.

Nothing here locks; the index calls it from one thread at a time.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from remanence.index.bits.cache_file import CacheFile, Owner, opened, removed, written
from remanence.index.bits.partition import Partition, of_bits, scanned
from remanence.index.bits.rows import ByteRows, unpacked
from remanence.index.bits.signs import SignBits
from remanence.index.bits.source import Source
from remanence.ports.store import Change, Keys

_FEED = 10_000
_READ = 1_000
_FAR_BEHIND = 200_000  # feed entries; from there on, scanning afresh is no slower


class Shelf:
    """Partitions by number, all at one position of the feed.

    `touched` are the keys changed since the file was written: what is read from it is mended
    with them, whether or not it was in memory when the change came.
    """

    def __init__(
        self, source: Source, owner: Owner, file: Path | None, small: int, budget: int
    ) -> None:
        self.position = 0
        self._source, self._owner, self._file = source, owner, file
        self._small, self._budget = small, budget
        self._held: OrderedDict[int, Partition] = OrderedDict()
        self._bytes = 0
        self._cached: CacheFile | None = None
        self._touched: defaultdict[int, set[int]] = defaultdict(set)
        self._begun = self._unsaved = False

    @property
    def vectors(self) -> int:
        """How many are in memory."""
        return sum(map(len, self._held.values()))

    @property
    def nbytes(self) -> int:
        """Bytes of all that is in memory."""
        return self._bytes

    def partition(self, number: int, *, afresh: bool = False) -> Partition:
        """The partition at the feed's present position; `afresh` trusts nothing but the store."""
        self.follow()
        if afresh:
            self._discard(number)
        if number not in self._held:
            self._hold(number, self._loaded(number))
        self._held.move_to_end(number)
        return self._held[number]

    def follow(self) -> None:
        """Apply the feed up to the store's position."""
        newest = self._source.position()
        if not self._begun:
            self._begin(newest)
        if not 0 <= newest - self.position <= _FAR_BEHIND:
            self.forget()
            self.position = newest
        while self.position < newest:
            changes = self._source.changes(self.position, _FEED)
            self._apply(changes)
            self.position = changes[-1].seq if changes else newest

    def save(self) -> None:
        """Write the file if it would differ from the one there; without sign bits, remove it."""
        if self._file is None:
            return
        self.follow()
        if not self._unsaved:
            return
        numbers = self._with_bits()
        if numbers:
            kept = self._kept(numbers)
            self._cached = written(self._file, self._owner, self.position, kept)
        if not numbers or self._cached is None:
            self.drop_file()
        self._touched.clear()
        self._unsaved = False

    def forget(self) -> None:
        """Let go of all that is in memory, and of the file's content."""
        self._held.clear()
        self._touched.clear()
        self._bytes = 0
        self._cached = None
        self._unsaved = True

    def drop_file(self) -> None:
        """Remove the file."""
        self._cached = None
        if self._file is not None:
            removed(self._file)

    def _begin(self, newest: int) -> None:
        found = opened(self._file, self._owner) if self._file is not None else None
        self._cached = found
        self.position = newest if found is None else found.position
        self._unsaved |= found is None  # a file that cannot be trusted does not stay
        self._begun = True

    def _apply(self, changes: Iterable[Change]) -> None:
        keys_by_partition: defaultdict[int, set[int]] = defaultdict(set)
        for change in changes:
            keys_by_partition[change.partition].add(change.key)
        for number, keys in keys_by_partition.items():
            self._apply_to(number, keys)

    def _apply_to(self, number: int, keys: set[int]) -> None:
        if self._cached is not None and number in self._cached.entries:
            self._touched[number] |= keys
            self._unsaved = True
        held = self._held.get(number)
        if held is None:
            return
        after = self._changed(held, keys)
        if after is None:
            self._discard(number)
        else:
            self._hold(number, after)
            self._unsaved |= len(after.bits) > 0

    def _changed(self, partition: Partition, keys: set[int]) -> Partition | None:
        """The partition with those memories read again; nothing if a scan would be quicker."""
        if len(keys) > _READ + len(partition) // 4:
            return None
        ordered = np.array(sorted(keys), np.int64)
        after = partition.changed(ordered, self._read(ordered))
        return None if after.shrunken else after

    def _read(self, keys: Keys) -> ByteRows:
        fingerprint = self._owner.fingerprint
        found = [
            (piece.key, piece.part, piece.vector)
            for start in range(0, len(keys), _READ)
            for piece in self._source.pieces(fingerprint, keys[start : start + _READ].tolist())
        ]
        return unpacked(found, fingerprint.dimension)

    def _loaded(self, number: int) -> Partition:
        restored = self._restored(number)
        if restored is not None:
            return restored
        partition = self._scanned(number)
        self._unsaved |= len(partition.bits) > 0
        return partition

    def _restored(self, number: int) -> Partition | None:
        bits = self._cached.read(number) if self._cached is not None else None
        if bits is None:
            return None
        partition = of_bits(bits, self._owner.fingerprint.dimension, self._small)
        touched = self._touched.get(number)
        return self._changed(partition, touched) if touched else partition

    def _scanned(self, number: int) -> Partition:
        fingerprint = self._owner.fingerprint
        vectors = self._source.scan_vectors(fingerprint, number)
        return scanned(vectors, fingerprint.dimension, self._small)

    def _hold(self, number: int, partition: Partition) -> None:
        self._release(number)
        self._held[number] = partition
        self._bytes += partition.nbytes
        while self._bytes > self._budget and len(self._held) > 1:
            self._release(next(iter(self._held)))

    def _release(self, number: int) -> None:
        held = self._held.pop(number, None)
        self._bytes -= held.nbytes if held is not None else 0

    def _discard(self, number: int) -> None:
        self._release(number)
        if self._cached is not None and number in self._cached.entries:
            del self._cached.entries[number]
            self._unsaved = True

    def _with_bits(self) -> list[int]:
        cached = set(self._cached.entries) if self._cached is not None else set()
        return sorted(cached | {number for number, held in self._held.items() if len(held.bits)})

    def _kept(self, numbers: list[int]) -> Iterator[tuple[int, SignBits]]:
        for number in numbers:
            held = self._held.get(number)
            partition = self._restored(number) if held is None else held
            if partition is not None and len(partition.bits):
                yield number, partition.folded().bits
