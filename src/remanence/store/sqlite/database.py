"""One open database: its schema, its connections, its own facts, the names behind its numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import apsw
import orjson

from remanence.errors import InvalidInput, StoreCorrupt
from remanence.model.filter import Filter
from remanence.model.scope import Reach
from remanence.store.blocks import too_new
from remanence.store.conditions import COLUMNS, SIGNS, Compiler, Condition, joined
from remanence.store.core import database as core
from remanence.store.core.database import use_of
from remanence.store.quotas import Use
from remanence.store.rows import Owner, Row, both_ids, packed_id
from remanence.store.sqlite.connections import Connections, Eraser
from remanence.store.sqlite.opening import (
    IN_MEMORY,
    Settings,
    begin_file,
    check_ciphers,
    check_library,
    create_file,
)
from remanence.store.sqlite.session import Session, fetch_value, migrations, run
from remanence.store.sqlite.words import rebuild

APPLICATION_ID = 0x52454D4E  # "REMN"


def prepare(connections: Connections) -> None:
    """Create or update the schema, and the text index if terms are made otherwise now."""
    # The writer would turn another program's file to WAL, so a reader looks first.
    with connections.reading() as connection:
        check_ours(connection, connections.path)
    migrate(connections)
    connections.schema = migrations()[-1][0]
    with connections.reading() as connection:
        indexed_by = meta(connection, "terms_version")
    if indexed_by != connections.settings.words.version:
        _index_again(connections)


def check_ours(connection: apsw.Connection, path: str) -> None:
    """Refuse a database that another program made, and one that a newer Remanence made."""
    found = connection.pragma("application_id")
    foreign = found != APPLICATION_ID
    if foreign and (found or connection.execute("SELECT count(*) FROM sqlite_schema").get):
        raise StoreCorrupt(f"{path} is not a Remanence store; give another path.")
    newest = migrations()[-1][0]
    if (version := connection.pragma("user_version")) > newest:
        raise too_new(path, version, newest)


def migrate(connections: Connections) -> None:
    """Apply what is missing, each migration in a transaction of its own."""
    for number, script in migrations():
        with connections.alone() as connection:
            if connection.pragma("user_version") >= number:
                continue
        with connections.writing() as connection:
            if connection.pragma("user_version") < number:
                _apply(connection, number, script, connections.settings.words.version)


def meta(connection: apsw.Connection, name: str) -> object:
    """A value of the table `meta`, or None."""
    return fetch_value(connection, "meta", (name,))


def new_identity(connection: apsw.Connection) -> None:
    """Give the store a name that no other has."""
    run(connection, "set_meta", ("identity", os.urandom(16).hex()))


def _apply(connection: apsw.Connection, number: int, script: str, terms_version: str) -> None:
    connection.execute(script)
    connection.pragma("user_version", number)
    if number == 1:
        connection.pragma("application_id", APPLICATION_ID)
        run(connection, "set_meta", ("digest_key", os.urandom(32)))
        run(connection, "set_meta", ("terms_version", terms_version))
        new_identity(connection)


def _index_again(connections: Connections) -> None:
    with connections.writing() as connection:
        rebuild(connection)
        version = connections.settings.words.version
        run(connection, "set_meta", ("terms_version", version))


_MOST_VALUES = 30_000
_USES = "coalesce((SELECT count FROM uses WHERE memory = m.key), 0)"


def reached(partitions: Sequence[int], reach: Reach, where: Filter | None) -> Condition:
    """What a read of these partitions may see and wants to see."""
    return _limited(_SqliteCompiler(partitions).reached(reach, where))


def within(partition: int, where: Filter) -> Condition:
    """What satisfies the filter in one partition."""
    compiler = _SqliteCompiler([partition])
    return _limited(joined("AND", [compiler.inside(), compiler.condition(where)]))


def _limited(condition: Condition) -> Condition:
    if len(condition.values) > _MOST_VALUES:
        raise InvalidInput(f"The filter holds more than {_MOST_VALUES} values; ask in parts.")
    return condition


class _SqliteCompiler(Compiler):
    """Labels are compared by SQLite's own types, text by a function that Python gives it."""

    columns = {**COLUMNS, "uses": _USES}  # noqa: RUF012

    def __init__(self, partitions: Sequence[int]) -> None:
        one = len(partitions) == 1
        self._among = "= ?" if one else "IN (SELECT value FROM json_each(?))"
        self._bound = partitions[0] if one else orjson.dumps(list(partitions)).decode()

    def inside(self) -> Condition:
        return Condition(f"m.partition {self._among}", (self._bound,))

    def contains(self, folded: str) -> Condition:
        return Condition("remanence_contains(m.text, ?)", (folded,))

    def among(self, column: str, values: Sequence[Any]) -> Condition:
        return Condition(f"{column} IN ({_marks(values)})", tuple(values))

    def labelled(self, name: str) -> Condition:
        return self._labelled(name, "1")

    def labelled_any(self, name: str, values: Sequence[Any]) -> Condition:
        return self._labelled(name, f"value IN ({_marks(values)})", *values)

    def labelled_so(self, name: str, operator: str, value: Any) -> Condition:
        sign = SIGNS[operator]
        if not isinstance(value, str):
            test = f"value {sign} ? AND typeof(value) IN ('integer', 'real')"
            return self._labelled(name, test, value)
        short = self._labelled(name, f"value {sign} ? AND typeof(value) = 'text'", value)
        long = self._labelled(name, "length(value) = 16 AND typeof(value) = 'blob'")
        call = "remanence_any_long_text(m.metadata, ?, ?, ?)"
        lazily = f"CASE WHEN {long.sql} THEN {call} ELSE 0 END"
        exact = Condition(lazily, (*long.values, name, operator, value))
        return joined("OR", [short, exact])

    def _labelled(self, name: str, test: str, *values: Any) -> Condition:
        text = f"SELECT memory FROM labels WHERE partition {self._among} AND name = ? AND {test}"  # noqa: S608
        return Condition(f"m.key IN ({text})", (self._bound, name, *values))


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


T = TypeVar("T")

_FEW = 8  # to begin with a list takes as long as to look up so many


class Database(core.Database):
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
        self.eraser = Eraser(self.connections)
        self.reading = self.connections.reading
        self.writing = self.connections.writing
        try:
            prepare(self.connections)
            self.digest_key, self.identity = self._own_facts()
        except BaseException:
            self.connections.close()
            raise
        self._owners: dict[int, Owner] = {}
        self._partitions: dict[tuple[str, str], int] = {}

    def read(self, tenant: str, work: Callable[[Session], T]) -> T:
        """Do it on a connection to read with; each statement sees one state."""
        with self.reading() as connection:
            return work(Session(connection, tenant))

    def snapshot(self, tenant: str, work: Callable[[Session], T]) -> T:
        """The same; every statement sees the same state."""
        with self.reading() as connection:
            connection.execute("BEGIN")
            try:
                return work(Session(connection, tenant))
            finally:
                connection.execute("ROLLBACK")

    def read_partition(self, partition: int, work: Callable[[Session], T]) -> T:
        """Do it for a partition, whosever it is."""
        with self.reading() as connection:
            return work(Session(connection, ""))

    def read_names(self, work: Callable[[Session], T]) -> T:
        """Do it for no tenant."""
        return self.read("", work)

    def write(self, tenant: str, work: Callable[[Session], T]) -> T:
        """Do it in one durable transaction; what it removed leaves the log, too."""
        with self.writing() as connection:
            session = Session(connection, tenant)
            result = work(session)
        self.eraser.after_write(session.removed)
        return result

    def is_tenant(self, name: str) -> bool:
        """Every name may be one: a write that finds nothing leaves nothing behind here."""
        return True

    def opened(self, session: Session, row: Row) -> Row:
        """The row as it is: the statement opens texts."""
        return row

    def places(
        self, session: Session, ids: Iterable[str], *, lock: bool = False
    ) -> Mapping[str, tuple[int, int]]:
        """(partition, key) of those memories that are there; there is one writer at a time."""
        packed = {id: packed_id(id) for id in ids}
        if len(packed) <= _FEW:
            here = {id: self.locate(session, one) for id, one in packed.items()}
            return {id: (place[0], place[1]) for id, place in here.items() if place is not None}
        rows = session.rows("places_by_id", ids=session.memory_ids(packed))
        found = {id[:16]: (partition, key) for id, partition, key in rows}
        return {id: found[one] for id, one in packed.items() if one in found}

    def memories(self, session: Session, ids: Iterable[str]) -> Mapping[str, Row]:
        """The rows of those memories that are there: the block `record`, then the digest."""
        found = {id: self._memory(session, packed_id(id)) for id in ids}
        return {id: row for id, row in found.items() if row is not None}

    def _memory(self, session: Session, id: bytes | None) -> Row | None:
        found = session.put("memory_by_id", both_ids(id, session.tenant))
        return self.own_row(session, found, 1)

    def reached(self, session: Session, reach: Reach, where: Filter | None) -> Condition:
        """What a read may see and wants to see."""
        return reached(self.partitions(session, reach), reach, where)

    def matched(self, session: Session, partition: int, where: Filter) -> Condition:
        """What satisfies the filter in one partition."""
        return within(partition, where)

    def of_partitions(self, session: Session, table: str, partitions: Sequence[int]) -> Condition:
        """The table's row is in one of these partitions."""
        if len(partitions) == 1:
            return Condition(f"{table}.partition = ?", (partitions[0],))
        return session.among(f"{table}.partition", session.array_of(partitions))

    @contextmanager
    def checking_use(
        self, session: Session, tenant: str, more: Callable[[], Use]
    ) -> Iterator[None]:
        """Refuse at the end what was added meanwhile, if it is too much."""
        yield
        added = self.quotas.concern(more)
        if added is not None:
            mark = session.connection.pragma("data_version")  # others that write change it
            self.quotas.check(tenant, added, (mark, mark), lambda: use_of(session))

    def known_partitions(self, session: Session, users: Sequence[str]) -> dict[str, int]:
        """The partitions of these users ('' is no user) that are there."""
        found = {user: self._partition(session, user) for user in users}
        return {user: id for user, id in found.items() if id is not None}

    def partitions_for(self, session: Session, users: Iterable[str]) -> dict[str, int]:
        """The partitions of these users ('' is no user); those that are missing are made."""
        found = {user: self._partition(session, user) for user in users}
        return {user: id or self._new_partition(session, user) for user, id in found.items()}

    def remember(self, session: Session, partition: int, user: str) -> int:
        """Whose a partition is can be read at any time."""
        return partition

    def owner(self, session: Session, partition: int) -> Owner:
        """Whose partition it is."""
        known = self._owners.get(partition)
        if known is None:
            connection = session.connection
            row = run(connection, "partition_names", (partition,)).fetchone()
            if row is None:
                raise StoreCorrupt(f"{self.path} lost partition {partition}; restore a backup.")
            known = (row[0], row[1] or None)
            if not connection.in_transaction:
                self._owners[partition] = known
        return known

    def locate(self, session: Session, id: bytes | None) -> Row | None:
        """(partition, key) of a tenant's memory."""
        found = run(session.connection, "key_by_id", both_ids(id, session.tenant))
        return self.own_row(session, found, 0)

    def own_row(self, session: Session, found: apsw.Cursor, partition: int) -> Row | None:
        """The row of this tenant, whose partition stands in that column."""
        rows: Sequence[Row] = found.fetchall()
        tenant = session.tenant
        return next((r for r in rows if self.owner(session, r[partition])[0] == tenant), None)

    def _partition(self, session: Session, user: str) -> int | None:
        place, connection = (session.tenant, user), session.connection
        known = self._partitions.get(place)
        if known is None:
            known = fetch_value(connection, "partition", place)
            if known is not None and not connection.in_transaction:
                self._partitions[place] = known
        return known

    def _new_partition(self, session: Session, user: str) -> int:
        return int(fetch_value(session.connection, "insert_partition", (session.tenant, user)))

    def _own_facts(self) -> tuple[bytes, str]:
        with self.reading() as connection:
            key, identity = meta(connection, "digest_key"), meta(connection, "identity")
        if not isinstance(key, bytes) or not isinstance(identity, str):
            raise StoreCorrupt(f"{self.path} lost its own settings; restore a backup.")
        return key, identity
