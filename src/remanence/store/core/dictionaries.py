"""A tenant's dictionaries: trained, used, and made anew when a source is erased."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from remanence.model.ports.store import Keys
from remanence.model.tier import TextCodec
from remanence.store.core.database import D, StorePart
from remanence.store.core.session import Session
from remanence.store.packing import Dictionary, Packer, chosen, outgrown, trained

BATCH = 500


NewText: TypeAlias = tuple[int, str, bytes | None, int]
"""A memory, its text or what that was packed to, and the dictionary's number, 0 for none."""


class Draft(NamedTuple):
    """A dictionary that is not stored yet, and what it was made of."""

    body: bytes
    sources: Keys
    among: int


class StoredDictionaries(StorePart[D]):
    """Which dictionary a tenant's texts are packed with, now and after erasures."""

    @abstractmethod
    def _stored(self, session: Any, draft: Draft) -> Dictionary | None:
        """The draft as a dictionary; nothing if a memory that it was made of is gone."""

    @abstractmethod
    def _whole(self, session: Any, number: int) -> Dictionary:
        """The dictionary of that number; `StoreCorrupt` if it is not whole."""

    @abstractmethod
    def _put_texts(self, session: Any, new: Sequence[NewText]) -> None:
        """Put texts, packed or plain, in the place of others."""

    @abstractmethod
    def _sweep(self, session: Any) -> None:
        """Delete dictionaries that no text needs and none will."""

    def draft(self, tenant: str) -> Draft | None:
        """A dictionary to be stored with the next text, if the tenant needs another one."""
        found = self._database.read(tenant, self._sampled)
        body = None if found is None else trained(found[0])
        return None if found is None or body is None else Draft(body, found[1], found[2])

    def packer(self, session: Session, codec: TextCodec, draft: Draft | None) -> Packer:
        """What packs texts in this transaction; the draft is stored in it, if it still holds."""
        if codec is not TextCodec.ZSTD:
            return Packer(codec)
        made = None if draft is None else self._stored(session, draft)
        if made is None:
            number = session.value("hold_dictionary")
            made = None if number is None else self._whole(session, number)
        return Packer(codec, made)

    def put_packed(
        self, session: Session, packer: Packer, keys: Keys, *, anew: bool = False
    ) -> tuple[Keys, int]:
        """Pack texts, `anew` even those that are packed; who is there, and how many were packed."""
        rows = session.rows("hold_texts", keys=session.array_of(keys), packed=anew)
        new: list[NewText] = []
        for key, packed, stored in rows:
            if packed and not anew:
                continue
            text = self._database.text(session, stored)
            found = packer.packed(text)
            if found is not None:
                new.append((key, "", found, packer.dictionary))
            elif packed:
                new.append((key, text, None, 0))
        if new:
            self._put_texts(session, new)
        there = np.array([key for key, _, _ in rows], np.int64)
        return there, sum(packed is not None for _, _, packed, _ in new)

    def put_plain(self, session: Session, keys: Keys) -> tuple[Keys, int]:
        """Give memories their texts back; who is there, and how many were packed."""
        rows = session.rows("hold_texts", keys=session.array_of(keys), packed=True)
        new = [
            (key, self._database.text(session, text), None, 0)
            for key, packed, text in rows
            if packed
        ]
        if new:
            self._put_texts(session, new)
        return np.array([key for key, _, _ in rows], np.int64), len(new)

    def renew(self, tenant: str) -> int:
        """Repack what was packed with snippets of erased memories, in small transactions.

        How many texts those were. Nothing of an erased memory is in a dictionary afterwards.
        """
        rows = self._database.read(tenant, lambda session: session.rows("tainted_dictionaries"))
        done = sum(self._renewed(tenant, number) for (number,) in rows or [])
        if rows:
            self.sweep(tenant)
        return done

    def sweep(self, tenant: str) -> None:
        """Delete dictionaries that no text needs and none will."""
        self._database.write(tenant, self._sweep)

    def _renewed(self, tenant: str, number: int) -> int:
        done = 0
        while self._is_used(tenant, number):
            draft = self.draft(tenant)

            def work(session: Session, draft: Draft | None = draft) -> int:
                session.share_writing()
                asked = {"dictionary": number, "most": BATCH}
                keys = session.numbers("keys_with_dictionary", **asked)
                packer = self.packer(session, TextCodec.ZSTD, draft)
                return len(self.put_packed(session, packer, keys, anew=True)[0])

            done += self._database.write(tenant, work)
        return done

    def _is_used(self, tenant: str, number: int) -> bool:
        asked = {"dictionary": number, "most": 1}
        found = self._database.read(
            tenant, lambda session: session.numbers("keys_with_dictionary", **asked)
        )
        return found is not None and len(found) > 0

    def _sampled(self, session: Session) -> tuple[list[str], Keys, int] | None:
        keys = np.sort(session.numbers("keys_of_tenant"))
        row = session.row("current_dictionary")
        if row is not None and not outgrown(row[1], len(keys)):
            return None
        sources = chosen(keys)
        rows = session.rows("texts_of", keys=session.array_of(sources))
        return [self._database.text(session, text) for _, text in rows], sources, len(keys)
