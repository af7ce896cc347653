"""One open database: its transactions, its own facts, and the names behind its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Self, TypeVar

from remanence.errors import StoreCorrupt
from remanence.model.embedding import Fingerprint
from remanence.model.memory import MemoryRecord
from remanence.model.scope import Reach
from remanence.store.postgres.arrays import texts
from remanence.store.postgres.connections import Connections
from remanence.store.postgres.opening import PatientConnection, Settings
from remanence.store.postgres.schema import Facts, prepare
from remanence.store.postgres.session import NOBODY, Session, sql
from remanence.store.postgres.texts import Texts
from remanence.store.postgres.transactions import Transactions
from remanence.store.rows import RECORD_WIDTH, TEXT, Owner, Row, record_of, row_digest, spelled_id

T = TypeVar("T")


class Database:
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
        self.connections = Connections(settings, types)
        self._transactions = Transactions(self.connections)
        self._forget_names()

    def inside(self, facts: Facts, transactions: Transactions) -> Self:
        """The same database as others see it: its facts, its names, their transactions."""
        other = copy(self)
        other.facts, other.digest_key = facts, bytes.fromhex(facts["digest_key"])
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

    def partitions(self, session: Session, reach: Reach) -> list[int]:
        """The partitions a read may see."""
        if reach.all_users:
            found = session.rows("partitions_of_tenant")
            return [self.remember(session.tenant, id, user) for id, user in found]
        users = [reach.user_id or ""]
        if reach.include_shared and reach.user_id is not None:
            users.append("")
        known = self.known_partitions(session, users)
        return [known[user] for user in users if user in known]

    def known_partitions(self, session: Session, users: Sequence[str]) -> dict[str, int]:
        """The partitions of these users ('' is no user) that are there."""
        known = {user: self._partitions.get((session.tenant, user)) for user in users}
        if None in known.values():
            found = session.rows("partitions", users=texts(users))
            known |= {user: self.remember(session.tenant, id, user) for id, user in found}
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

    def remember(self, tenant: int, partition: int, user: str) -> int:
        """Keep whose a committed partition is; gives it back."""
        self._partitions[tenant, user] = partition
        self._owners[partition] = (tenant, user)
        self._tenant_of[partition] = tenant
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

    def record(self, session: Session, row: Row) -> MemoryRecord:
        """The record of a row of the block `record`."""
        try:
            return record_of(self.opened(session, row), self.owner(session, row[1]))
        except (KeyError, ValueError, OverflowError, TypeError, AttributeError) as error:
            raise damaged(row) from error

    def opened(self, session: Session, row: Row) -> Row:
        """The row of the block `record` with its text as a text."""
        return (*row[:TEXT], self.text(session, row[TEXT]), *row[TEXT + 1 :])

    def text(self, session: Session, stored: bytes | str) -> str:
        """The text of the block `text`; `StoreCorrupt` if it is not whole."""
        return self._texts.opened(session, stored)

    def records(self, session: Session, rows: Iterable[Row]) -> list[MemoryRecord]:
        """The records of rows of the block `record`."""
        return [self.record(session, row) for row in rows]

    def checked(self, session: Session, row: Row) -> MemoryRecord:
        """The record of a row that ends with its digest, if it is what was signed."""
        whole = self.opened(session, row)
        if row_digest(whole, self.owner(session, row[1]), self.digest_key) != row[RECORD_WIDTH]:
            raise damaged(row)
        return self.record(session, whole)

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


def damaged(row: Row) -> StoreCorrupt:
    """The error that names a damaged memory."""
    return StoreCorrupt(f"The memory {spelled_id(row[2])} is damaged on disk; run `rem doctor`.")


def _tenant_made(connection: PatientConnection, name: str) -> int:
    asked = {"name": name}
    connection.execute(sql("insert_tenant").encode(), asked)
    row = connection.execute(sql("tenant").encode(), asked, binary=True).fetchone()
    assert row is not None
    return int(row[0])
