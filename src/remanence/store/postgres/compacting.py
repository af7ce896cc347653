"""Tables rewritten from their live rows, again where a removed row had to stay the first time."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg.errors import Diagnostic
from psycopg.sql import SQL, Identifier

from remanence.store.postgres.opening import PatientConnection
from remanence.store.postgres.session import sql

_PAUSE_S = 0.1
_NUMBER = re.compile(r"\d+")
_SAMPLES = "pg_statistic"
_CAN_CLEAR = 180000


def tables(connection: PatientConnection) -> list[str]:
    """Every table of the store."""
    return [str(name) for (name,) in connection.execute(sql("every_table").encode()).fetchall()]


def vacuum(connection: PatientConnection, name: str, how: str) -> None:
    """Run VACUUM on one table."""
    connection.execute(SQL("VACUUM ({}) {}").format(SQL(how), Identifier(name)))


def compact(connection: PatientConnection, patience_s: float) -> None:
    """Rewrite every table, and the planner's statistics, which hold samples of values.

    PostgreSQL keeps removed rows that a transaction begun earlier, even its own autovacuum, may
    still see; such a table is rewritten again until `patience_s` have passed.
    """
    deadline = time.monotonic() + patience_s
    every = tables(connection)
    for name in every:
        _rewrite(connection, name, deadline)
    if connection.info.server_version >= _CAN_CLEAR:
        connection.execute(sql("clear_samples").encode())
    for name in every:
        vacuum(connection, name, "ANALYZE")
    _rewrite(connection, _SAMPLES, deadline)


def _rewrite(connection: PatientConnection, name: str, deadline: float) -> None:
    while _rows_left(connection, name) and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)


def _rows_left(connection: PatientConnection, name: str) -> int:
    """Rewrite a table; how many removed rows had to stay."""
    with _told(connection) as details:
        vacuum(connection, name, "FULL, VERBOSE")
    # The first line of each is "5 dead row versions cannot be removed yet.", in any language.
    numbers = (_NUMBER.search(detail.splitlines()[0]) for detail in details if detail)
    return sum(int(number[0]) for number in numbers if number)


@contextmanager
def _told(connection: PatientConnection) -> Iterator[list[str]]:
    """The details of what the server says meanwhile."""
    details: list[str] = []

    def hear(said: Diagnostic) -> None:
        details.append(said.message_detail or "")

    connection.add_notice_handler(hear)
    try:
        yield details
    finally:
        connection.remove_notice_handler(hear)
