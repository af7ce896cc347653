"""Stores of schemas from before, filled by the code of today."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

SINCE = ("said_from", "said_to")


@contextmanager
def lent(execute: Callable[[str], object]) -> Iterator[None]:
    """Memories have meanwhile the columns that an older schema lacks and every write fills."""
    for column in SINCE:
        execute(f"ALTER TABLE memories ADD COLUMN {column} integer NOT NULL DEFAULT 0")
    yield
    for column in SINCE:
        execute(f"ALTER TABLE memories DROP COLUMN {column}")
