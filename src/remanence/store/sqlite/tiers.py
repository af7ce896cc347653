"""The cold tier in SQLite, and the dictionaries that its texts are packed with."""

from __future__ import annotations

from collections.abc import Sequence

from remanence.store.core.dictionaries import Draft, NewText, StoredDictionaries
from remanence.store.core.tiers import StoredTiers
from remanence.store.packing import Dictionary, body_digest
from remanence.store.rows import Row
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.session import Session, run_many
from remanence.store.sqlite.words import stored_dictionary


class Dictionaries(StoredDictionaries[Database]):
    """Which dictionary a tenant's texts are packed with, now and after erasures."""

    def _stored(self, session: Session, draft: Draft) -> Dictionary | None:
        told = {"among": draft.among, "digest": body_digest(draft.body), "body": draft.body}
        number = int(session.value("insert_dictionary", **told))
        sources = session.array_of(draft.sources)
        kept = session.rows("insert_sources", dictionary=number, keys=sources)
        if len(kept) == len(draft.sources):
            return Dictionary(number, draft.body)
        session.run("delete_dictionary", dictionary=number)
        return None

    def _whole(self, session: Session, number: int) -> Dictionary:
        return stored_dictionary(session.connection, number)

    def _put_texts(self, session: Session, new: Sequence[NewText]) -> None:
        for key, text, packed, number in new:
            tier = session.put("tier_of", (key,)).get  # a plain text makes a memory hot
            session.put("put_text", (text if packed is None else packed, key))
            session.put("put_packed", (key, tier or 0, number or None))

    def _sweep(self, session: Session) -> None:
        session.removed |= bool(session.rows("delete_unused_dictionaries"))


class SqliteTiers(StoredTiers[Database]):
    """The Tiers port."""

    def _put_pieces(self, session: Session, rows: Sequence[Row]) -> None:
        new = [(vector, codes, place) for place, vector, codes in rows]
        run_many(session.connection, "put_piece", new)
