"""A tenant's dictionaries in PostgreSQL: trained, used, and made anew when a source is erased."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remanence.model.tier import TextCodec
from remanence.ports.store import Keys
from remanence.store.dictionaries import Dictionary, body_digest, chosen, outgrown, trained
from remanence.store.packing import Packer
from remanence.store.postgres.arrays import byteas, int8s, texts
from remanence.store.postgres.database import Database
from remanence.store.postgres.placing import WORDS_LOCK, writers_lock
from remanence.store.postgres.session import Session
from remanence.store.postgres.texts import stored_dictionary

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
        found = self._database.read(tenant, self._sampled)
        body = None if found is None else trained(found[0])
        return None if found is None or body is None else Draft(body, found[1], found[2])

    def packer(self, session: Session, codec: TextCodec, draft: Draft | None) -> Packer:
        """What packs texts in this transaction; the draft is stored in it, if it still holds."""
        if codec is not TextCodec.ZSTD:
            return Packer(codec)
        made = None if draft is None else _stored(session, draft)
        if made is None:
            number = session.value("hold_dictionary")
            made = None if number is None else stored_dictionary(session, number)
        return Packer(codec, made)

    def renew(self, tenant: str) -> int:
        """Repack what was packed with snippets of erased memories, in small transactions."""
        rows = self._database.read(tenant, lambda session: session.rows("tainted_dictionaries"))
        done = sum(self._renewed(tenant, number) for (number,) in rows or [])
        if rows:
            self._database.write(tenant, sweep)
        return done

    def _renewed(self, tenant: str, number: int) -> int:
        done = 0
        while self._is_used(tenant, number):
            draft = self.draft(tenant)

            def work(session: Session, draft: Draft | None = draft) -> int:
                hold_writers(session)
                asked = {"dictionary": number, "most": BATCH}
                keys = session.value("keys_with_dictionary", **asked)
                packer = self.packer(session, TextCodec.ZSTD, draft)
                return len(put_texts(self._database, session, packer, keys, anew=True)[0])

            done += self._database.write(tenant, work)
        return done

    def _is_used(self, tenant: str, number: int) -> bool:
        asked = {"dictionary": number, "most": 1}
        found = self._database.read(tenant, lambda one: one.value("keys_with_dictionary", **asked))
        return found is not None and len(found) > 0

    def _sampled(self, session: Session) -> tuple[list[str], Keys, int] | None:
        keys = np.sort(np.asarray(session.value("keys_of_tenant"), np.int64))
        row = session.row("current_dictionary")
        if row is not None and not outgrown(row[1], len(keys)):
            return None
        sources = chosen(keys)
        rows = session.rows("texts_of", keys=int8s(sources))
        return [self._database.text(session, text) for _, text in rows], sources, len(keys)


def hold_writers(session: Session) -> None:
    """Be one of the tenant's writers, so that nobody changes the rules meanwhile."""
    session.run("lock_writers_shared", words=WORDS_LOCK, own=writers_lock(session.tenant))


def put_texts(
    database: Database, session: Session, packer: Packer, keys: Keys, *, anew: bool
) -> tuple[Keys, int]:
    """Pack these memories' texts, `anew` even if they are packed; who is there, how many packed."""
    rows = session.rows("hold_texts", keys=int8s(np.unique(np.asarray(keys, np.int64))))
    new: list[tuple[int, str, bytes | None, int]] = []
    for key, packed, stored in rows:
        if packed and not anew:
            continue
        text = database.text(session, stored)
        found = packer.packed(text)
        number = packer.dictionary if found is not None else 0
        if found is not None or packed:
            new.append((key, "" if found is not None else text, found, number))
    if new:
        columns = list(zip(*new, strict=True))
        session.run(
            "put_texts",
            keys=int8s(columns[0]),
            texts=texts(columns[1]),
            packed=byteas(columns[2]),
            dictionaries=int8s(columns[3]),
        )
    there = np.array([key for key, _, _ in rows], np.int64)
    return there, sum(packed is not None for _, _, packed, _ in new)


def sweep(session: Session) -> None:
    """Delete dictionaries that no text needs and none will."""
    session.run("lock_writers", own=writers_lock(session.tenant))
    unused = [number for (number,) in session.rows("unused_dictionaries")]
    if unused:
        session.run("delete_dictionaries", ids=int8s(unused))


def damaged_dictionaries(session: Session) -> list[tuple[int, bytes | None]]:
    """Dictionaries of which a copy is damaged, each with the copy that is whole, if one is."""
    found: list[tuple[int, bytes | None]] = []
    for number, digest, *copies in session.rows("every_dictionary"):
        good = [copy for copy in copies if body_digest(copy) == digest]
        if len(good) < len(copies):
            found.append((number, good[0] if good else None))
    return found


def _stored(session: Session, draft: Draft) -> Dictionary | None:
    """The draft as a dictionary; nothing if a memory that it was made of is gone."""
    there = session.rows("hold_sources", keys=int8s(draft.sources))
    if len(there) < len(draft.sources):
        return None
    digest = body_digest(draft.body)
    number = session.value("insert_dictionary", among=draft.among, digest=digest, body=draft.body)
    session.run("insert_sources", keys=int8s(draft.sources), dictionary=number)
    return Dictionary(int(number), draft.body)
