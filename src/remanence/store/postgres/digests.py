"""The digests that guard the rows: which rows are damaged, and putting those in quarantine."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import orjson

from remanence.errors import StoreCorrupt
from remanence.model.memory import State
from remanence.store.damage import readable
from remanence.store.packing import dictionary_of
from remanence.store.postgres.arrays import int8s, texts
from remanence.store.postgres.database import Database
from remanence.store.postgres.feed import announce
from remanence.store.postgres.session import Session
from remanence.store.postgres.texts import stored_dictionary
from remanence.store.rows import (
    RECORD_WIDTH,
    STATE_CODES,
    STATES,
    TEXT,
    Row,
    micros,
    row_digest,
)

_CHUNK = 1000
_REWRITTEN = (
    "kind", "state", "happened_at", "created_at", "updated_at", "importance", "trust", "pinned",
    "version",
)  # fmt: skip


def damaged_rows(database: Database, session: Session) -> list[tuple[Any, ...]]:
    """The tenant's rows that are not what was signed."""
    return [row for row in _guarded(session) if not _matches(database, session, row)]


def quarantine(database: Database, session: Session, key: int, now: datetime) -> None:
    """Sign a damaged row as it is now readable, in the state that keeps it out of recall.

    Not if only its dictionary is lost: that may still come back from a backup.
    """
    found = session.row("guarded_row", key=key)
    if found is None or not _has_dictionary(session, found[TEXT]):
        return
    row = readable((*found[:TEXT], _readable(database, session, key, found[TEXT])))
    before = orjson.dumps({"state": STATES[row[4]]}).decode()
    row[4], row[7], row[11] = STATE_CODES[State.QUARANTINED], micros(now), row[11] + 1
    digest = row_digest(row, database.owner(session, row[1]), database.digest_key)
    values = dict(zip(_REWRITTEN, row[3:12], strict=True))
    heir = None if row[20] is None else row[20].hex()
    session.run(
        "rewrite_row", **values, superseded_by=heir, metadata=row[21], digest=digest, key=key
    )
    session.run(
        "insert_history",
        memory=int8s([key]),
        version=int8s([row[11]]),
        verb=texts(["quarantine"]),
        at=int8s([micros(now)]),
        actor=texts([None]),
        reason=texts(["The stored row did not match its digest."]),
        before=texts([before]),
    )
    session.run("rest_claims", keys=int8s([key]), ats=int8s([micros(now)]))
    announce(session, [(row[1], key)])


def _guarded(session: Session) -> Iterator[tuple[Any, ...]]:
    after = 0
    while rows := session.rows("guarded_rows", after=after, most=_CHUNK):
        yield from rows
        after = rows[-1][0]


def _matches(database: Database, session: Session, row: Row) -> bool:
    owner = database.owner(session, row[1])
    try:
        found = row_digest(database.opened(session, row), owner, database.digest_key)
    except StoreCorrupt:
        return False
    return bool(found == row[RECORD_WIDTH])


def _readable(database: Database, session: Session, key: int, stored: bytes) -> str:
    """The text; if it cannot be read it is emptied."""
    try:
        return database.text(session, stored)
    except StoreCorrupt:
        session.run("empty_text", key=key)
        return ""


def _has_dictionary(session: Session, stored: bytes) -> bool:
    try:
        number = dictionary_of(stored) if stored[:1] != b"\x00" else 0
        return not number or bool(stored_dictionary(session, number))
    except StoreCorrupt:
        return False
