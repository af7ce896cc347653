"""One open database: its connections, its own facts, and the names behind its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw

from remanence.errors import StoreCorrupt
from remanence.model.memory import MemoryRecord
from remanence.model.scope import Reach
from remanence.store.rows import (
    RECORD_WIDTH,
    Owner,
    Row,
    both_ids,
    record_of,
    row_digest,
    spelled_id,
)
from remanence.store.sqlite.connections import Connections
from remanence.store.sqlite.keys import check_ciphers
from remanence.store.sqlite.opening import (
    IN_MEMORY,
    Settings,
    begin_file,
    check_library,
    create_file,
)
from remanence.store.sqlite.schema import meta, prepare
from remanence.store.sqlite.statements import fetch_value, run


class Database:
    """What every part of the store shares. Partitions never change, so they are remembered."""

    def __init__(self, path: str, settings: Settings) -> None:
        check_library()
        if path != IN_MEMORY:
            check_ciphers(settings.key)
        create_file(path)
        begin_file(path, settings)
        self.path = path
        self.words = settings.words
        self.quotas = settings.quotas
        self.connections = Connections(path, settings)
        self.reading = self.connections.reading
        self.writing = self.connections.writing
        try:
            prepare(self.connections)
            self.digest_key, self.identity = self._own_facts()
        except BaseException:
            self.connections.close()
            raise
        self._owners: dict[int, Owner] = {}
        self._partitions: dict[Owner, int] = {}

    def partition(self, connection: apsw.Connection, tenant: str, user: str | None) -> int | None:
        """The partition of a tenant's user, if it has one."""
        known = self._partitions.get((tenant, user))
        if known is None:
            known = fetch_value(connection, "partition", (tenant, user or ""))
            if known is not None and not connection.in_transaction:
                self._partitions[tenant, user] = known
        return known

    def partition_for(self, connection: apsw.Connection, tenant: str, user: str | None) -> int:
        """The partition of a tenant's user, made if it has none yet."""
        known = self.partition(connection, tenant, user)
        if known is None:
            known = int(fetch_value(connection, "insert_partition", (tenant, user or "")))
        return known

    def partitions(self, connection: apsw.Connection, reach: Reach) -> list[int]:
        """The partitions a read may see."""
        if reach.all_users:
            return [id for (id,) in run(connection, "partitions_of_tenant", (reach.tenant,))]
        users = [reach.user_id]
        if reach.include_shared and reach.user_id is not None:
            users.append(None)
        found = [self.partition(connection, reach.tenant, user) for user in users]
        return [partition for partition in found if partition is not None]

    def owner(self, connection: apsw.Connection, partition: int) -> Owner:
        """Whose partition it is."""
        known = self._owners.get(partition)
        if known is None:
            row = run(connection, "partition_names", (partition,)).fetchone()
            if row is None:
                raise StoreCorrupt(f"{self.path} lost partition {partition}; restore a backup.")
            known = (row[0], row[1] or None)
            if not connection.in_transaction:
                self._owners[partition] = known
        return known

    def record(self, connection: apsw.Connection, row: Row) -> MemoryRecord:
        """The record of a row of the block `record`."""
        try:
            return record_of(row, self.owner(connection, row[1]))
        except (KeyError, ValueError, OverflowError, TypeError, AttributeError) as error:
            raise damaged(row) from error

    def records(self, connection: apsw.Connection, rows: Iterable[Row]) -> list[MemoryRecord]:
        """The records of rows of the block `record`; the rows are read before owners are."""
        return [self.record(connection, row) for row in list(rows)]

    def locate(self, connection: apsw.Connection, tenant: str, id: bytes | None) -> Row | None:
        """(partition, key) of a tenant's memory."""
        return self.own_row(
            connection, tenant, run(connection, "key_by_id", both_ids(id, tenant)), 0
        )

    def own_row(
        self, connection: apsw.Connection, tenant: str, found: apsw.Cursor, partition: int
    ) -> Row | None:
        """The row of this tenant, whose partition stands in that column."""
        rows: Sequence[Row] = found.fetchall()
        return next((r for r in rows if self.owner(connection, r[partition])[0] == tenant), None)

    def checked(self, connection: apsw.Connection, row: Row) -> MemoryRecord:
        """The record of a row that ends with its digest, if it is what was signed."""
        owner = self.owner(connection, row[1])
        if row_digest(row, owner, self.digest_key) != row[RECORD_WIDTH]:
            raise damaged(row)
        return self.record(connection, row)

    def _own_facts(self) -> tuple[bytes, str]:
        with self.reading() as connection:
            key, identity = meta(connection, "digest_key"), meta(connection, "identity")
        if not isinstance(key, bytes) or not isinstance(identity, str):
            raise StoreCorrupt(f"{self.path} lost its own settings; restore a backup.")
        return key, identity


def damaged(row: Row) -> StoreCorrupt:
    """The error that names a damaged memory."""
    return StoreCorrupt(f"The memory {spelled_id(row[2])} is damaged on disk; run `rem doctor`.")
