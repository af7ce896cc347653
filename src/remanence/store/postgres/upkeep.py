"""Care of a whole PostgreSQL store: the feed shortened, dead rows cleared, tables rewritten."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psycopg
from psycopg.errors import Diagnostic
from psycopg.sql import SQL, Identifier

from remanence.model.embedding import Fingerprint
from remanence.model.progress import Progress
from remanence.model.stats import Finding, StoreStats
from remanence.store.core.upkeep import MOST_BYTES_READ, Steps, StoredUpkeep, counted
from remanence.store.postgres.backups import backup
from remanence.store.postgres.database import Database
from remanence.store.postgres.doctor import Doctor
from remanence.store.postgres.faults import translated
from remanence.store.postgres.indexes import build_missing, drop_small
from remanence.store.postgres.opening import PatientConnection
from remanence.store.postgres.schema import only_one
from remanence.store.postgres.session import NOBODY, Session, lock_number, sql

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


_SMALL_BYTES = 16 << 20
LEFTOVERS = (
    "Table files and samples of values for the planner, until the store is compacted.",
    "The write-ahead log, until its retention ends, and archives of it.",
    "Replicas, until they have replayed the removal and the compaction.",
    "Before PostgreSQL 18: samples of values that the planner keeps of a table which was emptied, "
    "until rows are in it again and the store is compacted.",
)


class PostgresUpkeep(StoredUpkeep[Database]):
    """The Upkeep port."""

    @property
    def kind(self) -> str:
        """What it is."""
        return "postgresql"

    @property
    def leftovers(self) -> tuple[str, ...]:
        """Where bytes of what is removed may stay, and until when."""
        return LEFTOVERS

    @property
    def schema(self) -> int:
        """The number of the newest migration that the database had seen when it was opened."""
        return int(self._database.facts["schema"])

    @contextmanager
    def alone(self, name: str) -> Iterator[bool]:
        """Whether this caller alone, of all processes, is now at what `name` stands for."""
        with self._caring() as connection:
            number = (lock_number(f"alone at {name}"),)
            row = connection.execute("SELECT pg_try_advisory_lock(%s)", number).fetchone()
            try:
                yield row is not None and bool(row[0])
            finally:
                # Else it would last until the server has noticed that the connection is gone.
                with suppress(psycopg.Error):
                    connection.execute("SELECT pg_advisory_unlock_all()")

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """Small vector indexes are dropped, and made at the end; until then reads do without."""
        with self._caring() as connection:
            drop_small(connection, _SMALL_BYTES)
        try:
            yield
        finally:
            with self._caring() as connection:
                build_missing(connection)
                for name in tables(connection):
                    vacuum(connection, name, "ANALYZE")

    def backup(self, target: Path, progress: Progress | None = None) -> None:
        """A consistent copy, made while others read and write; appears whole or not at all."""
        backup(self._database, Path(target), progress)

    def doctor(self, *, repair: bool, fingerprint: Fingerprint | None) -> list[Finding]:
        """Check everything against the rows; with `repair`, mend what can be mended."""
        with self._caring() as connection:
            doctor = Doctor(self._database, connection, repair, self._clock.now())
            return doctor.examine(fingerprint)

    def compact(self) -> None:
        """Rewrite every table: no byte of what was removed stays in its files.

        What the server's write-ahead log still holds goes when that is recycled. A transaction that
        others keep open for longer than `timeout_s` keeps what it may still see.
        """
        self._renew_dictionaries()
        with self._caring() as connection:
            compact(connection, self._database.settings.timeout_s)

    def tend(self, progress: Progress | None = None) -> Mapping[str, int]:
        """Keep the tables in shape while others read and write."""
        with self.alone("tend") as mine, self._caring() as connection:
            return tend(connection, progress) if mine else {}

    def stats(self, tenant: str, fingerprint: Fingerprint | None = None) -> StoreStats:
        """Counts of one tenant, sizes of the whole store."""
        database = self._database
        sizes = dict(database.read_names(lambda session: session.rows("bytes_by_table")))
        size = sum(sizes.values())
        large = size > MOST_BYTES_READ
        found = database.read(tenant, lambda session: counted(session, fingerprint, large=large))
        return replace(found or StoreStats(memories=0), bytes_on_disk=size, bytes_by_part=sizes)

    @contextmanager
    def _caring(self) -> Iterator[PatientConnection]:
        with (
            translated(self._database.settings.where),
            self._database.connections.fresh() as connection,
        ):
            yield connection
