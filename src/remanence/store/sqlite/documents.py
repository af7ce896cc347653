"""Documents in SQLite: named, versioned values with the editions that are kept of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import apsw

from remanence.model.document import Address, Discard, Document, Edition, Shelf, Shelving
from remanence.model.filter import Filter
from remanence.model.scope import Reach
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
from remanence.store.sqlite.counting import check_use, count_in
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.erasing import Eraser
from remanence.store.sqlite.filters import statement
from remanence.store.sqlite.numbers import bound
from remanence.store.sqlite.statements import fetch_all, fetch_value, run

_CHUNK = 500
_LARGE = 50  # of whole documents
_BEFORE_ALL = ("",) * 5


class SqliteDocuments:
    """The Documents port."""

    _database: Database
    _eraser: Eraser

    def put(
        self,
        tenant: str,
        shelvings: Sequence[Shelving],
        *,
        vacant: tuple[Reach, Filter | None] | None = None,
    ) -> list[Document]:
        """Do all of it in one durable transaction; the documents put, in that order."""
        asked = ready(shelvings)
        with self._database.writing() as connection:
            if vacant is not None:
                check_vacant(count_in(self._database, connection, *vacant))
            done = shelve(self._database, connection, tenant, asked)
            check_use(self._database, connection, tenant, lambda: added_by_documents(shelvings))
        self._eraser.after_write(any(isinstance(one, Discard) for one in shelvings))
        return done

    def documents(self, tenant: str, addresses: Sequence[Address]) -> list[Document]:
        """The documents at these addresses, in one snapshot, each checked against its digest."""
        with self._snapshot() as connection:
            found = (self._standing(connection, tenant, place_of(one)) for one in addresses)
            return [self._document(row, tenant) for row in found if row is not None]

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
        asked = (reach.tenant, str(Shelf(shelf)), *condition.values, limit, offset)
        with self._database.reading() as connection:
            rows = connection.execute(statement("shelved", condition), asked).fetchall()
        return [self._document(row, reach.tenant) for row in rows]

    def walk_shelf(
        self, reach: Reach, shelf: Shelf, *, agents: Sequence[str | None] | None = None
    ) -> Iterator[Document]:
        """A shelf's documents: which ones is read at once, they themselves in chunks."""
        condition = within(reach, agents)
        asked = (reach.tenant, str(Shelf(shelf)), *condition.values)
        with self._database.reading() as connection:
            rows = connection.execute(statement("shelf_keys", condition), asked).fetchall()
        keys: list[Any] = [key for (key,) in rows]
        for at in range(0, len(keys), _LARGE):
            some = bound(keys[at : at + _LARGE])
            with self._database.reading() as connection:
                rows = fetch_all(connection, "documents_by_key", (some,))
            yield from (self._document(row, reach.tenant) for row in rows)

    def editions(self, tenant: str, address: Address) -> list[Edition]:
        """Every version that was put with `keep`, oldest first; none if there are none."""
        with self._snapshot() as connection:
            row = self._standing(connection, tenant, place_of(address))
            return [] if row is None else self._editions(connection, row, tenant)

    def expire(self, tenant: str, shelf: Shelf, now: datetime, limit: int = 1000) -> list[Address]:
        """Erase a shelf's documents whose time has run out by `now`, oldest expiry first."""
        asked = (tenant, str(Shelf(shelf)), micros(now), limit)
        with self._database.writing() as connection:
            rows = fetch_all(connection, "expired", asked)
            for row in rows:
                run(connection, "delete_document", row[:1])
        self._eraser.after_write(bool(rows))
        return [address_of(row[1:]) for row in rows]

    def scan_documents(self, tenant: str) -> Iterator[Standing]:
        """Every document of the tenant with its editions, by address, each in one snapshot."""
        after: Row = _BEFORE_ALL
        while places := self._places_after(tenant, after):
            for place in places:
                with self._snapshot() as connection:
                    row = self._standing(connection, tenant, place)
                    found = () if row is None else tuple(self._editions(connection, row, tenant))
                if row is not None:
                    yield self._document(row, tenant), found
            after = places[-1]

    def adopt(
        self,
        tenant: str,
        documents: Sequence[Standing],
        expected: Mapping[Address, int] | None = None,
    ) -> None:
        """Take documents over as they are; what stood at their addresses is replaced."""
        asked = ready_to_adopt(documents, expected)
        with self._database.writing() as connection:
            places = [one.place for one in asked]
            shelves = _found(self._database, connection, tenant, places)
            for one in asked:
                shelves.adopt(one)
            replaced = any(held.key is not None for held in shelves.held.values())
            _store(connection, tenant, shelves.held.values())
            check_use(self._database, connection, tenant, lambda: added_by_standing(documents))
        self._eraser.after_write(replaced)

    @contextmanager
    def _snapshot(self) -> Iterator[apsw.Connection]:
        with self._database.reading() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    def _standing(self, connection: apsw.Connection, tenant: str, place: Place) -> Row | None:
        row: Row | None = run(connection, "document_at", (tenant, *place)).fetchone()
        return row

    def _document(self, row: Row, tenant: str) -> Document:
        return document_of(row, tenant, self._database.digest_key)

    def _editions(self, connection: apsw.Connection, row: Row, tenant: str) -> list[Edition]:
        place, key = row[1:6], self._database.digest_key
        found = fetch_all(connection, "editions", row[:1])
        return [edition_of(one, place, tenant, key) for one in found]

    def _places_after(self, tenant: str, after: Row) -> list[Place]:
        with self._database.reading() as connection:
            return fetch_all(connection, "places_after", (tenant, *after, _CHUNK))


def shelve(
    database: Database, connection: apsw.Connection, tenant: str, asked: Sequence[Ready]
) -> list[Document]:
    """Do all of it inside a transaction; the documents put, in that order."""
    shelves = _found(database, connection, tenant, [one.place for one in asked])
    done = [shelves.act(one) for one in asked]
    _store(connection, tenant, shelves.held.values())
    return [document for document in done if document is not None]


def _found(
    database: Database, connection: apsw.Connection, tenant: str, places: Sequence[Place]
) -> Shelves:
    shelves = Shelves(tenant, database.digest_key, places)
    for place in shelves.held:
        for row in run(connection, "standing", (tenant, *place)):
            shelves.found(row)
    return shelves


def _store(connection: apsw.Connection, tenant: str, every: Iterable[Held]) -> None:
    """Write what was decided."""
    for held in every:
        key = held.key
        if held.row is None:
            if held.emptied and key is not None:
                run(connection, "delete_document", (key,))
            continue
        if key is None:
            key = fetch_value(connection, "insert_document", (tenant, *held.place, *held.row))
        else:
            if held.emptied:
                run(connection, "delete_editions", (key,))
            run(connection, "update_document", (*held.row, key))
        for edition in held.editions:
            run(connection, "insert_edition", (key, *edition))
