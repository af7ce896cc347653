"""Copies of a whole store: one snapshot of every tenant in one file.

The file is a zip: an entry for each table, and for each tenant's part of a table, in PostgreSQL's
binary copy format; and a manifest with the digest of each.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

import orjson
import psycopg
from psycopg.sql import SQL, Composed, Identifier, Literal

from remanence.model.progress import Progress
from remanence.store.files import growing, put
from remanence.store.postgres.database import Database
from remanence.store.postgres.faults import translated
from remanence.store.postgres.opening import APPLICATION, PatientConnection
from remanence.store.postgres.session import NOBODY, Session, sql

MANIFEST = "manifest.json"
EMPTY_BYTES = 21  # a binary copy of no rows: its head and its end
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the store; `walled` if its rows belong to tenants."""

    name: str
    columns: list[str]
    walled: bool

    def listed(self) -> Composed:
        """Its columns, for a statement."""
        return SQL(", ").join(map(Identifier, self.columns))


def tables(connection: PatientConnection) -> list[Table]:
    """Every table that a copy holds."""
    return [Table(*row) for row in connection.execute(sql("columns").encode()).fetchall()]


def backup(database: Database, target: Path, progress: Progress | None) -> None:
    """A copy as of now; `target` appears when it is whole and on the disk."""
    with (
        translated(database.settings.where),
        database.connections.fresh() as connection,
        growing(target) as copy,
    ):
        with (
            connection.transaction(),
            zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as file,
        ):
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            _Copier(connection, file, progress).run(database.facts["schema"])
        put(copy, target)


@dataclass(slots=True)
class _Copier:
    connection: PatientConnection
    file: zipfile.ZipFile
    progress: Progress | None
    digests: dict[str, str] = field(default_factory=dict)

    def run(self, schema: str) -> None:
        every = tables(self.connection)
        shared = [table for table in every if not table.walled]
        walled = [table for table in every if table.walled]
        tenants = [id for (id,) in Session(self.connection, NOBODY).rows("tenant_numbers")]
        for table in shared:
            self._copy(table, table.name)
        for done, tenant in enumerate(tenants, start=1):
            Session(self.connection, tenant)
            for table in walled:
                self._copy(table, f"{tenant}/{table.name}", tenant)
            self._tell(done, len(tenants) + 1)
        self.file.writestr(MANIFEST, self._manifest(schema, every))
        self._tell(len(tenants) + 1, len(tenants) + 1)

    def _copy(self, table: Table, entry: str, tenant: int | None = None) -> None:
        statement = SQL("SELECT {} FROM {}").format(table.listed(), Identifier(table.name))
        if tenant is not None:
            statement += SQL(" WHERE tenant = {}").format(Literal(tenant))
        text = SQL("COPY ({}) TO STDOUT (FORMAT BINARY)").format(statement)
        with self.connection.cursor().copy(text) as rows:
            self._write(entry, rows)

    def _write(self, entry: str, rows: Iterable[bytes | bytearray | memoryview]) -> None:
        """Keep the rows under that name, if there are any."""
        digest, blocks, held = blake2b(digest_size=16), iter(rows), b""
        while len(held) <= EMPTY_BYTES and (block := next(blocks, None)) is not None:
            held += bytes(block)
        if len(held) <= EMPTY_BYTES:
            return
        with self.file.open(entry, "w", force_zip64=True) as part:
            while held:
                digest.update(held)
                part.write(held)
                held = bytes(next(blocks, b""))
        self.digests[entry] = digest.hexdigest()

    def _manifest(self, schema: str, every: list[Table]) -> bytes:
        return orjson.dumps(
            {
                "application": APPLICATION,
                "schema": int(schema),
                "tables": {table.name: table.columns for table in every},
                "sequences": self._sequences(),
                "entries": self.digests,
            }
        )

    def _sequences(self) -> dict[str, int]:
        """The next number of each; read last, so that none is below what the rows use."""
        names = [name for (name,) in self.connection.execute(sql("sequences").encode()).fetchall()]
        return {name: _reached(self.connection, name) + 1 for name in names}

    def _tell(self, done: int, of: int) -> None:
        if self.progress is not None:
            self.progress(done, of)


def _reached(connection: psycopg.Connection[tuple[object, ...]], sequence: str) -> int:
    asked = SQL("SELECT last_value FROM {}").format(Identifier(sequence))
    row = connection.execute(asked).fetchone()
    return 0 if row is None else int(str(row[0]))
