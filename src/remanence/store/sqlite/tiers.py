"""The cold tier in SQLite: texts and pieces of what is old, packed in small transactions."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

import apsw
import numpy as np

from remanence.model.scope import Reach
from remanence.model.tier import VECTOR_BITS, Packed, Tier, TierUse
from remanence.ports.store import Keys
from remanence.store.coarse import coarser, halved
from remanence.store.packing import Packer, codec_of
from remanence.store.rows import micros
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.dictionaries import BATCH, Dictionaries
from remanence.store.sqlite.filters import reached, statement
from remanence.store.sqlite.numbers import bound, parsed
from remanence.store.sqlite.statements import fetch_all, run, run_many
from remanence.store.sqlite.statistics import tiers
from remanence.store.tiering import check_tier, number_of


class SqliteTiers:
    """The Tiers port."""

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
        keys = self._to_pack(reach, check_tier(tier), before, limit)
        draft = self._dictionaries.draft(reach.tenant) if len(keys) else None
        done = Packed()
        for at in range(0, len(keys), BATCH):
            with self._database.writing() as connection:
                packer = self._dictionaries.packer(connection, reach.tenant, chosen, draft)
                done += _pack(connection, packer, keys[at : at + BATCH], tier)
            draft = None
        return done

    def unpack(self, reach: Reach, *, limit: int = 10_000) -> Packed:
        """Give packed memories their texts back, and let coarse vectors wait to be made anew."""
        with self._database.reading() as connection:
            condition = reached(self._database.partitions(connection, reach), reach, None)
            values = (*condition.values, limit)
            keys = parsed(connection.execute(statement("keys_packed", condition), values).get)
        done = Packed()
        for at in range(0, len(keys), BATCH):
            with self._database.writing() as connection:
                done += _unpack(connection, keys[at : at + BATCH])
        return done

    def packable(self, reach: Reach, tier: Tier, *, before: datetime) -> int:
        """How many memories `pack` would move to that tier."""
        with self._database.reading() as connection:
            condition = reached(self._database.partitions(connection, reach), reach, None)
            values = (*condition.values, number_of(check_tier(tier)), micros(before))
            return int(connection.execute(statement("count_to_pack", condition), values).get)

    def renew_dictionaries(self, tenant: str) -> int:
        """Repack what was packed with snippets of erased memories; how many texts."""
        return self._dictionaries.renew()

    def tiers(self, tenant: str) -> list[TierUse]:
        """What each tier of a tenant takes; tiers without a memory are left out."""
        with self._database.reading() as connection:
            return tiers(connection, tenant)

    def _to_pack(self, reach: Reach, tier: Tier, before: datetime, limit: int) -> Keys:
        with self._database.reading() as connection:
            condition = reached(self._database.partitions(connection, reach), reach, None)
            values = (*condition.values, number_of(tier), micros(before), limit)
            found = connection.execute(statement("keys_to_pack", condition), values).get
        return np.sort(parsed(found))


def _pack(connection: apsw.Connection, packer: Packer, wanted: Keys, tier: Tier) -> Packed:
    keys = np.array([key for (key,) in fetch_all(connection, "keys_there", (bound(wanted),))])
    if not len(keys):
        return Packed()
    texts = _pack_texts(connection, packer, keys, tier)
    return Packed(memories=len(keys), texts=texts, pieces=_pack_pieces(connection, keys, tier))


def _unpack(connection: apsw.Connection, keys: Keys) -> Packed:
    texts = fetch_all(connection, "packed_texts_of", (bound(keys),))
    run_many(connection, "put_text", [(text, key) for key, text in texts])
    run(connection, "delete_tiers", (bound(keys),))
    run(connection, "await_fine", (bound(keys),))
    waiting = connection.changes()
    run(connection, "delete_unused_dictionaries")
    return Packed(memories=len(keys), texts=len(texts), pieces=waiting)


def _pack_texts(connection: apsw.Connection, packer: Packer, keys: Keys, tier: Tier) -> int:
    """Pack the texts that are not packed yet; how many."""
    asked = (bound(keys),)
    packed = 0
    numbers: dict[int, int | None] = dict(fetch_all(connection, "dictionaries_of", asked))
    for key, text in fetch_all(connection, "raw_texts_of", asked):
        found = packer.packed(text)
        numbers[key] = None
        if found is not None:
            run(connection, "put_text", (found, key))
            numbers[key] = packer.dictionary or None
            packed += 1
    rows = [(key, number_of(tier), numbers.get(key)) for key in keys.tolist()]
    run_many(connection, "put_tier", rows)
    return packed


def _pack_pieces(connection: apsw.Connection, keys: Keys, tier: Tier) -> int:
    alike = defaultdict(list)
    for place, vector, codes, dimension in fetch_all(connection, "pieces_to_pack", (bound(keys),)):
        alike[dimension].append((place, vector, codes))
    changed = 0
    for dimension, pieces in alike.items():
        vectors = coarser([vector for _, vector, _ in pieces], dimension, VECTOR_BITS[tier])
        rows = [
            (vector, halved(codes) if tier is Tier.COLD else codes, place)
            for vector, (place, _, codes) in zip(vectors, pieces, strict=True)
        ]
        new = [row for row, (_, *old) in zip(rows, pieces, strict=True) if list(row[:2]) != old]
        run_many(connection, "put_piece", new)
        changed += len(new)
    return changed
