"""A tenant's dictionaries in SQLite: trained, used, and made anew when a source is erased."""

from __future__ import annotations

from typing import NamedTuple

import apsw
import numpy as np

from remanence.model.scope import Reach
from remanence.model.tier import TextCodec
from remanence.ports.store import Keys
from remanence.store.dictionaries import Dictionary, body_digest, chosen, outgrown, trained
from remanence.store.packing import Packer
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.filters import reached, statement
from remanence.store.sqlite.numbers import bound, parsed
from remanence.store.sqlite.statements import fetch_all, fetch_value, run
from remanence.store.sqlite.texts import stored_dictionary

BATCH = 500


class Draft(NamedTuple):
    """A dictionary that is not stored yet, and what it was made of."""

    body: bytes
    sources: Keys
    among: int


class Dictionaries:
    """Which dictionary a tenant's texts are packed with, now and after erasures."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def draft(self, tenant: str) -> Draft | None:
        """A dictionary to be stored with the next text, if the tenant needs another one."""
        with self._database.reading() as connection:
            keys = self._keys(connection, tenant)
            row = run(connection, "current_dictionary", (tenant,)).fetchone()
            if row is not None and not outgrown(row[1], len(keys)):
                return None
            sources = chosen(keys)
            texts = [text for _, text in fetch_all(connection, "texts_of", (bound(sources),))]
        body = trained(texts)
        return None if body is None else Draft(body, sources, len(keys))

    def packer(
        self, connection: apsw.Connection, tenant: str, codec: TextCodec, draft: Draft | None
    ) -> Packer:
        """What packs texts in this transaction; the draft is stored in it, if it still holds."""
        if codec is not TextCodec.ZSTD:
            return Packer(codec)
        made = None if draft is None else _stored(connection, tenant, draft)
        if made is None:
            row = run(connection, "current_dictionary", (tenant,)).fetchone()
            made = None if row is None else stored_dictionary(connection, row[0])
        return Packer(codec, made)

    def renew(self) -> int:
        """Repack what was packed with snippets of erased memories, in small transactions.

        How many texts those were. Nothing of an erased memory is in a dictionary afterwards.
        """
        with self._database.reading() as connection:
            tainted = fetch_all(connection, "tainted_dictionaries")
        done = sum(self._renewed(number, tenant) for number, tenant in tainted)
        if tainted:
            with self._database.writing() as connection:
                run(connection, "delete_unused_dictionaries")
        return done

    def _renewed(self, number: int, tenant: str) -> int:
        done = 0
        while True:
            draft = self._draft_if_used(number, tenant)
            with self._database.writing() as connection:
                asked = (number, BATCH)
                keys = parsed(fetch_value(connection, "keys_with_dictionary", asked))
                if not len(keys):
                    return done
                packer = self.packer(connection, tenant, TextCodec.ZSTD, draft)
                put_texts(connection, packer, keys)
            done += len(keys)

    def _draft_if_used(self, number: int, tenant: str) -> Draft | None:
        with self._database.reading() as connection:
            used = fetch_value(connection, "keys_with_dictionary", (number, 1))
        return self.draft(tenant) if used else None

    def _keys(self, connection: apsw.Connection, tenant: str) -> Keys:
        reach = Reach(tenant=tenant, all_users=True)
        condition = reached(self._database.partitions(connection, reach), reach, None)
        found = connection.execute(statement("keys", condition), condition.values).get
        return np.sort(parsed(found))


def put_texts(connection: apsw.Connection, packer: Packer, keys: Keys) -> int:
    """Pack these memories' texts anew, whatever they are packed with; how many are packed now."""
    packed = 0
    for key, text in fetch_all(connection, "texts_of", (bound(keys),)):
        found = packer.packed(text)
        tier = fetch_value(connection, "tier_of", (key,))
        run(connection, "put_text", (text if found is None else found, key))
        number = packer.dictionary if found is not None else 0
        run(connection, "put_tier", (key, tier or 0, number or None))
        packed += found is not None
    return packed


def _stored(connection: apsw.Connection, tenant: str, draft: Draft) -> Dictionary | None:
    """The draft as a dictionary; nothing if a memory that it was made of is gone."""
    digest = body_digest(draft.body)
    values = (tenant, draft.among, digest, draft.body, draft.body)
    number = int(fetch_value(connection, "insert_dictionary", values))
    asked = {"dictionary": number, "keys": bound(draft.sources)}
    run(connection, "insert_sources", asked)
    if connection.changes() == len(draft.sources):
        return Dictionary(number, draft.body)
    run(connection, "delete_dictionary", (number,))
    return None


def damaged_dictionaries(connection: apsw.Connection) -> list[tuple[int, bytes | None]]:
    """Dictionaries of which a copy is damaged, each with the copy that is whole, if one is."""
    found: list[tuple[int, bytes | None]] = []
    for number, digest, *copies in run(connection, "every_dictionary"):
        good = [copy for copy in copies if body_digest(copy) == digest]
        if len(good) < len(copies):
            found.append((number, good[0] if good else None))
    return found


def mend_dictionary(connection: apsw.Connection, number: int, body: bytes | None) -> bool:
    """Put the whole copy in the place of the damaged one; whether there is one."""
    if body is not None:
        run(connection, "mend_dictionary", {"id": number, "body": body})
    return body is not None
