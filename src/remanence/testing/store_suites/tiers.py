"""Memories that are packed: less room, read as before."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from remanence.errors import InvalidInput
from remanence.model.embedding import Fingerprint, quantised, restored
from remanence.model.filter import Contains
from remanence.model.memory import MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.tier import Packed, Tier, TierUse
from remanence.model.write import Insert, Piece, Pieces, Remove
from remanence.testing.store_suites.making import (
    NOW,
    Reopen,
    add,
    memory,
    partition_of,
    postings,
    revise,
    texts,
    write,
)

MADE_BY = Fingerprint("tiers", "2" * 64, 64, "mean", "codes-1")
DAY = timedelta(days=1)
LATER = NOW + DAY
ALL = Reach(tenant="t", all_users=True)
PLACES = ("the harbour", "an old library", "her office", "the night market")


def told(count: int, tenant: str = "t") -> list[MemoryRecord]:
    """Memories that have much in common, the last of them not in ASCII."""
    said = [
        f"Ana told Bo that she went to {PLACES[n % 4]} on day {n} and bought {n} books there."
        for n in range(count)
    ]
    return [memory(text, tenant=tenant) for text in [*said[:-1], "Straße, naïve 茶 " * 20]]


def made(seed: int) -> Pieces:
    """One piece with a vector and token codes as an embedder makes them."""
    chance = np.random.default_rng(seed)
    vector = chance.standard_normal(MADE_BY.dimension).astype(np.float32)
    packed = quantised(vector / np.float32(np.linalg.norm(vector)))
    piece = Piece(part=0, passage=0, start=0, stop=1, vector=packed, codes=chance.bytes(48))
    return Pieces(fingerprint=MADE_BY, pieces=(piece,))


def stored(store: Store, count: int = 80) -> list[MemoryRecord]:
    """So many memories with their pieces."""
    records = told(count)
    write(store, *[Insert(record=one, pieces=made(n)) for n, one in enumerate(records)])
    return records


def use(store: Store, tier: Tier) -> TierUse:
    """What that tier holds."""
    (found,) = [one for one in store.tiers.uses("t") if one.tier == tier]
    return found


def whole(store: Store) -> bool:
    """Whether doctor finds nothing wrong."""
    return not any(
        found.problems for found in store.upkeep.doctor(repair=False, fingerprint=MADE_BY)
    )


def vectors(store: Store) -> tuple[np.ndarray, list[bytes]]:
    """The vectors and codes of the one partition, by key."""
    partition = partition_of(store)
    keys = [key for key, _ in store.archive.scan("t")]
    found = store.vectors.pieces(MADE_BY, partition, keys)
    scanned = [vector for _, _, vector in store.vectors.scan(MADE_BY, partition)]
    assert scanned == [piece.vector for piece in found]
    return restored(scanned), [piece.codes for piece in found]


class TiersSuite:
    """Texts compressed, vectors in fewer bits; everything is read as before."""

    def test_what_is_old_is_packed_and_reads_the_same(self, store: Store, reopen: Reopen) -> None:
        records = stored(store)
        feed = store.recall.position(partition_of(store))
        assert store.tiers.packable(ALL, Tier.COOL, before=LATER) == 80
        done = store.tiers.pack(ALL, Tier.COOL, before=LATER)
        assert done == Packed(memories=80, texts=80, pieces=80)
        assert store.tiers.pack(ALL, Tier.COOL, before=LATER) == Packed()
        store = reopen(store)
        assert store.archive.get("t", [one.id for one in records]) == records
        assert store.archive.find(ALL, limit=100, newest_first=False) == records
        assert [record for _, record in store.archive.scan("t")] == records
        assert texts(store.archive.find(ALL, Contains("STRASSE"))) == [records[-1].text]
        assert store.archive.count(ALL, Contains("library")) == 20
        keys = [key for key, _ in store.archive.scan("t")]
        found = store.recall.records(partition_of(store), keys)
        assert [found[key] for key in keys] == records
        assert postings(store, ["librari"])[0].tolist() == keys[1:-1:4]
        assert store.recall.position(partition_of(store)) == feed
        assert whole(store)

    def test_packing_takes_less_room(self, store: Store) -> None:
        stored(store)
        hot = use(store, Tier.HOT)
        assert (hot.memories, hot.vectors_stored) == (80, 80 * (4 + 64))
        assert (hot.vectors_raw, hot.codes_raw) == (80 * 4 * 64, 80 * 48)
        store.tiers.pack(ALL, Tier.COOL, before=LATER)
        cool = use(store, Tier.COOL)
        assert cool.text_raw == hot.text_raw
        assert cool.text_stored < hot.text_stored / 2
        assert cool.vectors_stored == 80 * (4 + 32)
        assert cool.codes_stored == hot.codes_stored
        assert store.tiers.pack(ALL, Tier.COLD, before=LATER) == Packed(memories=80, pieces=80)
        cold = use(store, Tier.COLD)
        assert (cold.vectors_stored, cold.codes_stored) == (80 * (4 + 8), 80 * (1 + 24))
        assert (cold.vectors_raw, cold.codes_raw) == (hot.vectors_raw, hot.codes_raw)
        assert len(store.tiers.uses("t")) == 1
        assert whole(store)

    def test_vectors_keep_their_signs_and_their_direction(self, store: Store) -> None:
        stored(store)
        fine, codes = vectors(store)
        store.tiers.pack(ALL, Tier.COOL, before=LATER)
        cool, same = vectors(store)
        store.tiers.pack(ALL, Tier.COLD, before=LATER)
        cold, cut = vectors(store)
        assert np.array_equal(fine > 0, cool > 0)
        assert np.array_equal(fine > 0, cold > 0)
        lengths = np.linalg.norm(fine, axis=1) * np.linalg.norm(cool, axis=1)
        assert (np.vecdot(fine, cool) / lengths).min() > 0.98
        assert np.allclose(np.vecdot(fine, cold), np.vecdot(fine, fine), atol=0.05)
        assert same == codes
        assert [len(one) for one in cut] == [1 + 24] * 80

    def test_age_counts_from_the_last_touch(self, store: Store) -> None:
        old, used, archived = (memory(text * 30) for text in ("old ", "use ", "arc "))
        late = NOW + 10 * DAY
        made_late = memory("young " * 30, created_at=late)
        add(store, old, used, archived, made_late, memory("soon " * 30, happened_at=late))
        store.archive.note_uses("t", [(used.id, late)])
        revise(store, archived.id, state=State.ARCHIVED, at=late)
        assert store.tiers.packable(ALL, Tier.COLD, before=LATER) == 2
        assert store.tiers.packable(ALL, Tier.COLD, before=NOW) == 1
        assert store.tiers.pack(ALL, Tier.COLD, before=LATER).memories == 2
        assert use(store, Tier.HOT).memories == 3

    def test_at_most_so_many_and_only_in_reach(self, store: Store) -> None:
        add(store, *[memory("mine " * 30) for _ in range(5)])
        add(store, memory("hers " * 30, user_id="u"))
        add(store, memory("theirs " * 30, tenant="other"))
        assert store.tiers.pack(Reach(tenant="t"), Tier.COOL, before=LATER, limit=2).memories == 2
        assert store.tiers.packable(Reach(tenant="t"), Tier.COOL, before=LATER) == 3
        assert (
            store.tiers.pack(Reach(tenant="t", user_id="u"), Tier.COOL, before=LATER).memories == 1
        )
        assert [one.tier for one in store.tiers.uses("other")] == [Tier.HOT]
        assert store.tiers.uses("nobody") == []
        assert store.tiers.pack(Reach(tenant="nobody"), Tier.COOL, before=LATER) == Packed()

    @pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
    def test_every_codec_gives_back_what_it_got(self, store: Store, codec: str) -> None:
        records = [*told(40), memory("x"), memory("🫖" * 400), memory("tea " * 5000)]
        add(store, *records)
        done = store.tiers.pack(ALL, Tier.COOL, before=LATER, codec=codec)
        assert (done.memories, done.texts >= 3, done.texts <= 42) == (43, True, True)
        assert store.archive.get("t", [one.id for one in records]) == records
        assert use(store, Tier.COOL).text_stored < sum(len(r.text.encode()) for r in records)
        assert whole(store)

    def test_what_cannot_be_asked_is_refused(self, store: Store) -> None:
        with pytest.raises(InvalidInput, match="zstd, lz4, snappy"):
            store.tiers.pack(ALL, Tier.COOL, before=LATER, codec="rar")
        with pytest.raises(InvalidInput, match="unpack"):
            store.tiers.pack(ALL, Tier.HOT, before=LATER)

    def test_a_write_makes_a_memory_hot_again(self, store: Store) -> None:
        records = stored(store, 40)
        store.tiers.pack(ALL, Tier.COLD, before=LATER)
        new = revise(store, records[0].id, text="Ana sold the boat.", pieces=made(99))
        assert store.archive.get("t", [new.id]) == [new]
        revise(store, records[1].id, importance=0.9)
        write(store, Remove(id=records[2].id))
        assert (use(store, Tier.HOT).memories, use(store, Tier.COLD).memories) == (2, 37)
        assert store.archive.history("t", new.id)[-1].before == {"text": records[0].text}
        assert len(vectors(store)[0]) == 39
        assert postings(store, ["boat"])[0].size == 1
        assert store.tiers.pack(ALL, Tier.COLD, before=LATER).memories == 2
        assert whole(store)

    def test_pieces_made_anew_are_fine_again(self, store: Store) -> None:
        (record, *_) = stored(store, 40)
        store.tiers.pack(ALL, Tier.COLD, before=LATER)
        key = next(key for key, found in store.archive.scan("t") if found.id == record.id)
        assert store.vectors.put("t", [(key, record.text, made(0))]) == 1
        (piece,) = store.vectors.pieces(MADE_BY, partition_of(store), [key])
        assert (piece.vector, len(piece.codes)) == (made(0).pieces[0].vector, 48)
        assert store.tiers.pack(ALL, Tier.COLD, before=LATER) == Packed(memories=1, pieces=1)

    def test_unpacked_texts_are_as_before_and_vectors_wait(self, store: Store) -> None:
        records = stored(store, 40)
        store.tiers.pack(ALL, Tier.COLD, before=LATER)
        assert store.tiers.unpack(ALL, limit=10) == Packed(memories=10, texts=10, pieces=10)
        assert store.vectors.count_unembedded("t", MADE_BY) == 10
        assert store.tiers.unpack(ALL).memories == 30
        assert store.tiers.unpack(ALL) == Packed()
        assert use(store, Tier.HOT).text_stored == sum(len(r.text.encode()) for r in records)
        assert store.archive.get("t", [one.id for one in records]) == records
        assert whole(store)
        waiting = store.vectors.unembedded("t", MADE_BY, 100)
        store.vectors.put("t", [(key, one.text, made(n)) for n, (key, one) in enumerate(waiting)])
        assert store.vectors.count_unembedded("t", MADE_BY) == 0
        assert use(store, Tier.HOT).vectors_stored == 40 * (4 + 64)
        assert whole(store)

    def test_a_dictionary_forgets_whom_it_was_made_of(self, store: Store) -> None:
        records = stored(store)
        store.tiers.pack(ALL, Tier.COOL, before=LATER)
        for n in (3, 40, 79):
            write(store, Remove(id=records[n].id))
            kept = [one for one in records if one not in (records[3], records[40], records[79])]
            assert store.archive.get("t", [one.id for one in kept]) == kept
        assert store.tiers.renew_dictionaries("t") == 0
        write(store, *[Remove(id=one.id) for one in records if one in kept])
        assert store.tiers.uses("t") == []
        assert whole(store)

    def test_tenants_have_dictionaries_of_their_own(self, store: Store) -> None:
        mine, theirs = told(40), told(40, "other")
        add(store, *mine)
        add(store, *theirs)
        store.tiers.pack(ALL, Tier.COOL, before=LATER)
        store.tiers.pack(Reach(tenant="other"), Tier.COOL, before=LATER)
        write(store, *[Remove(id=one.id) for one in mine])
        assert store.archive.get("other", [one.id for one in theirs]) == theirs
        assert whole(store)

    def test_a_tenant_that_grew_gets_another_dictionary(self, store: Store) -> None:
        first = told(30)
        add(store, *first)
        store.tiers.pack(ALL, Tier.COOL, before=LATER)
        second = [memory(f"A wholly other sentence about rowing, number {n}.") for n in range(100)]
        add(store, *second)
        store.tiers.pack(ALL, Tier.COOL, before=LATER)
        every = [*first, *second]
        assert store.archive.get("t", [one.id for one in every]) == every
        assert store.tiers.unpack(ALL).texts >= 100
        assert store.archive.get("t", [one.id for one in every]) == every
        assert whole(store)
