"""Documents: named, versioned values with the editions that are kept of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from remanence.model.document import Address, Discard, Document, Edition, Put, Shelf, Shelving
from remanence.model.filter import Filter
from remanence.model.scope import Reach
from remanence.store.core.database import D, Database, Session, StorePart, count_in
from remanence.store.documents import (
    Ready,
    Shelves,
    Standing,
    address_of,
    check_vacant,
    document_of,
    edition_of,
    place_of,
    ready,
    ready_to_adopt,
    within,
)
from remanence.store.quotas import added_by_documents, added_by_standing
from remanence.store.rows import Row, micros

_CHUNK = 50  # of whole documents
_PLACE = ("shelf", "user", "session", "agent", "name")
_BEFORE_ALL = ("",) * 5


class StoredDocuments(StorePart[D]):
    """The Documents port."""

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
                session.hold_writers()
                check_vacant(count_in(self._database, session, *vacant))
            with self._database.checking_use(
                session, tenant, lambda: added_by_documents(shelvings)
            ):
                return shelve(self._database, session, tenant, asked)

        return self._database.write(tenant, work)

    def get(self, tenant: str, addresses: Sequence[Address]) -> list[Document]:
        """The documents at these addresses, in one snapshot, each checked against its digest."""
        places = [place_of(one) for one in addresses]
        rows = self._database.snapshot(tenant, lambda session: session.documents_at(places))
        found = {tuple(row[1:6]): row for row in rows or []}
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
        rows = self._on_shelf("shelved", reach, shelf, agents, limit, offset)
        return [self._document(row, reach.tenant) for row in rows]

    def walk_shelf(
        self, reach: Reach, shelf: Shelf, *, agents: Sequence[str | None] | None = None
    ) -> Iterator[Document]:
        """A shelf's documents: which ones is read at once, they themselves in chunks."""
        keys = [key for (key,) in self._on_shelf("shelf_keys", reach, shelf, agents)]
        yield from self._by_key(
            reach.tenant,
            "documents_by_key",
            lambda _, row: self._document(row, reach.tenant),
            keys,
            _CHUNK,
        )

    def editions(self, tenant: str, address: Address) -> list[Edition]:
        """Every version that was put with `keep`, oldest first; none if there are none."""

        def work(session: Session) -> list[Edition]:
            rows = session.documents_at([place_of(address)])
            found = self._editions(session, rows, tenant)
            return [edition for every in found.values() for edition in every]

        return self._database.snapshot(tenant, work) or []

    def expire(self, tenant: str, shelf: Shelf, now: datetime, limit: int = 1000) -> list[Address]:
        """Erase a shelf's documents whose time has run out by `now`, oldest expiry first."""
        asked = {"shelf": str(Shelf(shelf)), "now": micros(now), "most": limit}

        def work(session: Session) -> list[Address]:
            # A row that had to be waited for may have moved meanwhile.
            rows = sorted(session.rows("expired", **asked), key=lambda row: (row[6], *row[1:6]))
            delete_documents(session, [row[0] for row in rows])
            return [address_of(row[1:6]) for row in rows]

        return self._database.write(tenant, work) if self._database.is_tenant(tenant) else []

    def scan(self, tenant: str) -> Iterator[Standing]:
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
            with self._database.checking_use(session, tenant, lambda: added_by_standing(documents)):
                session.hold_places(shelves, places)
                for one in asked:
                    shelves.adopt(one)
                session.removed |= any(one.key is not None for one in shelves.held.values())
                session.put_places(shelves.held.values())

        if documents:
            self._database.write(tenant, work)

    def _nothing(self, tenant: str, asked: Sequence[Any]) -> list[Document]:
        """Discard what a tenant that never wrote does not have; an expected version conflicts."""
        shelves = Shelves(tenant, self._database.digest_key, [one.place for one in asked])
        for one in asked:
            shelves.act(one)
        return []

    def _on_shelf(
        self, name: str, reach: Reach, shelf: Shelf, agents: Sequence[str | None] | None, *more: int
    ) -> list[Any]:
        condition, on = within(reach, agents), str(Shelf(shelf))
        found = self._database.read(
            reach.tenant, lambda one: one.matching(name, condition, *more, first=(one.tenant, on))
        )
        return found or []

    def _standing_after(self, tenant: str, after: Row) -> list[Standing]:
        asked = dict(zip(_PLACE, after, strict=True))

        def work(session: Session) -> list[Standing]:
            rows = session.rows("documents_after", **asked, most=_CHUNK)
            editions = self._editions(session, rows, tenant)
            return [(self._document(row, tenant), tuple(editions[row[0]])) for row in rows]

        return self._database.snapshot(tenant, work) or []

    def _document(self, row: Row, tenant: str) -> Document:
        return document_of(row, tenant, self._database.digest_key)

    def _editions(
        self, session: Session, rows: Sequence[Row], tenant: str
    ) -> dict[int, list[Edition]]:
        places = {row[0]: row[1:6] for row in rows}
        found: dict[int, list[Edition]] = {key: [] for key in places}
        for row in session.rows("editions", keys=session.array_of(list(places))):
            edition = edition_of(row, places[row[0]], tenant, self._database.digest_key)
            found[row[0]].append(edition)
        return found


def shelve(
    database: Database, session: Session, tenant: str, asked: Sequence[Ready]
) -> list[Document]:
    """Do all of it inside a transaction; the documents put, in that order."""
    shelves = Shelves(tenant, database.digest_key, [one.place for one in asked])
    wanted = {one.place for one in asked if isinstance(one.shelving, Put)}
    session.hold_places(shelves, wanted)
    done = [shelves.act(one) for one in asked]
    session.removed |= any(isinstance(one.shelving, Discard) for one in asked)
    session.put_places(shelves.held.values())
    return [document for document in done if document is not None]


def delete_documents(session: Session, keys: Sequence[int]) -> None:
    """Delete documents with their editions."""
    if keys:
        session.removed = True
        session.run("delete_editions", keys=session.array_of(keys))
        session.run("delete_documents", keys=session.array_of(keys))
