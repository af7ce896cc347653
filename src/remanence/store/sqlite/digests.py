"""The digests that guard rows in SQLite, where anything may stand in a column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import orjson

from remanence.errors import StoreCorrupt
from remanence.model.memory import State
from remanence.store.core.digests import Guard
from remanence.store.rows import (
    RECORD_WIDTH,
    STATE_CODES,
    STATES,
    Owner,
    Row,
    micros,
    readable,
    row_digest,
)
from remanence.store.sqlite.schema import meta
from remanence.store.sqlite.session import Session, fetch_all, fetch_value, run
from remanence.store.sqlite.words import stored_dictionary

_CHUNK = 1000
# Where rows have texts, if they are whole.
_TEXTS: Mapping[str, frozenset[int]] = {
    "raw_row": frozenset({*range(12, 20), 21, 22}),
    "guarded_documents": frozenset({1, 2, 3, 4, 5, 10, 12}),
    "guarded_editions": frozenset({2, 4, 5, 6}),
    "guarded_entities": frozenset({3, 4, 5}),
    "guarded_claims": frozenset({6, 7, 8, 9, 10, 11, 16, 17, 19, 20, 21}),
}


class SqliteGuard(Guard):
    """Looks for rows that are not what was signed."""

    def memories(self, session: Session, keys: Sequence[int] | None = None) -> list[int]:
        """Keys of memories that are not what was signed."""
        key, whose = self._key(session), self._owners(session)
        rows = _memories(session) if keys is None else _these(session, keys)
        return [at for at, row in rows if row is None or not _matches(row, whose, key)]

    def quarantine(self, session: Session, key: int, now: datetime) -> bool:
        """Sign a damaged row as it is now readable, in the state that keeps it out of recall."""
        if not _has_dictionary(session, key):
            return False
        [raw] = fetch_all(session.connection, "raw_row", (key,))
        row = readable(self._readable("raw_row", raw))
        before = {"state": STATES[row[4]]}
        row[4], row[7], row[11] = STATE_CODES[State.QUARANTINED], micros(now), row[11] + 1
        digest = row_digest(row, self._owners(session)[row[1]], self._key(session))
        run(session.connection, "rewrite_raw_row", (*row[3:23], digest, key))
        told = ("quarantine", micros(now), None, "The stored row did not match its digest.")
        history = (key, row[11], *told, orjson.dumps(before).decode())
        run(session.connection, "insert_history", history)
        run(session.connection, "rest_claims", (micros(now), key))
        run(session.connection, "insert_change", (row[1], key))
        return True

    def _key(self, session: Session) -> bytes:
        key = meta(session.connection, "digest_key")
        return key if isinstance(key, bytes) else b""

    def _tenant(self, session: Session, row: Row) -> str:
        return str(row[12])

    def _owners(self, session: Session) -> dict[int, Owner]:
        rows = run(session.connection, "every_partition")
        return {id: (tenant, user or None) for id, tenant, user in rows}

    def _rewrite_entity(self, session: Session, row: Row, values: Row) -> None:
        session.put("update_entity", (*values, row[0]))

    def _readable(self, name: str, row: Row) -> Row:
        return [
            value.decode(errors="replace")
            if at in _TEXTS[name] and isinstance(value, bytes)
            else value
            for at, value in enumerate(row)
        ]


def _matches(row: Row, whose: Mapping[int, Owner], key: bytes) -> bool:
    owner = whose.get(row[1])
    try:
        return owner is not None and row_digest(row, owner, key) == row[RECORD_WIDTH]
    except (AttributeError, TypeError):
        return False


def _memories(session: Session) -> Iterator[tuple[int, Row | None]]:
    after = 0
    while keys := fetch_all(session.connection, "keys_from", (after, _CHUNK)):
        last = keys[-1][0]
        try:
            rows = fetch_all(session.connection, "guarded_rows", (after, last))
            yield from ((row[0], row) for row in rows)
        except (UnicodeDecodeError, StoreCorrupt):
            yield from ((key, _row_if_readable(session, key)) for (key,) in keys)
        after = last


def _these(session: Session, keys: Sequence[int]) -> Iterator[tuple[int, Row | None]]:
    for key in keys:
        if session.value("id_of", key=key) is not None:
            yield key, _row_if_readable(session, key)


def _row_if_readable(session: Session, key: int) -> Row | None:
    try:
        row: Row = fetch_all(session.connection, "guarded_rows", (key - 1, key))[0]
    except (UnicodeDecodeError, StoreCorrupt):
        return None
    return row


def _has_dictionary(session: Session, key: int) -> bool:
    """Whether the dictionary that the row was packed with is whole, or none is needed."""
    number = fetch_value(session.connection, "dictionary_of", (key,))
    if number is None:
        return True
    try:
        stored_dictionary(session.connection, number)
    except StoreCorrupt:
        return False
    return True
