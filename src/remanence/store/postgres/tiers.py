"""The cold tier in PostgreSQL, and the dictionaries that its texts are packed with."""

from __future__ import annotations

from collections.abc import Sequence

from remanence.store.core.dictionaries import Draft, NewText, StoredDictionaries
from remanence.store.core.tiers import StoredTiers
from remanence.store.packing import Dictionary, body_digest
from remanence.store.postgres.arrays import Kinds, arrays, byteas, int8s, texts
from remanence.store.postgres.database import Database
from remanence.store.postgres.session import Session
from remanence.store.postgres.texts import stored_dictionary
from remanence.store.rows import Row

_TEXTS: Kinds = {"keys": int8s, "texts": texts, "packed": byteas, "dictionaries": int8s}
_PIECES: Kinds = {
    "partitions": int8s, "embedders": int8s, "keys": int8s, "parts": int8s,
    "vectors": byteas, "codes": byteas,
}  # fmt: skip


class Dictionaries(StoredDictionaries[Database]):
    """Which dictionary a tenant's texts are packed with, now and after erasures."""

    def _stored(self, session: Session, draft: Draft) -> Dictionary | None:
        there = session.rows("hold_sources", keys=int8s(draft.sources))
        if len(there) < len(draft.sources):
            return None
        told = {"among": draft.among, "digest": body_digest(draft.body), "body": draft.body}
        number = int(session.value("insert_dictionary", **told))
        session.run("insert_sources", keys=int8s(draft.sources), dictionary=number)
        return Dictionary(number, draft.body)

    def _whole(self, session: Session, number: int) -> Dictionary:
        return stored_dictionary(session, number)

    def _put_texts(self, session: Session, new: Sequence[NewText]) -> None:
        session.run("put_texts", **arrays(_TEXTS, new))

    def _sweep(self, session: Session) -> None:
        session.hold_writers()
        unused = [number for (number,) in session.rows("unused_dictionaries")]
        if unused:
            session.run("delete_dictionaries", ids=int8s(unused))


class PostgresTiers(StoredTiers[Database]):
    """The Tiers port. The halfvecs that pgvector searches stay as they are."""

    def _put_pieces(self, session: Session, rows: Sequence[Row]) -> None:
        session.run("put_pieces", **arrays(_PIECES, rows))
