"""Care of a whole PostgreSQL store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psycopg

from remanence.model.embedding import Fingerprint
from remanence.model.progress import Progress
from remanence.model.stats import Finding, StoreStats
from remanence.store.core.upkeep import MOST_BYTES_READ, StoredUpkeep, counted
from remanence.store.postgres.backups import backup
from remanence.store.postgres.database import Database
from remanence.store.postgres.doctor import Doctor
from remanence.store.postgres.faults import translated
from remanence.store.postgres.indexes import build_missing, drop_small
from remanence.store.postgres.maintenance import compact, tables, tend, vacuum
from remanence.store.postgres.opening import PatientConnection
from remanence.store.postgres.session import lock_number

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
