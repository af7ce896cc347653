"""One open database: its transactions, its own facts, and the names behind its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Self, TypeVar

import numpy as np

from remanence.errors import StoreCorrupt
from remanence.model.embedding import Fingerprint
from remanence.model.filter import Filter
from remanence.model.scope import Reach
from remanence.store.conditions import COLUMNS, SIGNS, Compiler, Condition, any_long_text, joined
from remanence.store.core import database as core
from remanence.store.core.database import use_of
from remanence.store.postgres.arrays import (
    LONG_TEXTS,
    NUMBERS,
    SHORT_TEXTS,
    Int8s,
    byteas,
    encoded,
    float8s,
    int8s,
    texts,
)
from remanence.store.postgres.faults import translated
from remanence.store.postgres.opening import Connections, PatientConnection, Settings
from remanence.store.postgres.schema import Facts, prepare
from remanence.store.postgres.session import NOBODY, Session, sql
from remanence.store.postgres.texts import Texts
from remanence.store.postgres.transactions import Transactions
from remanence.store.quotas import Use
from remanence.store.rows import Owner, Row, packed_id

_CHUNK = 2000
_USES = "coalesce((SELECT count FROM uses WHERE tenant = m.tenant AND memory = m.key), 0)"


def reached(
    session: Session, partitions: Sequence[int], reach: Reach, where: Filter | None
) -> Condition:
    """What a read of these partitions may see and wants to see."""
    return _PostgresCompiler(session, partitions).reached(reach, where)


def within(session: Session, partition: int, where: Filter) -> Condition:
    """What satisfies the filter in one partition."""
    compiler = _PostgresCompiler(session, [partition])
    return joined("AND", [compiler.inside(), compiler.condition(where)])


def check(where: Filter | None) -> None:
    """Refuse what no statement could hold; for reads that find nothing to look into."""
    with translated("the store"):
        values = () if where is None else _Checker().condition(where).values
        for value in values:
            if isinstance(value, str):
                value.encode()


class _PostgresCompiler(Compiler):
    columns = {**COLUMNS, "uses": _USES}  # noqa: RUF012

    def __init__(self, session: Session, partitions: Sequence[int]) -> None:
        self._session = session
        self._texts = Texts()
        self._partitions = int8s(partitions)
        self._here = (session.tenant, partitions[0] if len(partitions) == 1 else self._partitions)
        self._among = "= ?" if len(partitions) == 1 else "= ANY(?)"

    def inside(self) -> Condition:
        return Condition(f"m.tenant = ?::integer AND m.partition {self._among}", self._here)

    def contains(self, folded: str) -> Condition:
        folded.encode()  # refuses lone surrogates
        others = self._keys_where(
            "texts_beyond_ascii",
            lambda row: folded in self._texts.opened(self._session, row[1]).casefold(),
        )
        found = Condition("m.key = ANY(?)", (others,))
        if not folded.isascii():
            return found
        plain = Condition(
            "octet_length(m.text) = m.characters AND position(? IN lower(m.text)) > 0", (folded,)
        )
        return joined("OR", [plain, found])

    def among(self, column: str, values: Sequence[Any]) -> Condition:
        if all(isinstance(value, str) for value in values):
            return Condition(f"{column} = ANY(?)", (texts(values),))
        exact = all(isinstance(value, int) for value in values)
        return Condition(f"{column} = ANY(?)", (int8s(values) if exact else float8s(values),))

    def labelled(self, name: str) -> Condition:
        return self._labelled(name, "TRUE")

    def labelled_any(self, name: str, values: Sequence[Any]) -> Condition:
        return self._labelled(name, "value = ANY(?)", byteas(map(encoded, values)))

    def labelled_so(self, name: str, operator: str, value: Any) -> Condition:
        least, end = SHORT_TEXTS if isinstance(value, str) else NUMBERS
        test = f"value {SIGNS[operator]} ? AND value >= ? AND value < ?"
        short = self._labelled(name, test, encoded(value), least, end)
        if not isinstance(value, str):
            return short
        least, end = LONG_TEXTS
        long = self._keys_where(
            "metadata_with_long_text",
            lambda row: any_long_text(row[1], name, operator, value),
            name=name,
            least=least,
            end=end,
        )
        return joined("OR", [short, Condition("m.key = ANY(?)", (long,))])

    def _labelled(self, name: str, test: str, *values: Any) -> Condition:
        text = (
            "SELECT memory FROM labels WHERE tenant = ?::integer"  # noqa: S608
            f" AND partition {self._among} AND name = ? AND {test}"
        )
        return Condition(f"m.key IN ({text})", (*self._here, name, *values))

    def _keys_where(self, name: str, test: Callable[[Row], bool], /, **values: Any) -> Int8s:
        found = [row[0] for row in self._streamed(name, values) if test(row)]
        return int8s(np.array(found, np.int64))

    def _streamed(self, name: str, values: dict[str, Any]) -> Iterator[Row]:
        after = 0
        while True:
            asked = values | {"partitions": self._partitions, "after": after, "most": _CHUNK}
            rows = self._session.rows(name, **asked)
            yield from rows
            if len(rows) < _CHUNK:
                return
            after = rows[-1][0]


class _Checker(_PostgresCompiler):
    """Compiles as if there were nothing to read."""

    def __init__(self) -> None:
        self._partitions = int8s([])
        self._here = (0, self._partitions)
        self._among = "= ANY(?)"

    def _keys_where(self, name: str, test: Callable[[Row], bool], /, **values: Any) -> Int8s:
        return int8s([])


T = TypeVar("T")


class Database(core.Database):
    """What every part of the store shares. Names of tenants and users never change, so they stay.

    A partition's tenant is known once the partition was named here; what nobody named is empty.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.words = settings.words
        self.quotas = settings.quotas
        self.facts: Facts
        self.facts, types = prepare(settings)
        self.digest_key = bytes.fromhex(self.facts["digest_key"])
        self.identity = self.facts["identity"]
        self.connections = Connections(settings, types)
        self._transactions = Transactions(self.connections)
        self._forget_names()

    def inside(self, facts: Facts, transactions: Transactions) -> Self:
        """The same database as others see it: its facts, its names, their transactions."""
        other = copy(self)
        other.facts, other.digest_key = facts, bytes.fromhex(facts["digest_key"])
        other.identity = facts["identity"]
        other._transactions = transactions
        other._forget_names()
        return other

    def _forget_names(self) -> None:
        self._tenants: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._partitions: dict[tuple[int, str], int] = {}
        self._owners: dict[int, tuple[int, str]] = {}
        self._tenant_of: dict[int, int] = {}
        self._embedders: dict[str, int] = {}
        self._texts = Texts()

    def read(self, tenant: str, work: Callable[[Session], T]) -> T | None:
        """Do it in one snapshot; None if the tenant has never written."""
        number = self._tenant(tenant)
        return None if number is None else self._transactions.read(number, work)

    def read_partition(self, partition: int, work: Callable[[Session], T]) -> T | None:
        """Do it for the tenant of a partition; None if nobody has named the partition here."""
        self.connections.check_open()
        number = self._tenant_of.get(partition)
        return None if number is None else self._transactions.read(number, work)

    def read_names(self, work: Callable[[Session], T]) -> T:
        """Do it outside of every tenant, where only names are to be seen."""
        return self._transactions.read(NOBODY, work)

    def write(self, tenant: str, work: Callable[[Session], T]) -> T:
        """Do it in one durable transaction; the tenant comes to be with its first write."""
        numbers: list[int] = []

        def find(connection: PatientConnection) -> int:
            numbers.append(self._tenants.get(tenant) or _tenant_made(connection, tenant))
            return numbers[-1]

        result = self._transactions.write(find, work)
        self._remember_tenant(tenant, numbers[-1])
        return result

    def is_tenant(self, name: str) -> bool:
        """Whether the tenant has ever written."""
        return self._tenant(name) is not None

    def places(
        self, session: Session, ids: Iterable[str], *, lock: bool = False
    ) -> Mapping[str, tuple[int, int]]:
        """(partition, key) of those memories that are there; with `lock` they stay meanwhile."""
        packed = {id: packed_id(id) for id in ids}
        asked = session.memory_ids(packed)
        rows = session.rows("lock_by_id" if lock else "places_by_id", ids=asked)
        found = {id: (partition, key) for id, partition, key in rows}
        if not lock:  # nobody writes, so the partitions are committed
            for partition, _ in found.values():
                self.heard_of(session.tenant, partition)
        return {id: found[one] for id, one in packed.items() if one in found}

    def memories(self, session: Session, ids: Iterable[str]) -> Mapping[str, Row]:
        """The rows of those memories that are there: the block `record`, then the digest."""
        packed = {id: packed_id(id) for id in ids}
        asked = session.memory_ids(packed)
        found = {row[2]: row for row in session.rows("memories_by_id", ids=asked)}
        return {id: found[one] for id, one in packed.items() if one in found}

    def reached(self, session: Session, reach: Reach, where: Filter | None) -> Condition:
        """What a read may see and wants to see."""
        return reached(session, self.partitions(session, reach), reach, where)

    def matched(self, session: Session, partition: int, where: Filter) -> Condition:
        """What satisfies the filter in one partition."""
        return within(session, partition, where)

    def of_partitions(self, session: Session, table: str, partitions: Sequence[int]) -> Condition:
        """The table's row is in one of these partitions."""
        alone = len(partitions) == 1
        among = "= ?" if alone else "= ANY(?)"
        values = (session.tenant, partitions[0] if alone else session.array_of(partitions))
        return Condition(f"{table}.tenant = ?::integer AND {table}.partition {among}", values)

    def check(self, where: Filter | None) -> None:
        """Refuse what no statement could hold, for reads that find nothing to look into."""
        check(where)

    @contextmanager
    def checking_use(
        self, session: Session, tenant: str, more: Callable[[], Use]
    ) -> Iterator[None]:
        """Refuse at the end what was added meanwhile, if it is too much.

        Where there are limits, the writers of a tenant wait for each other.
        """
        added = self.quotas.concern(more)
        if added is None:
            yield
            return
        session.hold_writers()
        before = session.value("mark_of_tenant")
        yield
        marks = (before, session.value("mark_of_tenant"))
        self.quotas.check(tenant, added, marks, lambda: use_of(session))

    def known_partitions(self, session: Session, users: Sequence[str]) -> dict[str, int]:
        """The partitions of these users ('' is no user) that are there."""
        known = {user: self._partitions.get((session.tenant, user)) for user in users}
        if None in known.values():
            found = session.rows("partitions", users=texts(users))
            known |= {user: self.remember(session, id, user) for id, user in found}
        return {user: id for user, id in known.items() if id is not None}

    def partitions_for(self, session: Session, users: Iterable[str]) -> dict[str, int]:
        """The partitions of these users ('' is no user); those that are missing are made."""
        wanted = set(users)
        known = self.known_partitions(session, list(wanted))
        if missing := wanted - known.keys():
            session.run("insert_partitions", users=texts(sorted(missing)))
            rows = session.rows("partitions", users=texts(missing))
            known |= {user: id for id, user in rows}
        return known

    def embedder(self, session: Session, fingerprint: Fingerprint) -> int | None:
        """The number of an embedder that the store has met."""
        name = str(fingerprint)
        known = self._embedders.get(name)
        if known is None:
            known = session.value("embedder", fingerprint=name)
            if known is not None:
                self._embedders[name] = known
        return known

    def remember(self, session: Session, partition: int, user: str) -> int:
        """Keep whose a committed partition is; gives it back."""
        self._partitions[session.tenant, user] = partition
        self._owners[partition] = (session.tenant, user)
        self._tenant_of[partition] = session.tenant
        return partition

    def heard_of(self, tenant: int, partition: int) -> None:
        """Keep a partition's tenant, as another process told it."""
        self._tenant_of.setdefault(partition, tenant)

    def known(self) -> list[int]:
        """Every partition that was named here."""
        return list(self._tenant_of)

    def owner(self, session: Session, partition: int) -> Owner:
        """Whose partition it is."""
        known = self._owners.get(partition)
        if known is None:
            user = session.value("partition_user", partition=partition)
            if user is None:
                raise StoreCorrupt(
                    f"{self.settings.where} lost partition {partition}; restore a backup."
                )
            known = (session.tenant, user)
        return self.tenant_name(session, known[0]), known[1] or None

    def text(self, session: Session, stored: bytes | str) -> str:
        """The text of the block `text`; `StoreCorrupt` if it is not whole."""
        return self._texts.opened(session, stored)

    def _tenant(self, name: str) -> int | None:
        known = self._tenants.get(name)
        self.connections.check_open()
        if known is None:
            known = self.read_names(lambda session: session.value("tenant", name=name))
            if known is not None:
                self._remember_tenant(name, known)
        return known

    def tenant_name(self, session: Session, number: int | None = None) -> str:
        """What the tenant of that number, or else the session's, is called."""
        number = session.tenant if number is None else number
        if number not in self._names:
            self._remember_tenant(session.value("tenant_name", id=number), number)
        return self._names[number]

    def _remember_tenant(self, name: str, number: int) -> None:
        self._tenants[name] = number
        self._names[number] = name


def _tenant_made(connection: PatientConnection, name: str) -> int:
    asked = {"name": name}
    connection.execute(sql("insert_tenant").encode(), asked)
    row = connection.execute(sql("tenant").encode(), asked, binary=True).fetchone()
    assert row is not None
    return int(row[0])
