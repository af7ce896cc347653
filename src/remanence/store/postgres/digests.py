"""The digests that guard rows in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import orjson

from remanence.errors import StoreCorrupt
from remanence.model.memory import State
from remanence.store.core.digests import Guard
from remanence.store.packing import dictionary_of
from remanence.store.postgres.archive import HISTORY
from remanence.store.postgres.arrays import arrays, int8s
from remanence.store.postgres.database import Database
from remanence.store.postgres.knowledge import ENTITY_KINDS
from remanence.store.postgres.session import Session, announce
from remanence.store.postgres.texts import stored_dictionary
from remanence.store.rows import (
    RECORD_WIDTH,
    STATE_CODES,
    STATES,
    TEXT,
    Owner,
    Row,
    micros,
    readable,
    row_digest,
)

_CHUNK = 1000
_REWRITTEN = (
    "kind", "state", "happened_at", "created_at", "updated_at", "importance", "trust", "pinned",
    "version",
)  # fmt: skip


class PostgresGuard(Guard):
    """Looks for rows of the session's tenant that are not what was signed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def memories(self, session: Session, keys: Sequence[int] | None = None) -> list[int]:
        """Keys of memories that are not what was signed."""
        rows = self._every(session, "guarded_rows", _CHUNK, keys)
        return [row[0] for row in rows if not self._matches(session, row)]

    def quarantine(self, session: Session, key: int, now: datetime) -> bool:
        """Sign a damaged row as it is now readable, in the state that keeps it out of recall."""
        found = session.row("guarded_row", key=key)
        if found is None or not _has_dictionary(session, found[TEXT]):
            return False
        row = readable((*found[:TEXT], self._text(session, key, found[TEXT])))
        before = orjson.dumps({"state": STATES[row[4]]}).decode()
        row[4], row[7], row[11] = STATE_CODES[State.QUARANTINED], micros(now), row[11] + 1
        digest = row_digest(row, self._database.owner(session, row[1]), self._key(session))
        values = dict(zip(_REWRITTEN, row[3:12], strict=True))
        heir = None if row[20] is None else row[20].hex()
        session.run(
            "rewrite_row", **values, superseded_by=heir, metadata=row[21], digest=digest, key=key
        )
        why = "The stored row did not match its digest."
        told = (key, row[11], "quarantine", micros(now), None, why, before)
        session.run("insert_history", **arrays(HISTORY, [told]))
        session.run("rest_claims", keys=int8s([key]), ats=int8s([micros(now)]))
        announce(session, [(row[1], key)])
        return True

    def _key(self, session: Session) -> bytes:
        return self._database.digest_key

    def _tenant(self, session: Session, row: Row) -> str:
        return self._database.tenant_name(session)

    def _owners(self, session: Session) -> dict[int, Owner]:
        tenant, rows = self._database.tenant_name(session), session.rows("partitions_of_tenant")
        return {id: (tenant, user or None) for id, user in rows}

    def _rewrite_entity(self, session: Session, row: Row, values: Row) -> None:
        columns = arrays(ENTITY_KINDS, [(row[1], *values)])
        session.run("rewrite_entity", number=row[0], **columns)

    def _matches(self, session: Session, row: Row) -> bool:
        database, owner = self._database, self._database.owner(session, row[1])
        try:
            found = row_digest(database.opened(session, row), owner, database.digest_key)
        except StoreCorrupt:
            return False
        return bool(found == row[RECORD_WIDTH])

    def _text(self, session: Session, key: int, stored: bytes) -> str:
        """The text; if it cannot be read it is emptied."""
        try:
            return self._database.text(session, stored)
        except StoreCorrupt:
            session.run("empty_text", key=key)
            return ""


def _has_dictionary(session: Session, stored: bytes) -> bool:
    try:
        number = dictionary_of(stored) if stored[:1] != b"\x00" else 0
        return not number or bool(stored_dictionary(session, number))
    except StoreCorrupt:
        return False
