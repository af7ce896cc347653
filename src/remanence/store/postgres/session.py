"""One transaction of one tenant: named statements inside the wall, locks, the change feed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
import orjson
from psycopg import Cursor
from psycopg.types.numeric import Int4

from remanence.model import deadline
from remanence.model.ports.store import Keys
from remanence.store import blocks
from remanence.store.claims import NO_MEMORY
from remanence.store.conditions import Condition
from remanence.store.core import database as core
from remanence.store.core.documents import delete_documents
from remanence.store.documents import HeldDocument, Place, Shelves
from remanence.store.postgres.arrays import (
    NEVER,
    Array,
    Int8s,
    Kinds,
    Texts,
    Uuids,
    arrays,
    byteas,
    int8s,
    texts,
    uuids,
)
from remanence.store.postgres.opening import APPLICATION, PatientConnection
from remanence.store.rows import Row, packed_id

NOBODY = 0  # no tenant has this number
_DOCUMENT: Kinds = {
    "key": int8s, "version": int8s, "created_at": int8s, "updated_at": int8s,
    "expires_at": int8s, "value": texts, "digest": byteas,
}  # fmt: skip
_EDITION: Kinds = {
    "document": int8s, "version": int8s, "verb": texts, "at": int8s, "author": texts,
    "reason": texts, "value": texts, "digest": byteas,
}  # fmt: skip


@cache
def sql(name: str) -> str:
    """The statement of that name."""
    return blocks.blocks(__package__)[name]


def statement(name: str, condition: Condition) -> str:
    """The named statement with its `{condition}` filled in."""
    return sql(name).replace("{condition}", condition.sql.replace("?", "%s"))


def migrations() -> list[tuple[int, str]]:
    """Every migration with its number, in order."""
    return blocks.migrations(__package__)


def lock_number(name: str) -> int:
    """The number of an advisory lock."""
    digest = blake2b(f"{APPLICATION}:{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


WORDS_LOCK = lock_number("words")


class Session(core.Session):
    """Statements of one tenant on one connection; `%(tenant)s` in them is always that tenant.

    Inside a pipeline a statement is under way when `run` returns; asking for rows waits for it.
    """

    def __init__(self, connection: PatientConnection, tenant: int) -> None:
        super().__init__(tenant)
        self.connection = connection
        self.touched: set[int] = set()
        self.run("enter", name=str(tenant))

    def run(self, name: str, /, **values: Any) -> Cursor[tuple[Any, ...]]:
        """Execute the named statement."""
        return self.execute(sql(name), {"tenant": Int4(self.tenant), **values})

    def matching(
        self, name: str, condition: Condition, /, *more: Any, first: tuple[Any, ...] = ()
    ) -> list[tuple[Any, ...]]:
        """All rows of the named statement with that condition."""
        asked = (*first, *condition.values, *more)
        return self.execute(statement(name, condition), asked).fetchall()

    def _gathered(self, found: Keys | None) -> Keys:
        return np.empty(0, np.int64) if found is None else np.asarray(found, np.int64)

    def among(self, column: str, values: Array) -> Condition:
        """The column has one of several values."""
        return Condition(f"{column} = ANY(?)", (values,))

    def packed_ids(self, ids: Iterable[bytes]) -> Uuids:
        """Ids in their 16 bytes for `ANY(%(ids)s)`."""
        return uuids(ids)

    def memory_ids(self, ids: Iterable[str]) -> Uuids:
        """Ids for `ANY(%(ids)s)`."""
        return uuids({packed for id in ids if (packed := packed_id(id)) is not None})

    def array_of(self, numbers: Iterable[int] | Keys) -> Int8s:
        """Whole numbers for `ANY(%(numbers)s)`."""
        return int8s(numbers)

    def texts_of(self, given: Iterable[str]) -> Texts:
        """Texts for `ANY(%(texts)s)`."""
        return texts(given)

    def ids_kept(self, ids: Iterable[bytes]) -> Uuids:
        """Ids as an array."""
        return uuids(ids)

    def ids_in(self, kept: list[bytes]) -> list[bytes]:
        """The ids of such an array."""
        return kept

    def execute(self, text: str, values: Sequence[Any] | dict[str, Any]) -> Cursor[tuple[Any, ...]]:
        """Execute a statement that was put together, as those with a filter are."""
        deadline.check()
        return self.connection.execute(text.encode(), values, binary=True)

    def execute_once(self, text: str, values: dict[str, Any]) -> Cursor[tuple[Any, ...]]:
        """Execute a statement that is planned anew each time, for these very values."""
        deadline.check()
        return self.connection.execute(text.encode(), values, binary=True, prepare=False)

    def documents_at(self, places: Iterable[Place]) -> list[Row]:
        """The rows of the block `document` that stand at these places."""
        return [*self.rows("documents_at", places=_marks(places))]

    def hold_places(self, shelves: Shelves, wanted: Collection[Place]) -> None:
        """Hold every place, also those that are new, until the end; note what stands at them.

        Who reserves a new place first has it; another waits and then finds what was put there.
        Where a document was discarded while it was waited for, every place is let go first: who
        waited with some in hand could keep the others from ever coming to an end.
        """
        places, rows = set(shelves.held), list[Row]()
        if places:
            self.run("mark_places")
        while places:
            if wanted:
                self.run("reserve_places", **_reserved(wanted))
            rows = self.rows("lock_places", places=_marks(places))
            if places.intersection(wanted) <= {row[1:6] for row in rows}:
                break
            self.run("let_go_of_places")
        for row in rows:
            shelves.found(row)

    def put_places(self, every: Iterable[HeldDocument]) -> None:
        """Write what was decided."""
        held = [(one.key, one) for one in every if one.key is not None]
        delete_documents(self, [key for key, one in held if one.row is None and one.emptied])
        emptied = [key for key, one in held if one.row is not None and one.emptied]
        if emptied:
            self.run("delete_editions", keys=int8s(emptied))
        rows = [(key, *_unending(one.row)) for key, one in held if one.row is not None]
        if rows:
            self.run("update_documents", **arrays(_DOCUMENT, rows), never=NEVER)
        editions = [(key, *edition) for key, one in held for edition in one.editions]
        if editions:
            self.run("insert_editions", **arrays(_EDITION, editions))

    def share_writing(self) -> None:
        """Be one of the tenant's writers until the end."""
        self.run("lock_writers_shared", words=WORDS_LOCK, own=self._own_lock())

    def hold_writers(self) -> None:
        """Keep the tenant's other writers out until the end."""
        self.run("lock_writers", own=self._own_lock())

    def hold_partitions(self, partitions: Iterable[int]) -> None:
        """Be the only one to change these partitions until the end; memories are locked before."""
        self.run("lock_positions", partitions=int8s(sorted(set(partitions))))

    def announce_knowledge(self, partitions: Iterable[int]) -> None:
        """Move the feeds of partitions whose knowledge changed."""
        announce(self, [(partition, NO_MEMORY) for partition in sorted(partitions)])

    def _own_lock(self) -> int:
        return lock_number(f"writers of {self.tenant}")


def announce(
    session: Session, changed: Sequence[tuple[int, int]], more: Mapping[int, int] | None = None
) -> None:
    """Enter (partition, key) pairs, as the last act of a transaction.

    `more` says by how much the memories of a partition have grown.
    """
    if not changed:
        return
    counts: Counter[int] = Counter()
    nths = []
    for partition, _ in changed:
        counts[partition] += 1
        nths.append(counts[partition])
    if len(counts) > 1:
        # In one order everywhere, or two writers would wait for each other.
        session.run("lock_positions", partitions=int8s(sorted(counts)))
    session.run(
        "announce",
        partitions=int8s(counts),
        counts=int8s(counts.values()),
        more=int8s((more or {}).get(partition, 0) for partition in counts),
        places=int8s(partition for partition, _ in changed),
        nths=int8s(nths),
        keys=int8s(key for _, key in changed),
    )
    session.touched |= counts.keys()


def _unending(row: Row) -> Row:
    version, created, updated, expires, value, digest = row
    return version, created, updated, NEVER if expires is None else expires, value, digest


def _reserved(places: Iterable[Place]) -> dict[str, Array]:
    listed = list(places)
    columns = [texts(column) for column in zip(*listed, strict=True)]
    names = ("shelves", "users", "sessions", "agents", "names")
    return {"places": _marks(listed), **dict(zip(names, columns, strict=True))}


def _marks(places: Iterable[Place]) -> Array:
    return byteas(blake2b(orjson.dumps(one), digest_size=16).digest() for one in places)
