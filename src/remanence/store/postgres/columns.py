"""Rows as columns: what one statement takes for many rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from remanence.store.postgres.arrays import Array
from remanence.store.rows import Row

Kinds: TypeAlias = Mapping[str, Callable[[Iterable[Any]], Array]]

NEVER = -(2**63)  # a time that stands for none; an array of numbers holds no NULL


def arrays(kinds: Kinds, rows: Sequence[Row]) -> dict[str, Array]:
    """The rows as columns, each of its kind, by name."""
    values = zip(*rows, strict=True)
    return {name: kind(column) for (name, kind), column in zip(kinds.items(), values, strict=True)}
