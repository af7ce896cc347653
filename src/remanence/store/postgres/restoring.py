"""A copy put back: checked first, then in the place of all that was there, in one transaction."""

from __future__ import annotations

import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import orjson
from psycopg.sql import SQL, Composed, Identifier

from remanence.errors import StoreBusy, StoreCorrupt, StoreError
from remanence.model.ports.store import Inherit
from remanence.store.blocks import too_new
from remanence.store.postgres.backups import MANIFEST, Table, tables
from remanence.store.postgres.database import Database
from remanence.store.postgres.doctor import PostgresGuard
from remanence.store.postgres.faults import translated
from remanence.store.postgres.indexes import build_missing
from remanence.store.postgres.opening import APPLICATION, PatientConnection
from remanence.store.postgres.schema import new_identity, read_facts, set_fact
from remanence.store.postgres.session import NOBODY, Session, migrations, sql
from remanence.store.postgres.store import PostgresStore
from remanence.store.postgres.transactions import Transactions
from remanence.store.postgres.upkeep import compact

T = TypeVar("T")
_BLOCK = 1 << 20
_GOING_S, _PAUSE_S = 2.0, 0.05  # a connection that was closed a moment ago is seen for a while


class Inside(Transactions):
    """Reads and writes on one connection; nothing is tried again."""

    def __init__(self, database: Database, connection: PatientConnection) -> None:
        super().__init__(database.connections)
        self._connection = connection

    def read(self, tenant: int, work: Callable[[Session], T]) -> T:
        """Do it now."""
        return work(Session(self._connection, tenant))

    def write(
        self, find_tenant: Callable[[PatientConnection], int], work: Callable[[Session], T]
    ) -> T:
        """Do it now, whole or not at all."""
        with self._connection.transaction():
            return work(Session(self._connection, find_tenant(self._connection)))


class StoreInside(PostgresStore):
    """The store as the open transaction sees it. It is not closed: the connection is another's."""

    def __init__(self, store: PostgresStore, connection: PatientConnection) -> None:
        facts, inside = read_facts(connection), Inside(store._database, connection)
        self._watcher, self._clock = store._watcher, store._clock
        self._divide(store._database.inside(facts, inside))


def restore(
    source: Path,
    url: str,
    *,
    tls: str = "prefer",
    timeout_s: float = 10.0,
    statement_timeout_s: float = 30.0,
    inherit: Inherit | None = None,
) -> None:
    """Check a backup, then put it in the place of the store at `url`, under a new identity.

    What it inherits from the store that was there it does in the same transaction.
    `StoreCorrupt` if the backup is damaged, `StoreBusy` if the store is open somewhere; then
    nothing has changed.
    """
    source = Path(source)
    with _opened(source) as file:
        manifest = _checked(file, source)
        store = PostgresStore(
            url, pool_size=1, tls=tls, timeout_s=timeout_s, statement_timeout_s=statement_timeout_s
        )
        try:
            database = store._database
            with translated(database.settings.where), database.connections.fresh() as connection:
                database.connections.drop_idle()
                removed = False
                with connection.transaction():
                    restoring = _Restoring(connection, file, manifest)
                    restoring.lock(database.settings.where)
                    heir = None if inherit is None else inherit(StoreInside(store, connection))
                    restoring.run()
                    database.digest_key = bytes.fromhex(read_facts(connection)["digest_key"])
                    for (tenant,) in Session(connection, NOBODY).rows("tenant_numbers"):
                        _check_rows(database, Session(connection, tenant), source)
                    if heir is not None:
                        removed = heir(StoreInside(store, connection))
                build_missing(connection)
                if removed:
                    compact(connection, timeout_s)
        finally:
            store.close()


class _Restoring:
    def __init__(
        self, connection: PatientConnection, file: zipfile.ZipFile, manifest: dict[str, Any]
    ) -> None:
        self._connection = connection
        self._file = file
        self._manifest = manifest

    def run(self) -> None:
        """Replace everything, inside the caller's transaction."""
        here = tables(self._connection)
        self._empty(here)
        columns = self._manifest["tables"]
        known = [Table(one.name, columns.get(one.name, one.columns), one.walled) for one in here]
        for table in known:
            self._connection.execute(_staging(table))
            if not table.walled:
                self._load(table, table.name)
        walled = [table for table in known if table.walled]
        for (tenant,) in Session(self._connection, NOBODY).rows("tenant_numbers"):
            Session(self._connection, tenant)
            for table in walled:
                self._load(table, f"{tenant}/{table.name}")
        for name, reached in self._manifest["sequences"].items():
            self._connection.execute("SELECT setval(%s::text::regclass, %s)", (name, reached))
        new_identity(self._connection)
        # The rows are the backup's, the tables are as new as this Remanence.
        set_fact(self._connection, "schema", str(migrations()[-1][0]))

    def lock(self, where: str) -> None:
        """Keep everybody else out; `StoreBusy` if somebody is in."""
        names = _named(tables(self._connection))
        self._connection.execute(SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(names))
        latest = time.monotonic() + _GOING_S
        while self._others_connected():
            if time.monotonic() > latest:
                raise StoreBusy(f"{where} is open; close it everywhere, then restore.")
            time.sleep(_PAUSE_S)

    def _others_connected(self) -> bool:
        self._connection.execute("SELECT pg_stat_clear_snapshot()")
        asked = {"application": APPLICATION}
        row = self._connection.execute(sql("others_connected").encode(), asked).fetchone()
        return row is not None and bool(row[0])

    def _empty(self, every: list[Table]) -> None:
        for (name,) in self._connection.execute(sql("every_graph").encode()).fetchall():
            self._connection.execute(SQL("DROP INDEX {}").format(Identifier(name)))
        self._connection.execute(SQL("TRUNCATE {}").format(_named(every)))

    def _load(self, table: Table, entry: str) -> None:
        if entry not in self._manifest["entries"]:
            return
        staging, columns = Identifier(f"restored_{table.name}"), table.listed()
        text = SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(staging, columns)
        with self._connection.cursor().copy(text) as rows, self._file.open(entry) as part:
            while block := part.read(_BLOCK):
                rows.write(block)
        self._connection.execute(
            SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM {}").format(
                Identifier(table.name), columns, columns, staging
            )
        )
        self._connection.execute(SQL("TRUNCATE {}").format(staging))


def _named(every: list[Table]) -> Composed:
    return SQL(", ").join(Identifier(name) for name in [*[t.name for t in every], "commits"])


def _staging(table: Table) -> Any:
    name = Identifier(f"restored_{table.name}")
    return SQL("CREATE TEMPORARY TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA").format(
        name, table.listed(), Identifier(table.name)
    )


@contextmanager
def _opened(source: Path) -> Iterator[zipfile.ZipFile]:
    if not source.is_file():
        raise StoreError(f"There is no backup at {source}; check the path.")
    try:
        with zipfile.ZipFile(source) as file:
            yield file
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError) as error:
        raise StoreCorrupt(f"{source} is damaged or no backup ({error}); give another.") from error


def _checked(file: zipfile.ZipFile, source: Path) -> dict[str, Any]:
    """The manifest of a backup whose every part is what was written."""
    try:
        manifest: dict[str, Any] = orjson.loads(file.read(MANIFEST))
        ours = manifest["application"] == APPLICATION
    except (KeyError, TypeError, orjson.JSONDecodeError) as error:
        raise StoreCorrupt(f"{source} is no backup of a store; give another file.") from error
    if not ours or set(file.namelist()) != {MANIFEST, *manifest["entries"]}:
        raise StoreCorrupt(f"{source} is no whole backup of a store; give another file.")
    if manifest["schema"] > (newest := migrations()[-1][0]):
        raise too_new(f"The backup {source}", manifest["schema"], newest)
    for entry, digest in manifest["entries"].items():
        if _digest(file, entry) != digest:
            raise StoreCorrupt(f"{source} is damaged in {entry}; use another backup.")
    return manifest


def _digest(file: zipfile.ZipFile, entry: str) -> str:
    found = blake2b(digest_size=16)
    with file.open(entry) as part:
        while block := part.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def _check_rows(database: Database, session: Session, source: Path) -> None:
    if damaged := PostgresGuard(database).damage(session):
        raise StoreCorrupt(
            f"The backup {source} holds {damaged}; use another one, or restore it to a "
            "spare database of the version that made it and run `rem doctor --repair` there."
        )
