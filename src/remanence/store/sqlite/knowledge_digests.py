"""The digests that guard entities and claims: which are damaged, and mending what can be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from remanence.store.claims import is_whole_claim, is_whole_entity, mended_entity
from remanence.store.rows import Owner, Row
from remanence.store.sqlite.digests import digest_key, owners
from remanence.store.sqlite.learning import Learning
from remanence.store.sqlite.statements import fetch_all, run

_CHUNK = 500
_ENTITY_TEXTS = frozenset({3, 4, 5})
_CLAIM_TEXTS = frozenset({6, 7, 8, 9, 10, 11, 16, 17, 19, 20, 21})
_CLAIM_WIDTH = 25
_NOBODY: Owner = ("", None)


def damaged_entities(connection: apsw.Connection) -> list[Row]:
    """The rows of entities that are not what was signed."""
    key, whose = digest_key(connection), owners(connection)
    rows = _rows(connection, "raw_entities", _ENTITY_TEXTS)
    return [row for row in rows if not is_whole_entity(row, whose.get(row[1], _NOBODY), key)]


def damaged_claims(connection: apsw.Connection) -> list[Row]:
    """The rows of claims that are not what was signed, each with subject and object by number."""
    key, whose = digest_key(connection), owners(connection)
    rows = _rows(connection, "raw_claims", _CLAIM_TEXTS)
    return [row for row in rows if not is_whole_claim(row, whose.get(row[1], _NOBODY), key)]


def mend_entity(connection: apsw.Connection, row: Row) -> bool:
    """Sign a damaged entity anew under the name that its id stands for; whether there is one."""
    owner = owners(connection).get(row[1], _NOBODY)
    values = mended_entity(row, owner, digest_key(connection))
    if values is not None:
        run(connection, "update_entity", (*values, row[0]))
    return values is not None


def remove_claims(learning: Learning, rows: Sequence[Row]) -> None:
    """Give up claims that cannot be read as they were made; their memories can be read again."""
    learning.erase_claims([(*row[:2], *row[_CLAIM_WIDTH:]) for row in rows])
    learning.announce({row[1] for row in rows})
    learning.sweep()


def _rows(connection: apsw.Connection, name: str, texts: frozenset[int]) -> Iterator[Row]:
    after = 0
    while rows := fetch_all(connection, name, (after, _CHUNK)):
        yield from (_decoded(row, texts) for row in rows)
        after = rows[-1][0]


def _decoded(raw: Sequence[Any], texts: frozenset[int]) -> Row:
    return [
        value.decode(errors="replace") if at in texts and isinstance(value, bytes) else value
        for at, value in enumerate(raw)
    ]
