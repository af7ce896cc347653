"""Finding the rows of given memories in an ascending column of keys."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

RowNumbers: TypeAlias = NDArray[np.intp]
KeyColumn: TypeAlias = NDArray[np.signedinteger[Any]]

_SPARSE = 16
_WIDE = 32


def rows_of(column: KeyColumn, wanted: KeyColumn) -> RowNumbers:
    """Rows whose key is among `wanted`; both ascending, `wanted` without repeats."""
    if not len(column):
        return np.empty(0, np.intp)
    low, high = int(column[0]), int(column[-1])
    first, last = np.searchsorted(wanted, low), np.searchsorted(wanted, high, "right")
    inside = wanted[first:last].astype(column.dtype)
    if len(inside) * _SPARSE < len(column) or high - low > _WIDE * len(column):
        return _by_search(column, inside)
    return _by_table(column, inside, low, high)


def narrow(keys: KeyColumn) -> KeyColumn:
    """The keys in 32 bits if they fit."""
    fits = not len(keys) or int(keys.max()) <= np.iinfo(np.int32).max
    return keys.astype(np.int32 if fits else np.int64)


def _by_search(column: KeyColumn, wanted: KeyColumn) -> RowNumbers:
    first = np.searchsorted(column, wanted)
    counts = np.searchsorted(column, wanted, "right") - first
    ends = np.cumsum(counts)
    return np.repeat(first - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)


def _by_table(column: KeyColumn, wanted: KeyColumn, low: int, high: int) -> RowNumbers:
    table = np.zeros(high - low + 1, np.bool_)
    table[wanted - low] = True
    return np.flatnonzero(table[column - low])
