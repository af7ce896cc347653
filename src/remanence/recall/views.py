"""Columns of the partitions in use: loaded when needed, moved along by the feed."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict

from remanence.ports.store import RecallSource
from remanence.recall.columns import Columns, changed, columns_of

FEED_STEP = 5_000


class Views:
    """Gives a partition's columns as they stand in the store right now. Thread-safe."""

    def __init__(self, source: RecallSource, budget_bytes: int) -> None:
        self._source = source
        self._budget = budget_bytes
        self._lock = threading.RLock()
        self._columns: OrderedDict[int, Columns] = OrderedDict()
        self._bytes = 0
        self._sizes: dict[int, int] = {}
        self._position = source.position()

    @property
    def nbytes(self) -> int:
        """What all columns held take in memory."""
        return self._bytes

    def columns(self, partition: int) -> Columns:
        """The partition's columns, every write up to now included."""
        with self._lock:
            self._catch_up()
            found = self._columns.get(partition)
            if found is None:
                found = columns_of(self._source.traits(partition))
                self._hold(partition, found)
            self._columns.move_to_end(partition)
            return found

    def _hold(self, partition: int, columns: Columns) -> None:
        self._drop(partition)
        self._columns[partition] = columns
        self._sizes[partition] = columns.nbytes
        self._bytes += self._sizes[partition]
        while len(self._columns) > 1 and self._bytes > self._budget:
            self._drop(next(iter(self._columns)))

    def _drop(self, partition: int) -> None:
        if self._columns.pop(partition, None) is not None:
            self._bytes -= self._sizes.pop(partition)

    def _catch_up(self) -> None:
        newest = self._source.position()
        if newest == self._position:
            return
        entries = self._source.changes(self._position, FEED_STEP)
        if len(entries) == FEED_STEP:
            for partition in list(self._columns):
                self._drop(partition)
            self._position = newest
            return
        touched: defaultdict[int, set[int]] = defaultdict(set)
        for entry in entries:
            touched[entry.partition].add(entry.key)
        for partition, keys in touched.items():
            if partition in self._columns:
                self._move(partition, keys)
        self._position = entries[-1].seq if entries else newest

    def _move(self, partition: int, keys: set[int]) -> None:
        before = self._columns[partition]
        traits = list(self._source.traits(partition, sorted(keys)))
        self._drop(partition)
        self._hold(partition, changed(before, keys, traits))
