"""The cold tier in PostgreSQL: texts and pieces of what is old, packed in small transactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from remanence.model.scope import Reach
from remanence.model.tier import VECTOR_BITS, Packed, TextCodec, Tier, TierUse
from remanence.ports.store import Keys
from remanence.store.coarse import coarser, halved
from remanence.store.packing import codec_of
from remanence.store.postgres.arrays import Int8s, byteas, int8s, texts
from remanence.store.postgres.database import Database
from remanence.store.postgres.dictionaries import (
    BATCH,
    Dictionaries,
    Draft,
    hold_writers,
    put_texts,
    sweep,
)
from remanence.store.postgres.filters import reached, statement
from remanence.store.postgres.session import Session
from remanence.store.postgres.statistics import tiers
from remanence.store.rows import Row, micros
from remanence.store.tiering import check_tier, number_of


class PostgresTiers:
    """The Tiers port. The halfvecs that pgvector searches stay as they are."""

    _database: Database
    _dictionaries: Dictionaries

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
        chosen = codec_of(codec)
        asked = (number_of(check_tier(tier)), micros(before), limit)
        keys = self._keys("keys_to_pack", reach, asked)
        draft = self._dictionaries.draft(reach.tenant) if len(keys) else None
        done = Packed()
        for at in range(0, len(keys), BATCH):
            done += self._pack(reach.tenant, keys[at : at + BATCH], tier, chosen, draft)
            draft = None
        return done

    def unpack(self, reach: Reach, *, limit: int = 10_000) -> Packed:
        """Give packed memories their texts back, and let coarse vectors wait to be made anew."""
        keys = self._keys("keys_packed", reach, (limit,))
        done = Packed()
        for at in range(0, len(keys), BATCH):
            done += self._unpack(reach.tenant, int8s(keys[at : at + BATCH]))
        if len(keys):
            self._database.write(reach.tenant, sweep)
        return done

    def packable(self, reach: Reach, tier: Tier, *, before: datetime) -> int:
        """How many memories `pack` would move to that tier."""
        asked = (number_of(check_tier(tier)), micros(before))
        return int(self._asked("count_to_pack", reach, asked) or 0)

    def renew_dictionaries(self, tenant: str) -> int:
        """Repack what was packed with snippets of erased memories; how many texts."""
        return self._dictionaries.renew(tenant)

    def tiers(self, tenant: str) -> list[TierUse]:
        """What each tier of a tenant takes; tiers without a memory are left out."""
        return self._database.read(tenant, tiers) or []

    def _keys(self, name: str, reach: Reach, values: Row) -> Keys:
        found = self._asked(name, reach, values)
        return np.empty(0, np.int64) if found is None else np.asarray(found, np.int64)

    def _asked(self, name: str, reach: Reach, values: Row) -> Any:
        def work(session: Session) -> Any:
            partitions = self._database.partitions(session, reach)
            condition = reached(session, partitions, reach, None)
            text = statement(name, condition)
            row = session.execute(text, (*condition.values, *values)).fetchone()
            return None if row is None else row[0]

        return self._database.read(reach.tenant, work)

    def _pack(
        self, tenant: str, keys: Keys, tier: Tier, codec: TextCodec, draft: Draft | None
    ) -> Packed:
        def work(session: Session) -> Packed:
            hold_writers(session)
            packer = self._dictionaries.packer(session, codec, draft)
            there, packed = put_texts(self._database, session, packer, keys, anew=False)
            pieces = _pack_pieces(session, there, tier)
            session.run("put_tier", keys=int8s(there), tier=number_of(tier))
            return Packed(memories=len(there), texts=packed, pieces=pieces)

        return self._database.write(tenant, work)

    def _unpack(self, tenant: str, keys: Int8s) -> Packed:
        def work(session: Session) -> Packed:
            hold_writers(session)
            rows = session.rows("hold_texts", keys=keys)
            packed = [(key, self._database.text(session, text)) for key, so, text in rows if so]
            session.run(
                "put_texts",
                keys=int8s(key for key, _ in packed),
                texts=texts(text for _, text in packed),
                packed=byteas([None] * len(packed)),
                dictionaries=int8s([0] * len(packed)),
            )
            session.run("put_tier", keys=keys, tier=number_of(Tier.HOT))
            waiting = session.rows("await_fine", keys=keys)
            return Packed(memories=len(rows), texts=len(packed), pieces=len(waiting))

        return self._database.write(tenant, work)


def _pack_pieces(session: Session, keys: Keys, tier: Tier) -> int:
    alike = defaultdict(list)
    for *place, vector, codes, dimension in session.rows("pieces_to_pack", keys=int8s(keys)):
        alike[dimension].append((place, vector, codes))
    changed = 0
    for dimension, pieces in alike.items():
        vectors = coarser([vector for _, vector, _ in pieces], dimension, VECTOR_BITS[tier])
        rows = [
            (*place, vector, halved(codes) if tier is Tier.COLD else codes)
            for vector, (place, _, codes) in zip(vectors, pieces, strict=True)
        ]
        new = [row for row, (_, *old) in zip(rows, pieces, strict=True) if list(row[4:]) != old]
        if new:
            _put_pieces(session, new)
        changed += len(new)
    return changed


def _put_pieces(session: Session, rows: Sequence[Row]) -> None:
    partitions, embedders, keys, parts, vectors, codes = zip(*rows, strict=True)
    session.run(
        "put_pieces",
        partitions=int8s(partitions),
        embedders=int8s(embedders),
        keys=int8s(keys),
        parts=int8s(parts),
        vectors=byteas(vectors),
        codes=byteas(codes),
    )
