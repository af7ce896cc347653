"""The digests that guard documents and editions: which are damaged, and mending what can be."""

from __future__ import annotations

from collections.abc import Iterator

from remanence.store.postgres.arrays import int8s
from remanence.store.postgres.database import Database
from remanence.store.postgres.session import Session
from remanence.store.rows import Row
from remanence.store.shelves import is_whole, is_whole_edition, mended

_CHUNK = 50


def damaged_documents(database: Database, session: Session) -> list[Row]:
    """The tenant's rows of the block `document` that are not what was signed."""
    tenant, key = database.tenant_name(session), database.digest_key
    return [row for row in _documents(session) if not is_whole(row, tenant, key)]


def damaged_editions(database: Database, session: Session) -> list[tuple[Row, Row]]:
    """Editions that are not what was signed, of documents that are, each with its document."""
    tenant, key = database.tenant_name(session), database.digest_key
    return [
        (edition, row)
        for row in _documents(session)
        if is_whole(row, tenant, key)
        for edition in _editions(session, row)
        if not is_whole_edition(edition, row[1:6], tenant, key)
    ]


def mend_documents(database: Database, session: Session) -> None:
    """Give damaged documents the values that their editions have, where there are some."""
    tenant = database.tenant_name(session)
    for row in damaged_documents(database, session):
        values = mended(row, _editions(session, row), tenant, database.digest_key)
        if values is not None:
            names = ("version", "created", "updated", "expires", "value", "digest")
            told = dict(zip(names, values, strict=True))
            session.run("rewrite_document", key=row[0], before=row[11], **told)


def remove_editions(database: Database, session: Session) -> None:
    """Give up editions that cannot be read as they were put."""
    for edition, _ in damaged_editions(database, session):
        asked = {"document": edition[0], "version": edition[1], "digest": edition[7]}
        session.run("delete_edition", **asked)


def _documents(session: Session) -> Iterator[Row]:
    after = 0
    while rows := session.rows("documents_from", after=after, most=_CHUNK):
        yield from rows
        after = rows[-1][0]


def _editions(session: Session, row: Row) -> list[tuple[object, ...]]:
    return session.rows("editions", keys=int8s([row[0]]))
