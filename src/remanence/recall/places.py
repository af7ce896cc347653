"""Where each key of a partition stands among its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remanence.ports.store import Keys

NOWHERE = -1
# Keys that lie close together get a table, which is no larger than the keys and rows themselves.
CLOSE = 3


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The rows of keys: by a table over all keys from `first` on, or of the `keys` there are."""

    first: int
    rows: NDArray[np.int32]
    keys: Keys | None  # ascending; None where `rows` is a table

    def rows_of(self, keys: Keys) -> NDArray[np.int64]:
        """Row numbers of these keys, -1 for a key that is not here."""
        if not len(self.rows):
            return np.full(len(keys), NOWHERE, np.int64)
        if self.keys is not None:
            places = self.keys.searchsorted(keys)
            places[places == len(self.keys)] = 0
            rows = self.rows[places].astype(np.int64)
            rows[self.keys[places] != keys] = NOWHERE
            return rows
        places = np.subtract(keys, self.first, dtype=np.int64)
        rows = self.rows.take(places, mode="clip").astype(np.int64)
        rows[(places < 0) | (places >= len(self.rows))] = NOWHERE
        return rows


def places_of(key: Keys) -> Places:
    """The places of a column of keys, each once."""
    if not len(key):
        return Places(0, np.empty(0, np.int32), None)
    first, span = int(key.min()), int(key.max()) - int(key.min()) + 1
    if span <= CLOSE * len(key):
        table = np.full(span, NOWHERE, np.int32)
        table[key - first] = np.arange(len(key), dtype=np.int32)
        return Places(first, table, None)
    order = np.argsort(key, kind="stable").astype(np.int32)
    return Places(first, order, key[order])
