"""Care of the whole store: kept in shape, counted, signed for, and what erasure needs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from remanence.errors import Closed, Conflict
from remanence.model.memory import Kind, State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.write import Insert, Receipt, Remove
from remanence.testing.store_suites.making import (
    FINGERPRINT,
    LONG,
    NOW,
    Reopen,
    add,
    block,
    claim,
    entity,
    found,
    healthy,
    link,
    memory,
    new_id,
    partition_of,
    pieces,
    postings,
    put,
    revise,
    write,
)


class UpkeepSuite:
    """Care of the whole store."""

    def test_a_store_keeps_its_identity(self, store: Store, reopen: Reopen) -> None:
        identity = store.upkeep.identity
        assert identity
        schema = store.upkeep.schema
        again = reopen(store)
        assert (again.upkeep.identity, again.upkeep.schema) == (identity, schema)
        assert schema > 0

    def test_tenants_are_listed(self, store: Store) -> None:
        assert store.upkeep.tenants() == []
        add(store, memory("a"), memory("b", user_id="u"))
        add(store, memory("c", tenant="u"))
        assert sorted(store.upkeep.tenants()) == ["t", "u"]

    def test_one_caller_is_alone_at_a_time(self, store: Store) -> None:
        with (
            store.upkeep.alone("a") as first,
            store.upkeep.alone("a") as second,
            store.upkeep.alone("b") as other,
        ):
            assert (first, second, other) == (True, False, True)
        with store.upkeep.alone("a") as again:
            assert again

    def test_writes_in_bulk_are_there_at_once(self, store: Store) -> None:
        with store.upkeep.bulk():
            add(store, memory("a"), made=pieces())
            assert store.archive.count(Reach(tenant="t")) == 1
        assert len(list(store.vectors.scan(FINGERPRINT, partition_of(store)))) == 1
        assert healthy(store)

    def test_doctor_finds_a_store_in_use_healthy(self, store: Store) -> None:
        a, b = add(store, memory("a", metadata={"x": [1, "two"]}), memory("b"), made=pieces())
        revise(store, a.id, text="c", metadata={"y": {"z": LONG}})
        store.links.associate("t", link(a, b))
        write(store, Remove(id=b.id))
        assert healthy(store)
        assert not any(
            one.repaired for one in store.upkeep.doctor(repair=True, fingerprint=FINGERPRINT)
        )

    def test_compact_keeps_all_that_is_there(self, store: Store) -> None:
        records = add(
            store, *[memory(f"m{i}", metadata={"i": i}) for i in range(60)], made=pieces()
        )
        write(store, *[Remove(id=record.id) for record in records[::2]])
        keys = [key for key, _ in store.archive.scan("t")]
        store.upkeep.compact()
        assert [key for key, _ in store.archive.scan("t")] == keys
        assert len(store.vectors.pieces(FINGERPRINT, partition_of(store), keys)) == 30
        assert healthy(store)

    def test_stats_count_one_tenant(self, store: Store) -> None:
        a, b = add(store, memory("a", kind=Kind.SEMANTIC), memory("b", user_id="u"), made=pieces())
        add(store, memory("c", state=State.ARCHIVED))
        add(store, memory("foreign", tenant="u"))
        store.links.associate("t", link(a, b))
        stats = store.upkeep.stats("t")
        assert stats.memories == 3
        assert stats.by_kind == {"semantic": 1, "episodic": 2}
        assert stats.by_state == {"active": 2, "archived": 1}
        assert stats.by_day == {"2026-03-01": 3}
        assert (stats.associations, stats.pending) == (1, 1)
        assert store.upkeep.stats("nobody").memories == 0

    def test_a_backup_appears_whole(self, store: Store, tmp_path: Path) -> None:
        add(store, *[memory(f"m{i}") for i in range(50)], made=pieces())
        told: list[tuple[int, int]] = []
        store.upkeep.backup(tmp_path / "copies" / "one", lambda done, of: told.append((done, of)))
        assert told[-1][0] == told[-1][1] > 0
        assert [path.name for path in (tmp_path / "copies").iterdir()] == ["one"]

    def test_a_closed_store_says_so(self, store: Store) -> None:
        store.close()
        store.close()
        with pytest.raises(Closed):
            store.archive.count(Reach(tenant="t"))
        with pytest.raises(Closed):
            add(store, memory("x"))


ALL = 10**6


class Enough(Exception):
    """Somebody has seen enough."""


def filled(store: Store) -> None:
    """Some of all that a store holds: changed, linked, judged, known, gone."""
    for tenant in ("t", "u"):
        records = add(store, *[memory(f"tea {n}", tenant) for n in range(20)], made=pieces(2))
        write(store, Remove(id=records[0].id), tenant=tenant)
        for one, other in pairwise(records[1:]):
            store.links.associate(tenant, link(one, other))
            store.archive.note_feedback(tenant, one.id, useful=True, query="tea?", at=NOW)
        store.archive.note_uses(tenant, [(one.id, NOW) for one in records[1:]])
        ana, place = entity("Ana"), entity("Oslo")
        said = claim(ana, "lives in", place, memory=records[1].id)
        write(store, learnt=(found(records[1], said, names=(ana, place)),), tenant=tenant)
        for n in range(3):
            put(store, block("b"), {"n": n}, tenant=tenant, keep=True)
    for record in store.archive.find(Reach(tenant="t"), limit=5):
        revise(store, record.id, text="coffee", state=State.ARCHIVED)


def stored(store: Store) -> list[Any]:
    """All of it, in order."""
    told: list[Any] = []
    for tenant in sorted(store.upkeep.tenants()):
        scanned = list(store.archive.scan(tenant))
        told += [scanned, *(store.archive.history(tenant, record.id) for _, record in scanned)]
        told += [store.links.scan(tenant), store.archive.feedback(tenant)]
        told += [store.knowledge.scan(tenant), store.documents.scan(tenant)]
        at = partition_of(store, tenant=tenant)
        told.append(store.vectors.pieces(FINGERPRINT, at, [key for key, _ in scanned]))
    return [list(part) for part in told]


class TendingSuite:
    """`tend` and what it must leave alone."""

    def test_tending_changes_nothing_that_is_stored(self, store: Store) -> None:
        filled(store)
        before = stored(store)
        done = store.upkeep.tend()
        assert done["feed_trimmed"] > 0
        assert stored(store) == before
        assert healthy(store)
        assert store.upkeep.tend()["feed_trimmed"] == 0

    def test_followers_find_all_that_changed_wherever_they_were(self, store: Store) -> None:
        records = add(store, *[memory(f"m{n}") for n in range(8)], made=pieces())
        partition = partition_of(store)
        places = [0, store.recall.position(partition)]
        for round in range(3):
            for record in records[round : round + 4]:
                revise(store, record.id, importance=round / 10)
            places.append(store.recall.position(partition))
        write(store, Remove(id=records[0].id))
        told = [_told(store, partition, place) for place in places]
        newest, entries = (
            store.recall.position(partition),
            len(store.recall.changes(partition, 0, ALL)),
        )
        store.upkeep.tend()
        assert [_told(store, partition, place) for place in places] == told
        assert store.recall.position(partition) == newest
        assert len(store.recall.changes(partition, 0, ALL)) == 8 < entries
        add(store, memory("later"))
        assert len(store.recall.changes(partition, newest, ALL)) == 1

    def test_words_are_found_as_before(self, store: Store) -> None:
        for n in range(30):
            add(store, memory(f"lemon tree {n}"))
        (before,) = postings(store, ["lemon"])
        store.upkeep.tend()
        (after,) = postings(store, ["lemon"])
        assert after.tolist() == before.tolist()
        assert len(after) == 30

    def test_it_can_be_ended_between_transactions(self, store: Store) -> None:
        filled(store)
        before = stored(store)

        def enough(done: int, _total: int) -> None:
            raise Enough(done)

        with pytest.raises(Enough):
            store.upkeep.tend(enough)
        assert stored(store) == before
        assert store.upkeep.tend()
        assert healthy(store)

    def test_one_tends_at_a_time(self, store: Store) -> None:
        add(store, memory("a"))
        with store.upkeep.alone("tend"):
            assert store.upkeep.tend() == {}
        assert store.upkeep.tend()


def _told(store: Store, partition: int, after: int) -> set[int]:
    return {change.key for change in store.recall.changes(partition, after, ALL)}


class ErasureSuite:
    """Signatures, counts of what goes, keys that stay used."""

    def test_a_store_signs_with_its_own_secret(self, store: Store, reopen: Reopen) -> None:
        signed = store.upkeep.sign(b"a receipt")
        assert len(signed) == 32
        assert store.upkeep.sign(b"another") != signed
        assert reopen(store).upkeep.sign(b"a receipt") == signed

    def test_it_says_what_it_is_and_what_may_stay(self, store: Store) -> None:
        assert store.upkeep.kind
        assert all(line.endswith(".") for line in store.upkeep.leftovers)

    def test_what_is_stored_with_memories_is_counted(self, store: Store) -> None:
        one, two, three = add(store, memory("a"), memory("b"), memory("c"), made=pieces(2))
        revise(store, one.id, importance=0.9)
        store.links.associate("t", link(one, two))
        store.links.associate("t", link(two, three))
        store.archive.note_feedback("t", one.id, useful=True, query="q", at=NOW)
        ana = entity("Ana")
        said = found(one, claim(ana, "likes", "tea", memory=one.id), names=(ana,))
        write(store, learnt=(said,))
        nothing = dict.fromkeys(("versions", "vectors", "links", "claims", "mentions"), 0)
        assert store.archive.holdings("t", [one.id, two.id]) == {
            "versions": 3, "vectors": 4, "links": 2, "claims": 1, "mentions": 1, "feedback": 1,
        }  # fmt: skip
        assert store.archive.holdings("t", [three.id, str(new_id()), "no id"])["links"] == 1
        assert store.archive.holdings("u", [one.id]) == {**nothing, "feedback": 0}
        assert store.archive.holdings("t", []) == {**nothing, "feedback": 0}

    def test_a_key_stays_used_when_what_it_wrote_is_removed(
        self, store: Store, reopen: Reopen
    ) -> None:
        gone, stays, other = memory("gone"), memory("stays"), memory("other")
        both, alone = Receipt(key="k", digest=b"d"), Receipt(key="other", digest=b"d")
        write(store, Insert(record=gone), Insert(record=stays), receipt=both)
        write(store, Insert(record=other), receipt=alone)
        write(store, Remove(id=gone.id))
        store = reopen(store)
        for digest in (b"d", b"e"):
            with pytest.raises(Conflict, match="erased"):
                write(store, Insert(record=memory("x")), receipt=Receipt(key="k", digest=digest))
        assert write(store, Insert(record=memory("x")), receipt=alone).records == (other,)
        write(store, Remove(id=stays.id))
        with pytest.raises(Conflict, match="erased"):
            write(store, Insert(record=memory("x")), receipt=both)
        fresh = memory("of another tenant", tenant="u")
        assert not write(store, Insert(record=fresh), tenant="u", receipt=both).repeated
