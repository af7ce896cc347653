"""What a dialect gives the core around transactions, and what both make of a row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

from remanence.errors import StoreCorrupt
from remanence.model.filter import Filter
from remanence.model.memory import MemoryRecord
from remanence.model.ports.store import Keys
from remanence.model.scope import Reach
from remanence.store.conditions import Condition
from remanence.store.core.session import Session
from remanence.store.quotas import COUNTED, Use
from remanence.store.rows import RECORD_WIDTH, TEXT, Owner, Row, record_of, row_digest, spelled_id
from remanence.store.words import Words

_CHUNK = 500

T = TypeVar("T")


class Database(ABC):
    """Transactions, and what is known of a store besides its rows.

    What is not abstract holds where one writes at a time and statements open texts.
    """

    digest_key: bytes
    identity: str
    words: Words

    @abstractmethod
    def read(self, tenant: str, work: Callable[[Any], T]) -> T | None:
        """Do it on a connection to read with; None if the tenant has never written."""

    @abstractmethod
    def read_partition(self, partition: int, work: Callable[[Any], T]) -> T | None:
        """Do it for a partition's tenant; None if nobody has named the partition here."""

    @abstractmethod
    def read_names(self, work: Callable[[Any], T]) -> T:
        """Do it for no tenant, where only names are to be seen."""

    @abstractmethod
    def write(self, tenant: str, work: Callable[[Any], T]) -> T:
        """Do it in one durable transaction."""

    @abstractmethod
    def is_tenant(self, name: str) -> bool:
        """Whether a write may find anything of the tenant."""

    @abstractmethod
    def places(
        self, session: Any, ids: Iterable[str], *, lock: bool = False
    ) -> Mapping[str, tuple[int, int]]:
        """(partition, key) of those memories that are there; with `lock` they stay meanwhile."""

    @abstractmethod
    def memories(self, session: Any, ids: Iterable[str]) -> Mapping[str, Row]:
        """The rows of those memories that are there: the block `record`, then the digest."""

    @abstractmethod
    def owner(self, session: Any, partition: int) -> Owner:
        """Whose partition it is."""

    @abstractmethod
    def known_partitions(self, session: Any, users: Sequence[str]) -> dict[str, int]:
        """The partitions of these users ('' is no user) that are there."""

    @abstractmethod
    def partitions_for(self, session: Any, users: Iterable[str]) -> dict[str, int]:
        """The partitions of these users ('' is no user); those that are missing are made."""

    @abstractmethod
    def remember(self, session: Any, partition: int, user: str) -> int:
        """Keep whose a partition is, if that has to be known; gives it back."""

    @abstractmethod
    def of_partitions(self, session: Any, table: str, partitions: Sequence[int]) -> Condition:
        """The table's row is in one of these partitions."""

    @abstractmethod
    def reached(self, session: Any, reach: Reach, where: Filter | None) -> Condition:
        """What a read may see and wants to see."""

    @abstractmethod
    def matched(self, session: Any, partition: int, where: Filter) -> Condition:
        """What satisfies the filter in one partition."""

    @abstractmethod
    def checking_use(
        self, session: Any, tenant: str, more: Callable[[], Use]
    ) -> AbstractContextManager[None]:
        """Refuse at the end what was added meanwhile, if it is too much."""

    def partitions(self, session: Any, reach: Reach) -> list[int]:
        """The partitions that a read may see."""
        if reach.all_users:
            found = session.rows("partitions_of_tenant")
            return [self.remember(session, id, user) for id, user in found]
        users = [reach.user_id or ""]
        if reach.include_shared and reach.user_id is not None:
            users.append("")
        known = self.known_partitions(session, users)
        return [known[user] for user in users if user in known]

    def snapshot(self, tenant: str, work: Callable[[Any], T]) -> T | None:
        """Read, and no statement sees more than another."""
        return self.read(tenant, work)

    def check(self, where: Filter | None) -> None:  # noqa: B027
        """Refuse what no statement could hold, for reads that find nothing to look into."""

    def text(self, session: Any, stored: Any) -> str:
        """The text of the block `text`; `StoreCorrupt` if it is not whole."""
        text: str = stored
        return text

    def record(self, session: Any, row: Row) -> MemoryRecord:
        """The record of a row of the block `record`."""
        try:
            return record_of(self.opened(session, row), self.owner(session, row[1]))
        except (KeyError, ValueError, OverflowError, TypeError, AttributeError) as error:
            raise damaged(row) from error

    def records(self, session: Any, rows: Iterable[Row]) -> list[MemoryRecord]:
        """The records of rows of the block `record`."""
        return [self.record(session, row) for row in rows]

    def checked(self, session: Any, row: Row) -> MemoryRecord:
        """The record of a row that ends with its digest, if it is what was signed."""
        whole, owner = self.opened(session, row), self.owner(session, row[1])
        if row_digest(whole, owner, self.digest_key) != row[RECORD_WIDTH]:
            raise damaged(row)
        return self.record(session, whole)

    def opened(self, session: Any, row: Row) -> Row:
        """The row of the block `record` with its text as a text."""
        return (*row[:TEXT], self.text(session, row[TEXT]), *row[TEXT + 1 :])


D = TypeVar("D", bound=Database)


class StorePart(ABC, Generic[D]):
    """A part of a store, over its database."""

    def __init__(self, database: D) -> None:
        self._database = database

    def _paged(
        self,
        tenant: str,
        name: str,
        made: Callable[[Session, Row], T],
        after: Mapping[str, Any],
        **asked: Any,
    ) -> Iterator[T]:
        """What a statement gives after a place, whose columns stand first in its rows.

        It is read in chunks, so no read stays open between them.
        """
        place = dict(after)

        def work(session: Session) -> list[tuple[Row, T]]:
            rows = session.rows(name, **asked, **place, most=_CHUNK)
            return [(row, made(session, row)) for row in rows]

        while found := self._database.read(tenant, work):
            yield from (one for _, one in found)
            place = dict(zip(place, found[-1][0], strict=False))

    def _by_key(
        self,
        tenant: str,
        name: str,
        made: Callable[[Session, Row], T],
        keys: Sequence[int] | Keys,
        size: int = _CHUNK,
    ) -> Iterator[T]:
        """What a statement gives for these keys, so many at a time."""
        for at in range(0, len(keys), size):
            some = keys[at : at + size]

            def work(session: Session, some: Sequence[int] | Keys = some) -> list[T]:
                rows = session.rows(name, keys=session.array_of(some))
                return [made(session, row) for row in rows]

            yield from self._database.read(tenant, work) or []


def damaged(row: Row) -> StoreCorrupt:
    """The error that names a damaged memory."""
    return StoreCorrupt(f"The memory {spelled_id(row[2])} is damaged on disk; run `rem doctor`.")


def count_in(database: Database, session: Session, reach: Reach, where: Filter | None) -> int:
    """How many memories in reach satisfy the filter."""
    ((count,),) = session.matching("count", database.reached(session, reach, where))
    return int(count)


def use_of(session: Session) -> Use:
    """How much the tenant has."""
    row = session.row("use_of_tenant", shelves=session.texts_of(COUNTED))
    return Use(*row) if row else Use()
