"""The store's SQL, by name, on a connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from remanence.store import blocks


def sql(name: str) -> str:
    """The statement of that name."""
    return blocks.blocks(__package__)[name]


def run(connection: apsw.Connection, name: str, values: apsw.Bindings = ()) -> apsw.Cursor:
    """Execute the named statement."""
    return connection.execute(sql(name), values)


def run_many(connection: apsw.Connection, name: str, rows: Sequence[apsw.Bindings]) -> list[Any]:
    """Execute the named statement once for every row of values; all that it gives back."""
    return connection.executemany(sql(name), rows).fetchall()


def fetch_all(connection: apsw.Connection, name: str, values: apsw.Bindings = ()) -> list[Any]:
    """All rows of the named statement."""
    return connection.execute(sql(name), values).fetchall()


def only_row(cursor: apsw.Cursor) -> Any:
    """The one row that a statement gives, None if there is none; read to its end.

    apsw 3.54.0 never ends a statement that read a dictionary and is left before its end, and its
    connection would see the past from then on.
    """
    return next(iter(cursor.fetchall()), None)


def fetch_value(connection: apsw.Connection, name: str, values: apsw.Bindings = ()) -> Any:
    """The one value that the named statement gives, None if it gives no row."""
    return connection.execute(sql(name), values).get


def migrations() -> list[tuple[int, str]]:
    """Every migration with its number, in order."""
    return blocks.migrations(__package__)
