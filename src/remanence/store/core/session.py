"""What a dialect gives the core inside a transaction: its statements by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any

from remanence.model.ports.store import Keys
from remanence.store.claims import known_ids
from remanence.store.conditions import Condition
from remanence.store.documents import HeldDocument, Place, Shelves


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
