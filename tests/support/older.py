"""Stores of schemas from before, filled by the code of today."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

SINCE = {
    "said_from": "integer NOT NULL DEFAULT 0",
    "said_to": "integer NOT NULL DEFAULT 0",
    "packed": "bytea",
    "tier": "integer NOT NULL DEFAULT 0",
    "dictionary": "integer",
}
TABLES = {
    "dictionaries": "id integer, tenant integer, tainted integer",
    "dictionary_sources": "tenant integer, memory integer, dictionary integer",
}


@contextmanager
def lent(execute: Callable[[str], object]) -> Iterator[None]:
    """There are meanwhile the columns and tables that an older schema lacks and writes ask for."""
    for column, kind in SINCE.items():
        execute(f"ALTER TABLE memories ADD COLUMN {column} {kind}")
    for table, columns in TABLES.items():
        execute(f"CREATE TABLE {table} ({columns})")
    yield
    for table in TABLES:
        execute(f"DROP TABLE {table}")
    for column in SINCE:
        execute(f"ALTER TABLE memories DROP COLUMN {column}")
