"""The digests that guard the rows: which rows are damaged, and putting those in quarantine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import apsw
import orjson

from remanence.errors import StoreCorrupt
from remanence.model.memory import State
from remanence.store.damage import readable
from remanence.store.rows import (
    RECORD_WIDTH,
    STATE_CODES,
    STATES,
    Owner,
    Row,
    micros,
    row_digest,
)
from remanence.store.sqlite.schema import meta
from remanence.store.sqlite.statements import fetch_all, fetch_value, run
from remanence.store.sqlite.texts import stored_dictionary

_CHUNK = 1000


def damaged_keys(connection: apsw.Connection) -> list[int]:
    """Keys of the memories whose row is not what was signed."""
    key, whose = digest_key(connection), owners(connection)
    return [at for at, row in _rows(connection) if row is None or not _matches(row, whose, key)]


def quarantine(connection: apsw.Connection, key: int, now: datetime) -> bool:
    """Sign a damaged row as it is now readable, in the state that keeps it out of recall.

    Not if only its dictionary is lost: that may still come back from a backup.
    """
    if not _has_dictionary(connection, key):
        return False
    row = readable(_decoded(fetch_all(connection, "raw_row", (key,))[0]))
    before = {"state": STATES[row[4]]}
    row[4], row[7], row[11] = STATE_CODES[State.QUARANTINED], micros(now), row[11] + 1
    owner = owners(connection)[row[1]]
    digest = row_digest(row, owner, digest_key(connection))
    run(connection, "rewrite_raw_row", (*row[3:23], digest, key))
    told = ("quarantine", micros(now), None, "The stored row did not match its digest.")
    history = (key, row[11], *told, orjson.dumps(before).decode())
    run(connection, "insert_history", history)
    run(connection, "rest_claims", (micros(now), key))
    run(connection, "insert_change", (row[1], key))
    return True


def digest_key(connection: apsw.Connection) -> bytes:
    """The key that all digests of the store are made with."""
    key = meta(connection, "digest_key")
    return key if isinstance(key, bytes) else b""


def owners(connection: apsw.Connection) -> dict[int, Owner]:
    """Whose every partition is."""
    rows = run(connection, "every_partition")
    return {id: (tenant, user or None) for id, tenant, user in rows}


def _matches(row: Row, whose: dict[int, Owner], key: bytes) -> bool:
    owner = whose.get(row[1])
    try:
        return owner is not None and row_digest(row, owner, key) == row[RECORD_WIDTH]
    except (AttributeError, TypeError):
        return False


def _rows(connection: apsw.Connection) -> Iterator[tuple[int, Row | None]]:
    after = 0
    while keys := fetch_all(connection, "keys_from", (after, _CHUNK)):
        last = keys[-1][0]
        try:
            rows = fetch_all(connection, "guarded_rows", (after, last))
            yield from ((row[0], row) for row in rows)
        except (UnicodeDecodeError, StoreCorrupt):
            yield from ((key, _row_if_readable(connection, key)) for (key,) in keys)
        after = last


def _row_if_readable(connection: apsw.Connection, key: int) -> Row | None:
    try:
        row: Row = fetch_all(connection, "guarded_rows", (key - 1, key))[0]
    except (UnicodeDecodeError, StoreCorrupt):
        return None
    return row


def _has_dictionary(connection: apsw.Connection, key: int) -> bool:
    """Whether the dictionary that the row was packed with is whole, or none is needed."""
    number = fetch_value(connection, "dictionary_of", (key,))
    if number is None:
        return True
    try:
        stored_dictionary(connection, number)
    except StoreCorrupt:
        return False
    return True


def _decoded(raw: Sequence[Any]) -> list[Any]:
    return [
        value.decode(errors="replace") if _is_text(at, value) else value
        for at, value in enumerate(raw)
    ]


def _is_text(at: int, value: Any) -> bool:
    return isinstance(value, bytes) and (12 <= at <= 19 or at in (21, 22))
