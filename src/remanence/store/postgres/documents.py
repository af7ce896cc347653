"""Documents in PostgreSQL: named, versioned values with the editions that are kept of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any

import orjson

from remanence.model.document import Address, Document, Edition, Put, Shelf, Shelving
from remanence.model.filter import Filter
from remanence.model.scope import Reach
from remanence.store.postgres.arrays import Array, byteas, int8s, texts
from remanence.store.postgres.columns import NEVER, Kinds, arrays
from remanence.store.postgres.counting import checking_use, count_in
from remanence.store.postgres.database import Database
from remanence.store.postgres.filters import statement
from remanence.store.postgres.placing import writers_lock
from remanence.store.postgres.session import Session
from remanence.store.quotas import added_by_documents, added_by_standing
from remanence.store.rows import Row, micros
from remanence.store.shelves import (
    Place,
    Standing,
    address_of,
    document_of,
    edition_of,
    place_of,
    within,
)
from remanence.store.shelving import Held, Ready, Shelves, check_vacant, ready, ready_to_adopt

_CHUNK = 50
_BEFORE_ALL = ("",) * 5
_PLACE = ("shelf", "user", "session", "agent", "name")
_COLUMNS: Kinds = {
    "key": int8s, "version": int8s, "created_at": int8s, "updated_at": int8s,
    "expires_at": int8s, "value": texts, "digest": byteas,
}  # fmt: skip
_EDITION: Kinds = {
    "document": int8s, "version": int8s, "verb": texts, "at": int8s, "author": texts,
    "reason": texts, "value": texts, "digest": byteas,
}  # fmt: skip


class PostgresDocuments:
    """The Documents port."""

    _database: Database

    def put(
        self,
        tenant: str,
        shelvings: Sequence[Shelving],
        *,
        vacant: tuple[Reach, Filter | None] | None = None,
    ) -> list[Document]:
        """Do all of it in one durable transaction; the documents put, in that order."""
        asked = ready(shelvings)
        wanted = any(isinstance(one, Put) for one in shelvings)
        if not wanted and not self._database.is_tenant(tenant):
            return self._nothing(tenant, asked)

        def work(session: Session) -> list[Document]:
            if vacant is not None:
                session.run("lock_writers", own=writers_lock(session.tenant))
                check_vacant(count_in(self._database, session, *vacant))
            with checking_use(
                self._database, session, tenant, lambda: added_by_documents(shelvings)
            ):
                return shelve(self._database, session, tenant, asked)

        return self._database.write(tenant, work)

    def documents(self, tenant: str, addresses: Sequence[Address]) -> list[Document]:
        """The documents at these addresses, in one snapshot, each checked against its digest."""
        places = [place_of(one) for one in addresses]
        rows = self._read(tenant, "documents_at", places=_marks(places))
        found = {tuple(row[1:6]): row for row in rows}
        return [self._document(found[place], tenant) for place in places if place in found]

    def shelved(
        self,
        reach: Reach,
        shelf: Shelf,
        *,
        agents: Sequence[str | None] | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Document]:
        """A shelf's documents in reach, the one last put first; ties by address."""
        condition = within(reach, agents)
        asked = (str(Shelf(shelf)), *condition.values, limit, offset)

        def work(session: Session) -> list[Row]:
            text = statement("shelved", condition)
            return [*session.execute(text, (session.tenant, *asked)).fetchall()]

        rows = self._database.read(reach.tenant, work) or []
        return [self._document(row, reach.tenant) for row in rows]

    def walk_shelf(
        self, reach: Reach, shelf: Shelf, *, agents: Sequence[str | None] | None = None
    ) -> Iterator[Document]:
        """A shelf's documents: which ones is read at once, they themselves in chunks."""
        condition = within(reach, agents)

        def work(session: Session) -> list[Row]:
            asked = (session.tenant, str(Shelf(shelf)), *condition.values)
            return [*session.execute(statement("shelf_keys", condition), asked).fetchall()]

        keys = [key for (key,) in self._database.read(reach.tenant, work) or []]
        for at in range(0, len(keys), _CHUNK):
            some = int8s(keys[at : at + _CHUNK])
            rows = self._read(reach.tenant, "documents_by_key", keys=some)
            yield from (self._document(row, reach.tenant) for row in rows)

    def editions(self, tenant: str, address: Address) -> list[Edition]:
        """Every version that was put with `keep`, oldest first; none if there are none."""

        def work(session: Session) -> list[Edition]:
            row = session.row("documents_at", places=_marks([place_of(address)]))
            return [] if row is None else self._editions(session, [row], tenant)[row[0]]

        return self._database.read(tenant, work) or []

    def expire(self, tenant: str, shelf: Shelf, now: datetime, limit: int = 1000) -> list[Address]:
        """Erase a shelf's documents whose time has run out by `now`, oldest expiry first."""
        asked = {"shelf": str(Shelf(shelf)), "now": micros(now), "most": limit}

        def work(session: Session) -> list[Address]:
            # A row that had to be waited for may have moved meanwhile.
            rows = session.rows("lock_expired", **asked)
            rows.sort(key=lambda row: (row[6], *row[1:6]))
            _delete(session, [row[0] for row in rows])
            return [address_of(row[1:6]) for row in rows]

        return self._database.write(tenant, work) if self._database.is_tenant(tenant) else []

    def scan_documents(self, tenant: str) -> Iterator[Standing]:
        """Every document of the tenant with its editions, by address; read in chunks."""
        after: Row = _BEFORE_ALL
        while chunk := self._standing_after(tenant, after):
            yield from chunk
            after = place_of(chunk[-1][0].address)

    def adopt(
        self,
        tenant: str,
        documents: Sequence[Standing],
        expected: Mapping[Address, int] | None = None,
    ) -> None:
        """Take documents over as they are; what stood at their addresses is replaced."""
        asked = ready_to_adopt(documents, expected)
        places = {one.place for one in asked}

        def work(session: Session) -> None:
            shelves = Shelves(tenant, self._database.digest_key, places)
            with checking_use(
                self._database, session, tenant, lambda: added_by_standing(documents)
            ):
                _lock(session, shelves, places)
                for one in asked:
                    shelves.adopt(one)
                _store(session, shelves.held.values())

        if documents:
            self._database.write(tenant, work)

    def _nothing(self, tenant: str, asked: Sequence[Any]) -> list[Document]:
        """Discard what a tenant that never wrote does not have; an expected version conflicts."""
        shelves = Shelves(tenant, self._database.digest_key, [one.place for one in asked])
        for one in asked:
            shelves.act(one)
        return []

    def _standing_after(self, tenant: str, after: Row) -> list[Standing]:
        def work(session: Session) -> list[Standing]:
            asked = dict(zip(_PLACE, after, strict=True))
            rows = session.rows("documents_after", **asked, most=_CHUNK)
            editions = self._editions(session, rows, tenant)
            return [(self._document(row, tenant), tuple(editions[row[0]])) for row in rows]

        return self._database.read(tenant, work) or []

    def _read(self, tenant: str, name: str, **asked: Any) -> list[tuple[Any, ...]]:
        return self._database.read(tenant, lambda session: session.rows(name, **asked)) or []

    def _document(self, row: Row, tenant: str) -> Document:
        return document_of(row, tenant, self._database.digest_key)

    def _editions(
        self, session: Session, rows: Sequence[Row], tenant: str
    ) -> dict[int, list[Edition]]:
        places = {row[0]: row[1:6] for row in rows}
        found: dict[int, list[Edition]] = {key: [] for key in places}
        for row in session.rows("editions", keys=int8s(places)):
            edition = edition_of(row, places[row[0]], tenant, self._database.digest_key)
            found[row[0]].append(edition)
        return found


def shelve(
    database: Database, session: Session, tenant: str, asked: Sequence[Ready]
) -> list[Document]:
    """Do all of it inside a transaction; the documents put, in that order."""
    shelves = Shelves(tenant, database.digest_key, [one.place for one in asked])
    _lock(session, shelves, {one.place for one in asked if isinstance(one.shelving, Put)})
    done = [shelves.act(one) for one in asked]
    _store(session, shelves.held.values())
    return [document for document in done if document is not None]


def _lock(session: Session, shelves: Shelves, wanted: Collection[Place]) -> None:
    """Hold every place, also those that are new, until the end; note what stands at them.

    Who reserves a new place first has it; another waits and then finds what was put there.
    """
    missing = set(wanted)
    others = set(shelves.held) - missing
    while missing or others:
        if missing:
            session.run("reserve_places", **_reserved(missing))
        for row in session.rows("lock_places", places=_marks(missing | others)):
            shelves.found(row)
        # A document that was discarded while it was waited for is reserved anew.
        missing, others = {place for place in missing if shelves.held[place].key is None}, set()


def _store(session: Session, every: Iterable[Held]) -> None:
    """Write what was decided."""
    held = [(one.key, one) for one in every if one.key is not None]
    _delete(session, [key for key, one in held if one.row is None and one.emptied])
    emptied = [key for key, one in held if one.row is not None and one.emptied]
    if emptied:
        session.run("delete_editions", keys=int8s(emptied))
    rows = [(key, *_unending(one.row)) for key, one in held if one.row is not None]
    if rows:
        session.run("update_documents", **arrays(_COLUMNS, rows), never=NEVER)
    editions = [(key, *edition) for key, one in held for edition in one.editions]
    if editions:
        session.run("insert_editions", **arrays(_EDITION, editions))


def _delete(session: Session, keys: Sequence[int]) -> None:
    if keys:
        session.run("delete_editions", keys=int8s(keys))
        session.run("delete_documents", keys=int8s(keys))


def _unending(row: Row) -> Row:
    version, created, updated, expires, value, digest = row
    return version, created, updated, NEVER if expires is None else expires, value, digest


def _reserved(places: Iterable[Place]) -> dict[str, Array]:
    listed = list(places)
    columns = [texts(column) for column in zip(*listed, strict=True)]
    names = ("shelves", "users", "sessions", "agents", "names")
    return {"places": _marks(listed), **dict(zip(names, columns, strict=True))}


def _marks(places: Iterable[Place]) -> Array:
    return byteas(blake2b(orjson.dumps(place), digest_size=16).digest() for place in places)
