"""The cold tier: what is old, packed in small transactions, and what dictionaries it has."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from remanence.errors import InvalidInput
from remanence.model.ports.store import Keys
from remanence.model.scope import Reach
from remanence.model.tier import VECTOR_BITS, Packed, TextCodec, Tier, TierUse
from remanence.store.coarse import coarser, halved
from remanence.store.core.database import D, Session, StorePart
from remanence.store.packing import Dictionary, Packer, chosen, codec_of, outgrown, trained
from remanence.store.rows import Row, micros

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


_NUMBERED = (Tier.HOT, Tier.COOL, Tier.COLD)  # as rows have them


def check_tier(tier: Tier) -> Tier:
    """The tier, if it is one that memories can be moved to."""
    if tier not in (Tier.COOL, Tier.COLD):
        raise InvalidInput("Memories are packed to the tier COOL or COLD; use `unpack` for hot.")
    return Tier(tier)


def number_of(tier: Tier) -> int:
    """The tier as a row has it."""
    return _NUMBERED.index(tier)


def uses_of(session: Session) -> list[TierUse]:
    """What each tier of the tenant takes."""
    of_pieces = {tier: tuple(map(int, sums)) for tier, *sums in session.rows("tier_pieces")}
    found = []
    texts = sorted(session.rows("tier_texts"), key=lambda row: row[0])
    for tier, memories, characters, stored in texts:
        vectors, vectors_stored, codes, codes_stored = of_pieces.get(tier, (0, 0, 0, 0))
        found.append(
            TierUse(
                tier=_NUMBERED[tier],
                memories=memories,
                text_raw=int(characters),
                text_stored=int(stored),
                vectors_raw=vectors,
                vectors_stored=vectors_stored,
                codes_raw=codes,
                codes_stored=codes_stored,
            )
        )
    return found


class StoredTiers(StorePart[D]):
    """The Tiers port."""

    def __init__(self, database: D, dictionaries: StoredDictionaries[D]) -> None:
        super().__init__(database)
        self._dictionaries = dictionaries

    @abstractmethod
    def _put_pieces(self, session: Any, rows: Sequence[Row]) -> None:
        """Put vectors and codes in the place of others; each row ends with them."""

    def pack(
        self,
        reach: Reach,
        tier: Tier,
        *,
        before: datetime,
        codec: str = "zstd",
        limit: int = 10_000,
    ) -> Packed:
        """Move memories last touched before a time to a tier, in small transactions."""
        chosen, batch = codec_of(codec), BATCH
        asked = (number_of(check_tier(tier)), micros(before), limit)
        keys = self._keys("keys_to_pack", reach, *asked)
        draft = self._dictionaries.draft(reach.tenant) if len(keys) else None
        done = Packed()
        for at in range(0, len(keys), batch):
            done += self._pack_some(reach.tenant, keys[at : at + batch], tier, chosen, draft)
            draft = None
        return done

    def unpack(self, reach: Reach, *, limit: int = 10_000) -> Packed:
        """Give packed memories their texts back, and let coarse vectors wait to be made anew."""
        keys, batch = self._keys("keys_packed", reach, limit), BATCH
        done = Packed()
        for at in range(0, len(keys), batch):
            some = keys[at : at + batch]

            def work(session: Session, some: Keys = some) -> Packed:
                session.share_writing()
                there, texts = self._dictionaries.put_plain(session, some)
                session.run("make_hot", keys=session.array_of(there))
                waiting = session.rows("await_fine", keys=session.array_of(there))
                return Packed(memories=len(there), texts=texts, pieces=len(waiting))

            done += self._database.write(reach.tenant, work)
        if len(keys):
            self._dictionaries.sweep(reach.tenant)
        return done

    def packable(self, reach: Reach, tier: Tier, *, before: datetime) -> int:
        """How many memories `pack` would move to that tier."""
        asked = (number_of(check_tier(tier)), micros(before))

        def work(session: Session) -> int:
            condition = self._database.reached(session, reach, None)
            ((count,),) = session.matching("count_to_pack", condition, *asked)
            return int(count)

        return self._database.read(reach.tenant, work) or 0

    def renew_dictionaries(self, tenant: str) -> int:
        """Repack what was packed with snippets of erased memories; how many texts."""
        return self._dictionaries.renew(tenant)

    def uses(self, tenant: str) -> list[TierUse]:
        """What each tier of a tenant takes; tiers without a memory are left out."""
        return self._database.read(tenant, uses_of) or []

    def _keys(self, name: str, reach: Reach, *asked: int) -> Keys:
        def work(session: Session) -> Keys:
            condition = self._database.reached(session, reach, None)
            return session.numbers_matching(name, condition, *asked)

        found = self._database.read(reach.tenant, work)
        return np.empty(0, np.int64) if found is None else np.sort(found)

    def _pack_some(
        self, tenant: str, keys: Keys, tier: Tier, codec: TextCodec, draft: Draft | None
    ) -> Packed:
        def work(session: Session) -> Packed:
            session.share_writing()
            packer = self._dictionaries.packer(session, codec, draft)
            there, texts = self._dictionaries.put_packed(session, packer, keys)
            session.run("put_tier", keys=session.array_of(there), tier=number_of(tier))
            pieces = self._coarsen(session, there, tier)
            return Packed(memories=len(there), texts=texts, pieces=pieces)

        return self._database.write(tenant, work)

    def _coarsen(self, session: Session, keys: Keys, tier: Tier) -> int:
        """Make vectors and codes as coarse as the tier has them; how many pieces changed."""
        alike = defaultdict(list)
        rows = session.rows("pieces_to_pack", keys=session.array_of(keys))
        for *place, vector, codes, dimension in rows:
            alike[dimension].append((place, vector, codes))
        changed = 0
        for dimension, pieces in alike.items():
            vectors = coarser([vector for _, vector, _ in pieces], dimension, VECTOR_BITS[tier])
            new = [
                (*place, *made)
                for vector, (place, *old) in zip(vectors, pieces, strict=True)
                if (made := [vector, halved(old[1]) if tier is Tier.COLD else old[1]]) != old
            ]
            if new:
                self._put_pieces(session, new)
            changed += len(new)
        return changed
