"""What a dialect gives the core: statements by name, transactions, and what both make of a row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

from remanence.errors import StoreCorrupt
from remanence.model.filter import Filter
from remanence.model.memory import MemoryRecord
from remanence.model.ports.store import Keys
from remanence.model.scope import Reach
from remanence.store.claims import known_ids
from remanence.store.conditions import Condition
from remanence.store.documents import HeldDocument, Place, Shelves
from remanence.store.quotas import COUNTED, Use
from remanence.store.rows import RECORD_WIDTH, TEXT, Owner, Row, record_of, row_digest, spelled_id
from remanence.store.words import Words


class Session(ABC):
    """One transaction's statements, by name; `tenant`, as its rows have it, is bound in each.

    `removed` is set by who removes what is to leave no byte behind. What is not abstract holds
    where there is one writer at a time.
    """

    def __init__(self, tenant: Any) -> None:
        self.tenant = tenant
        self.removed = False

    @abstractmethod
    def run(self, name: str, /, **values: Any) -> Any:
        """Execute the named statement; its cursor."""

    @abstractmethod
    def matching(
        self, name: str, condition: Condition, /, *more: Any, first: tuple[Any, ...] = ()
    ) -> list[Any]:
        """All rows of a statement with this condition; `first` and `more` are bound around it."""

    @abstractmethod
    def _gathered(self, found: Any) -> Keys:
        """The whole numbers that a statement gathered in one value."""

    @abstractmethod
    def among(self, column: str, values: Any) -> Condition:
        """The column has one of several values, which are given as one value."""

    @abstractmethod
    def memory_ids(self, ids: Iterable[str]) -> Any:
        """Ids of memories as one value; what is no id is left out."""

    @abstractmethod
    def packed_ids(self, ids: Iterable[bytes]) -> Any:
        """Ids in their 16 bytes as one value."""

    @abstractmethod
    def array_of(self, numbers: Any) -> Any:
        """Whole numbers as one value."""

    @abstractmethod
    def texts_of(self, texts: Iterable[str]) -> Any:
        """Texts as one value."""

    @abstractmethod
    def ids_kept(self, ids: Iterable[bytes]) -> Any:
        """Ids as a row of `receipts` has them."""

    @abstractmethod
    def ids_in(self, kept: Any) -> list[bytes]:
        """The ids that such a row has."""

    @abstractmethod
    def documents_at(self, places: Iterable[Place]) -> list[Any]:
        """The rows of the block `document` that stand at these places."""

    @abstractmethod
    def hold_places(self, shelves: Shelves, wanted: Collection[Place]) -> None:
        """Keep others from every place, note what stands there; what is `wanted` may be new."""

    @abstractmethod
    def put_places(self, every: Iterable[HeldDocument]) -> None:
        """Write what was decided."""

    @abstractmethod
    def announce_knowledge(self, partitions: Iterable[int]) -> None:
        """Move the feeds of partitions whose knowledge changed."""

    def rows(self, name: str, /, **values: Any) -> list[Any]:
        """All rows of the named statement."""
        found: list[Any] = self.run(name, **values).fetchall()
        return found

    def row(self, name: str, /, **values: Any) -> Any:
        """Its first row, None if there is none."""
        # All are read: apsw 3.54.0 never ends a statement that read a dictionary and is left before
        # its end, and its connection would see the past from then on.
        return next(iter(self.rows(name, **values)), None)

    def value(self, name: str, /, **values: Any) -> Any:
        """The first value of its first row, None if there is none."""
        row = self.row(name, **values)
        return None if row is None else row[0]

    def numbers(self, name: str, /, **values: Any) -> Keys:
        """The whole numbers that it gathers in one value."""
        return self._gathered(self.value(name, **values))

    def numbers_matching(self, name: str, condition: Condition, /, *more: Any) -> Keys:
        """The whole numbers that a statement with this condition gathers in one value."""
        ((found,),) = self.matching(name, condition, *more)
        return self._gathered(found)

    def ids_of(self, ids: Iterable[str]) -> Any:
        """Ids of entities and claims as one value; what is no id is left out."""
        return self.packed_ids(known_ids(ids))

    def share_writing(self) -> None:  # noqa: B027
        """Be one of the tenant's writers until the end."""

    def hold_writers(self) -> None:  # noqa: B027
        """Keep the tenant's other writers out until the end."""

    def hold_partitions(self, partitions: Iterable[int]) -> None:  # noqa: B027
        """Be the only one to change these partitions until the end; memories are locked before."""


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
