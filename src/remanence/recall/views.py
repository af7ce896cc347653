"""Columns of the partitions in use: loaded when needed, moved along by the feed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from weakref import WeakValueDictionary

import numpy as np

from remanence.model.ports.store import RecallSource
from remanence.recall.associations import Associations, associations_of, moved
from remanence.recall.associations import trusted as trusted_of
from remanence.recall.columns import Columns, changed, columns_of, trusted
from remanence.recall.postings import KnownPostings

FEED_STEP = 5_000
# Known postings may take one in so many bytes of the columns: 2 MB at 100,000 memories.
POSTINGS_SHARE = 5
# A partition, how far what is seen of it must be trusted, and whether more than what is active is.
Which = tuple[int, float, bool]


@dataclass(frozen=True, slots=True)
class View:
    """A partition's columns, associations and known postings at a position of its feed."""

    columns: Columns
    associations: Associations
    postings: KnownPostings
    position: int
    nbytes: int


class _Gate:
    """Whoever has its lock reads the partition; it goes when nobody waits any more."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Views:
    """Gives a partition's columns as they stand in the store right now. Thread-safe.

    Partitions are read one by one, yet no search waits for the reading of another partition.
    """

    def __init__(self, source: RecallSource, budget_bytes: int) -> None:
        self._source = source
        self._budget = budget_bytes
        self._lock = threading.Lock()
        self._reading: WeakValueDictionary[Which, _Gate] = WeakValueDictionary()
        self._held: OrderedDict[Which, View] = OrderedDict()
        self._bytes = 0

    @property
    def nbytes(self) -> int:
        """What all columns held take in memory."""
        return self._bytes

    def columns(self, partition: int, min_trust: float = 0.0) -> Columns:
        """The partition's columns of what is active, every write up to now included."""
        return self.view(partition, min_trust).columns

    def view(self, partition: int, min_trust: float = 0.0, *, every: bool = False) -> View:
        """The partition's columns and associations, every write up to now included.

        They are as if nothing had ever been written that is trusted less than `min_trust`, or,
        without `every`, that is not active: what nobody is to find moves no figure of the rest.
        """
        newest, which = self._source.position(partition), (partition, 0.0, every)
        held, gate = self._known(which)
        if held is None or held.position < newest:
            with gate.lock:
                held, _ = self._known(which)
                if held is None or held.position < newest:
                    held = self._moved(partition, held, newest, every)
                    with self._lock:
                        self._hold(which, held)
        return self._trusted((partition, min_trust, every), held) if min_trust > 0 else held

    def _trusted(self, which: Which, whole: View) -> View:
        held, _ = self._known(which)
        if held is None or held.position != whole.position:
            held = only_trusted(whole, which[1])
            with self._lock:
                self._hold(which, held)
        return held

    def _known(self, which: Which) -> tuple[View | None, _Gate]:
        with self._lock:
            held = self._held.get(which)
            if held is not None:
                self._held.move_to_end(which)
            return held, self._reading.setdefault(which, _Gate())

    def _moved(self, partition: int, held: View | None, newest: int, every: bool) -> View:
        """The view at `newest`, or beyond: by the feed if it is short, else read afresh."""
        entries = [] if held is None else self._source.changes(partition, held.position, FEED_STEP)
        if held is None or len(entries) == FEED_STEP:
            columns = columns_of(self._source.traits(partition), active=not every)
            return _view(columns, associations_of(self._source, partition), newest)
        keys = sorted({entry.key for entry in entries})
        traits = list(self._source.traits(partition, keys))
        columns = changed(held.columns, keys, traits, active=not every)
        associations = moved(held.associations, self._source, partition, keys)
        return _view(columns, associations, entries[-1].seq if entries else newest)

    def _hold(self, which: Which, view: View) -> None:
        self._drop(which)
        self._held[which] = view
        self._bytes += view.nbytes
        while len(self._held) > 1 and self._bytes > self._budget:
            self._drop(next(iter(self._held)))

    def _drop(self, which: Which) -> None:
        held = self._held.pop(which, None)
        self._bytes -= held.nbytes if held is not None else 0


def only_trusted(view: View, min_trust: float, *, active: bool = False) -> View:
    """The view as if nothing that is trusted less, or not active, had ever been written."""
    columns = trusted(view.columns, min_trust, active=active)
    if columns is view.columns:
        return view
    known = trusted_of(view.associations, np.sort(columns.key), min_trust)
    return _view(columns, known, view.position)


def _view(columns: Columns, associations: Associations, position: int) -> View:
    words = columns.nbytes // POSTINGS_SHARE
    nbytes = columns.nbytes + associations.nbytes + words
    return View(columns, associations, KnownPostings(columns, words), position, nbytes)
