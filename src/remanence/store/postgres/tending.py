"""Tending a database: the feed shortened, dead rows cleared, statistics taken, indexes rebuilt.

Autovacuum does most of that too; it never analyses the tables that are in parts as a whole, and
rebuilds no index. Nothing here blocks readers or writers.
"""

from __future__ import annotations

from psycopg.sql import SQL, Identifier

from remanence.ports.store import Progress
from remanence.store.postgres.compacting import vacuum
from remanence.store.postgres.opening import PatientConnection
from remanence.store.postgres.schema import only_one
from remanence.store.postgres.session import NOBODY, Session, sql

# Below these, a table is fresh enough, an index not worth it.
_ROWS, _SHARE = 100, 0.05
_INDEX_BYTES, _BLOATED = 16 << 20, 3.0


def tend(connection: PatientConnection, progress: Progress | None) -> dict[str, int]:
    """All of it; what was done, in counts."""
    tenants = [id for (id,) in Session(connection, NOBODY).rows("tenant_numbers")]
    steps = _Steps(progress)
    done = {"feed_trimmed": sum(_trim_feed(connection, id, steps) for id in tenants)}
    with only_one(connection, "indexes"):
        done["indexes_rebuilt"] = _rebuild_indexes(connection, steps)
    done["tables_vacuumed"] = _vacuum(connection, steps)
    return done


class _Steps:
    """Tells of every transaction; how many there will be is not known."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._done = 0

    def one(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, 0)


def _trim_feed(connection: PatientConnection, tenant: int, steps: _Steps) -> int:
    """Leave out entries that a later one of the same memory repeats; how many.

    Whoever followed the feed up to any place still finds every memory that changed after it.
    """
    with connection.transaction():
        trimmed = Session(connection, tenant).run("trim_feed").rowcount
    steps.one()
    return trimmed


def _rebuild_indexes(connection: PatientConnection, steps: _Steps) -> int:
    """Rebuild indexes that take far more room than their entries; first clear half-made ones."""
    for (name,) in connection.execute(sql("half_made").encode()).fetchall():
        connection.execute(SQL("DROP INDEX IF EXISTS {}").format(Identifier(name)))
    asked = {"bytes": _INDEX_BYTES, "bloated": _BLOATED}
    found = connection.execute(sql("bloated_indexes").encode(), asked).fetchall()
    for (name,) in found:
        connection.execute(SQL("REINDEX INDEX CONCURRENTLY {}").format(Identifier(name)))
        steps.one()
    return len(found)


def _vacuum(connection: PatientConnection, steps: _Steps) -> int:
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
