"""Keys between SQL and NumPy, and ids to SQL, in bulk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw
import numpy as np

from remanence.ports.store import Keys


def bound(keys: Sequence[int] | Keys) -> apsw.CArrayBinding | None:
    """Keys for `carray(?)`, each once, in order; None, which gives no rows, if there are none."""
    array = np.unique(np.asarray(keys, np.int64))
    return apsw.carray(array) if len(array) else None


def bound_ids(ids: Iterable[bytes]) -> apsw.CArrayBinding | None:
    """Ids for `carray(?)`, as they are; None, which gives no rows, if there are none."""
    listed = tuple(ids)
    return apsw.carray(listed) if listed else None


def parsed(joined: str | None) -> Keys:
    """The numbers that `group_concat` joined; 3 times as fast as reading a row for each."""
    if not joined:
        return np.empty(0, np.int64)
    return np.fromstring(joined, np.int64, sep=",")
