"""The digests that guard documents and editions: which are damaged, and mending what can be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from remanence.store.rows import Row
from remanence.store.shelves import is_whole, is_whole_edition, mended
from remanence.store.sqlite.digests import digest_key
from remanence.store.sqlite.statements import fetch_all, run

_CHUNK = 50
_TEXTS = frozenset({1, 2, 3, 4, 5, 10, 12})
_EDITION_TEXTS = frozenset({3, 5, 6, 7})


def damaged_documents(connection: apsw.Connection) -> list[Row]:
    """The rows that are not what was signed: the block `document`, then the tenant."""
    key = digest_key(connection)
    return [row for row in _documents(connection) if not is_whole(row, row[12], key)]


def damaged_editions(connection: apsw.Connection) -> list[tuple[int, Row]]:
    """(id, document) of the editions that are not what was signed, of documents that are."""
    key = digest_key(connection)
    return [
        (edition[0], row)
        for row in _documents(connection)
        if is_whole(row, row[12], key)
        for edition in _editions(connection, row[0])
        if not is_whole_edition(edition[1:], row[1:6], row[12], key)
    ]


def mend(connection: apsw.Connection, row: Row) -> bool:
    """Give a damaged document the value that its edition has; whether there was one."""
    editions = [edition[1:] for edition in _editions(connection, row[0])]
    values = mended(row, editions, row[12], digest_key(connection))
    if values is not None:
        run(connection, "update_document", (*values, row[0]))
    return values is not None


def remove_edition(connection: apsw.Connection, id: int) -> None:
    """Give up an edition that cannot be read as it was put."""
    run(connection, "delete_edition", (id,))


def _documents(connection: apsw.Connection) -> Iterator[Row]:
    after = 0
    while rows := fetch_all(connection, "raw_documents", (after, _CHUNK)):
        yield from (_decoded(row, _TEXTS) for row in rows)
        after = rows[-1][0]


def _editions(connection: apsw.Connection, document: int) -> list[Row]:
    rows = fetch_all(connection, "raw_editions", (document,))
    return [_decoded(row, _EDITION_TEXTS) for row in rows]


def _decoded(raw: Sequence[Any], texts: frozenset[int]) -> Row:
    return [
        value.decode(errors="replace") if at in texts and isinstance(value, bytes) else value
        for at, value in enumerate(raw)
    ]
