"""The cold tier: texts and pieces of what is old, packed in small transactions."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from remanence.errors import InvalidInput
from remanence.model.ports.store import Keys
from remanence.model.scope import Reach
from remanence.model.tier import VECTOR_BITS, Packed, TextCodec, Tier, TierUse
from remanence.store.coarse import coarser, halved
from remanence.store.core import dictionaries
from remanence.store.core.database import D, StorePart
from remanence.store.core.dictionaries import Draft, StoredDictionaries
from remanence.store.core.session import Session
from remanence.store.packing import codec_of
from remanence.store.rows import Row, micros

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
        chosen, batch = codec_of(codec), dictionaries.BATCH
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
        keys, batch = self._keys("keys_packed", reach, limit), dictionaries.BATCH
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
