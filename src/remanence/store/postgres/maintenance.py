"""Tending a database: the feed shortened, dead rows cleared, statistics taken, tables rewritten.

Autovacuum does most of that too; it never analyses the tables that are in parts as a whole, and
rebuilds no index. Nothing here blocks readers or writers.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg.errors import Diagnostic
from psycopg.sql import SQL, Identifier

from remanence.model.progress import Progress
from remanence.store.core.upkeep import Steps
from remanence.store.postgres.opening import PatientConnection
from remanence.store.postgres.schema import only_one
from remanence.store.postgres.session import NOBODY, Session, sql

_PAUSE_S = 0.1
_NUMBER = re.compile(r"\d+")
_SAMPLES = "pg_statistic"
_CAN_CLEAR = 180000
# Below these, a table is fresh enough, an index not worth it.
_ROWS, _SHARE = 100, 0.05
_INDEX_BYTES, _BLOATED = 16 << 20, 3.0


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


def tend(connection: PatientConnection, progress: Progress | None) -> dict[str, int]:
    """All of it; what was done, in counts."""
    tenants = [id for (id,) in Session(connection, NOBODY).rows("tenant_numbers")]
    steps = Steps(progress)
    done = {"feed_trimmed": sum(_trim_feed(connection, id, steps) for id in tenants)}
    with only_one(connection, "indexes"):
        done["indexes_rebuilt"] = _rebuild_indexes(connection, steps)
    done["tables_vacuumed"] = _vacuum(connection, steps)
    return done


def _trim_feed(connection: PatientConnection, tenant: int, steps: Steps) -> int:
    """Leave out entries that a later one of the same memory repeats; how many.

    Whoever followed the feed up to any place still finds every memory that changed after it.
    """
    with connection.transaction():
        trimmed = Session(connection, tenant).run("trim_feed").rowcount
    steps.one()
    return trimmed


def _rebuild_indexes(connection: PatientConnection, steps: Steps) -> int:
    """Rebuild indexes that take far more room than their entries; first clear half-made ones."""
    for (name,) in connection.execute(sql("half_made").encode()).fetchall():
        connection.execute(SQL("DROP INDEX IF EXISTS {}").format(Identifier(name)))
    asked = {"bytes": _INDEX_BYTES, "bloated": _BLOATED}
    found = connection.execute(sql("bloated_indexes").encode(), asked).fetchall()
    for (name,) in found:
        connection.execute(SQL("REINDEX INDEX CONCURRENTLY {}").format(Identifier(name)))
        steps.one()
    return len(found)


def _vacuum(connection: PatientConnection, steps: Steps) -> int:
    """Vacuum and analyse the tables that changed, and analyse as a whole those in parts."""
    asked = {"rows": _ROWS, "share": _SHARE}
    found = connection.execute(sql("changed_tables").encode(), asked).fetchall()
    for name, _ in found:
        vacuum(connection, name, "ANALYZE, SKIP_LOCKED")
        steps.one()
    for whole in sorted({whole for _, whole in found if whole is not None}):
        connection.execute(SQL("ANALYZE (SKIP_LOCKED) {}").format(Identifier(whole)))
        steps.one()
    return len(found)
