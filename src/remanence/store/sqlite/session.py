"""One transaction of one tenant: the store's SQL by name, and arrays for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any

import apsw
import numpy as np

from remanence.model.ports.store import Keys
from remanence.store import blocks
from remanence.store.claims import NO_MEMORY
from remanence.store.conditions import Condition
from remanence.store.core import database as core
from remanence.store.core.documents import delete_documents
from remanence.store.documents import HeldDocument, Place, Shelves
from remanence.store.rows import Row, both_ids, packed_id

_ID_BYTES = 16


@cache
def sql(name: str) -> str:
    """The statement of that name."""
    return blocks.blocks(__package__)[name]


def statement(name: str, condition: Condition) -> str:
    """The named statement with its `{condition}` filled in."""
    return sql(name).replace("{condition}", condition.sql)


def run(connection: apsw.Connection, name: str, values: apsw.Bindings = ()) -> apsw.Cursor:
    """Execute the named statement."""
    return connection.execute(sql(name), values)


def run_many(connection: apsw.Connection, name: str, rows: Sequence[apsw.Bindings]) -> list[Any]:
    """Execute the named statement once for every row of values; all that it gives back."""
    return connection.executemany(sql(name), rows).fetchall()


def fetch_all(connection: apsw.Connection, name: str, values: apsw.Bindings = ()) -> list[Any]:
    """All rows of the named statement."""
    return connection.execute(sql(name), values).fetchall()


def fetch_value(connection: apsw.Connection, name: str, values: apsw.Bindings = ()) -> Any:
    """The one value that the named statement gives, None if it gives no row."""
    return connection.execute(sql(name), values).get


def migrations() -> list[tuple[int, str]]:
    """Every migration with its number, in order."""
    return blocks.migrations(__package__)


def bound(keys: Sequence[int] | Keys) -> apsw.CArrayBinding | None:
    """Keys for `carray(?)`, each once, in order; None, which gives no rows, if there are none."""
    array = np.unique(np.asarray(keys, np.int64))
    return apsw.carray(array) if len(array) else None


def bound_values(values: Iterable[bytes] | Iterable[str]) -> apsw.CArrayBinding | None:
    """Ids or texts for `carray(?)`, as they are; None, which gives no rows, if there are none."""
    listed = tuple(values)
    return apsw.carray(listed) if listed else None


def parsed(joined: str | None) -> Keys:
    """The numbers that `group_concat` joined; 3 times as fast as reading a row for each."""
    if not joined:
        return np.empty(0, np.int64)
    return np.fromstring(joined, np.int64, sep=",")


class Session(core.Session):
    """Statements on one connection; `:tenant` in them is always that tenant."""

    def __init__(self, connection: apsw.Connection, tenant: str) -> None:
        super().__init__(tenant)
        self.connection = connection

    def run(self, name: str, /, **values: Any) -> apsw.Cursor:
        """Execute the named statement."""
        values["tenant"] = self.tenant
        return self.connection.execute(sql(name), values)

    def matching(
        self, name: str, condition: Condition, /, *more: Any, first: Row = ()
    ) -> list[Any]:
        """All rows of the named statement with that condition."""
        asked = (*first, *condition.values, *more)
        return self.connection.execute(statement(name, condition), asked).fetchall()

    def _gathered(self, found: str | None) -> Keys:
        return parsed(found)

    def put(self, name: str, values: Row) -> apsw.Cursor:
        """Execute the named statement with a whole row of values."""
        return self.connection.execute(sql(name), values)

    def among(self, column: str, values: apsw.CArrayBinding | None) -> Condition:
        """The column has one of several values."""
        return Condition(f"{column} IN (SELECT value FROM carray(?))", (values,))  # noqa: S608

    def packed_ids(self, ids: Iterable[bytes]) -> apsw.CArrayBinding | None:
        """Ids in their 16 bytes for `carray(:ids)`."""
        return bound_values(ids)

    def memory_ids(self, ids: Iterable[str]) -> apsw.CArrayBinding | None:
        """Ids of memories for `carray(:ids)`, in both of the ways that the file may have them."""
        packed = {one for one in map(packed_id, ids) if one is not None}
        return bound_values(either for one in packed for either in both_ids(one, self.tenant))

    def array_of(self, numbers: Sequence[int] | Keys) -> apsw.CArrayBinding | None:
        """Whole numbers for `carray(:numbers)`."""
        return bound(numbers)

    def texts_of(self, texts: Iterable[str]) -> apsw.CArrayBinding | None:
        """Texts for `carray(:texts)`."""
        return bound_values(texts)

    def ids_kept(self, ids: Iterable[bytes]) -> bytes:
        """Ids one after the other."""
        return b"".join(ids)

    def ids_in(self, kept: bytes) -> list[bytes]:
        """The ids that were so joined."""
        return [kept[at : at + _ID_BYTES] for at in range(0, len(kept), _ID_BYTES)]

    def documents_at(self, places: Iterable[Place]) -> list[Row]:
        """The rows of the block `document` that stand at these places."""
        return [row for one in places for row in self._at("document_at", one)]

    def hold_places(self, shelves: Shelves, wanted: Collection[Place]) -> None:
        """Note what stands at every place; nobody else writes meanwhile."""
        for place in shelves.held:
            for row in self._at("standing", place):
                shelves.found(row)

    def put_places(self, every: Iterable[HeldDocument]) -> None:
        """Write what was decided."""
        for held in every:
            if held.row is not None:
                self._put_place(held, held.row)
            elif held.emptied and held.key is not None:
                delete_documents(self, [held.key])

    def announce_knowledge(self, partitions: Iterable[int]) -> None:
        """Move the feeds of partitions whose knowledge changed."""
        rows = [(partition, NO_MEMORY) for partition in sorted(partitions)]
        run_many(self.connection, "insert_change", rows)

    def _at(self, name: str, place: Place) -> list[Any]:
        return self.put(name, (self.tenant, *place)).fetchall()

    def _put_place(self, held: HeldDocument, row: Row) -> None:
        key = held.key
        if key is None:
            key = self.put("insert_document", (self.tenant, *held.place, *row)).get
        else:
            if held.emptied:
                self.run("delete_editions", keys=self.array_of([key]))
            self.put("update_document", (*row, key))
        for edition in held.editions:
            self.put("insert_edition", (key, *edition))
