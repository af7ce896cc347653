"""Erasure: what goes along, what the receipt says, whether it can be forged."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence.errors import InvalidInput, NotFound
from remanence.layers.erasure.eraser import Eraser
from remanence.layers.erasure.heritage import Heritage
from remanence.layers.erasure.receipts import (
    Erasures,
    Tombstones,
    begun,
    read_receipts,
    receipt_of,
    shelving,
    signed,
    told_of,
)
from remanence.layers.sessions import Sessions
from remanence.memories import lineage
from remanence.memories.lineage import MERGED_INTO, SOURCES, SUMMARISES
from remanence.memories.removal import remove
from remanence.model.clock import FixedClock, IdMaker
from remanence.model.erasure import By, Erasure, ErasureRequest, Stage
from remanence.model.memory import Association, Kind, MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.validation import SLEEP
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import NOW, add, block, memory, pieces, put

BY_IDS = ErasureRequest(by=By.IDS)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "memory.db", durability="normal")
    yield store
    store.close()


@pytest.fixture
def eraser(store: SqliteStore) -> Eraser:
    return make(store)


def make(store: SqliteStore, **options: Any) -> Eraser:
    clock = FixedClock(NOW)
    sessions = Sessions(store, "t", clock, 60, None, lambda *_, **__: [])
    return Eraser(
        store, sessions, "t", clock, IdMaker(), **{"clean": lambda reaches: (), **options}
    )


def linked(store: SqliteStore, source: MemoryRecord, target: MemoryRecord, type: str) -> None:
    link = Association(source=source.id, target=target.id, type=type, strength=1.0, created_at=NOW)
    store.links.associate("t", link)


def derived(store: SqliteStore, kind: Kind, *sources: MemoryRecord) -> MemoryRecord:
    told: dict[str, Any] = {"origin": SLEEP, "metadata": {SOURCES: len(sources)}}
    [record] = add(store, memory(f"made of {len(sources)}", kind=kind, **told))
    for source in sources:
        linked(store, record, source, SUMMARISES)
    return record


def merged(store: SqliteStore, text: str, survivor: MemoryRecord) -> MemoryRecord:
    [record] = add(store, memory(text, state=State.ARCHIVED, superseded_by=survivor.id))
    linked(store, record, survivor, MERGED_INTO)
    return record


def ids(records: Iterator[MemoryRecord] | list[MemoryRecord]) -> set[str]:
    return {record.id for record in records}


def test_everything_derived_goes_along(store: SqliteStore) -> None:
    one, two, other = add(store, memory("one"), memory("two"), memory("other"))
    semantic = derived(store, Kind.SEMANTIC, one, two)
    reflection = derived(store, Kind.REFLECTION, semantic)
    beside = derived(store, Kind.SEMANTIC, other)
    made, into = lineage.taken_along(store, "t", [one.id])
    assert (ids(made), into) == ({semantic.id, reflection.id}, [])
    assert [lineage.made_of(record) for record in (semantic, reflection, one)] == [2, 1, 0]
    assert lineage.taken_along(store, "x", [one.id]) == ([], [])
    assert lineage.taken_along(store, "t", [beside.id]) == ([], [])


def test_a_survivor_takes_its_originals_and_an_original_goes_alone(store: SqliteStore) -> None:
    [survivor] = add(store, memory("survivor"))
    first = merged(store, "first", survivor)
    second = merged(store, "second", first)
    stray = add(store, memory("linked by hand"))[0]
    linked(store, stray, survivor, MERGED_INTO)
    of_second = derived(store, Kind.SUMMARY, second)
    made, into = lineage.taken_along(store, "t", [survivor.id])
    assert (ids(into), ids(made)) == ({first.id, second.id}, {of_second.id})
    assert lineage.taken_along(store, "t", [of_second.id]) == ([], [])
    remove(store, FixedClock(NOW), [first])
    assert ids(store.archive.get("t", [survivor.id, first.id, second.id])) == {survivor.id}


def test_what_was_merged_into_something_derived_goes_with_it(store: SqliteStore) -> None:
    one, two = add(store, memory("one"), memory("two"))
    semantic = derived(store, Kind.SEMANTIC, one)
    original = merged(store, "the same", semantic)
    above = derived(store, Kind.REFLECTION, original, two)
    made, into = lineage.taken_along(store, "t", [one.id])
    assert (ids(made), ids(into)) == ({semantic.id, above.id}, {original.id})


@pytest.mark.parametrize("kind", [Kind.SEMANTIC, Kind.REFLECTION, Kind.SUMMARY])
def test_what_is_derived_at_that_very_moment_is_torn(store: SqliteStore, kind: Kind) -> None:
    one, two = add(store, memory("one", kind=Kind.EPISODIC), memory("two"))
    late = derived(store, kind, one, two)
    late = store.archive.get("t", [late.id])[0]
    assert lineage.torn(store, [one], NOW) == []
    store.links.dissociate("t", late.id, one.id, SUMMARISES)
    assert lineage.torn(store, [one], NOW) == [late]


def test_the_receipt_counts_every_part(store: SqliteStore) -> None:
    asked, other = add(store, memory("asked"), memory("other"), made=pieces())
    semantic = derived(store, Kind.SEMANTIC, asked)
    original = merged(store, "original", asked)
    store.archive.note_feedback("t", asked.id, useful=True, query="q", at=NOW)
    receipt = make(store, unlearn=lambda ids: {"adapters": len(ids)}).erase_these([asked], BY_IDS)
    assert receipt.counts == {
        "memories": 1, "derived": 1, "merged": 1, "versions": 3, "vectors": 1,
        "links": 2, "feedback": 1, "adapters": 3,
    }  # fmt: skip
    assert set(receipt.ids) == {asked.id, semantic.id, original.id}
    assert ids(record for _, record in store.archive.scan("t")) == {other.id}
    assert (receipt.store, receipt.identity) == ("sqlite", store.upkeep.identity)
    assert receipt.status is Stage.COMPLETED
    assert any(f"made before {NOW:%Y-%m-%d %H:%M}" in one for one in receipt.remains)


def test_receipts_are_listed_read_and_verified(store: SqliteStore, eraser: Eraser) -> None:
    records = add(store, memory("one"), memory("two"))
    first = eraser.erase_these(records[:1], BY_IDS)
    second = eraser.erase_these(records[1:], ErasureRequest(by=By.FILTERS, filters=("team",)))
    erasures = Erasures(store, "t")
    assert sorted(one.id for one in erasures.list()) == [first.id, second.id]
    assert erasures.list(limit=1, offset=1) == [erasures.list()[1]]
    assert erasures.get(first.id) == first
    assert erasures.verify(first)
    assert erasures.verify(told_of(second))
    assert erasures.verify(json.loads(json.dumps(told_of(second))))
    assert Erasures(store, "u").list() == []
    assert not Erasures(store, "u").verify(first)
    with pytest.raises(NotFound):
        Erasures(store, "u").get(first.id)
    with pytest.raises(NotFound):
        erasures.get("nothing")


CHANGES: list[Callable[[Erasure], Erasure]] = [
    lambda one: replace(one, at=one.at + timedelta(microseconds=1)),
    lambda one: replace(one, ids=one.ids[1:]),
    lambda one: replace(one, ids=(one.ids[0][:-1] + "x", *one.ids[1:])),
    lambda one: replace(one, tenant="u"),
    lambda one: replace(one, asked=replace(one.asked, user_id="ana")),
    lambda one: replace(one, counts={**one.counts, "memories": 7}),
    lambda one: replace(one, remains=()),
    lambda one: replace(one, identity="other"),
    lambda one: replace(one, status=Stage.BEGUN),
    lambda one: replace(one, signature=None),
    lambda one: replace(one, signature="é" + str(one.signature)[1:]),
    lambda one: replace(one, signature="0" * 64),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_byte_is_noticed(
    store: SqliteStore, eraser: Eraser, change: Callable[[Erasure], Erasure]
) -> None:
    receipt = eraser.erase_these(add(store, memory("one"), memory("two")), BY_IDS)
    assert not Erasures(store, "t").verify(change(receipt))
    assert not Erasures(store, "t").verify(told_of(change(receipt)))


@pytest.mark.parametrize(
    "broken",
    [{}, {"ids": 1}, {"asked": {}}, {"asked": {"by": "magic"}}, {"at": "never"}, {"extra": "x"},
     {"counts": {"a": "b"}}, {"counts": {"a": True}}, {"ids": [1]}, {"store": 3}],
)  # fmt: skip
def test_what_is_no_receipt_is_refused(
    store: SqliteStore, eraser: Eraser, broken: dict[str, Any]
) -> None:
    good = told_of(eraser.erase_these(add(store, memory("one")), BY_IDS))
    bad = good | broken if broken else {}
    assert not Erasures(store, "t").verify(bad)
    with pytest.raises(InvalidInput):
        receipt_of(bad)


def test_another_store_signs_otherwise(store: SqliteStore, eraser: Eraser, tmp_path: Path) -> None:
    receipt = eraser.erase_these(add(store, memory("one")), BY_IDS)
    other = SqliteStore(tmp_path / "other.db")
    assert not Erasures(other, "t").verify(receipt)
    other.close()


def test_large_receipts_come_in_chunks(
    store: SqliteStore, eraser: Eraser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remanence.layers.erasure.receipts.CHUNK", 3)
    records = add(store, *[memory(str(n)) for n in range(8)])
    receipt = eraser.erase_these(records, BY_IDS)
    assert receipt.ids == tuple(record.id for record in records)
    assert Erasures(store, "t").list() == [receipt]
    assert Erasures(store, "t").verify(Erasures(store, "t").get(receipt.id))


def test_erasing_what_is_gone_gives_an_empty_receipt(store: SqliteStore, eraser: Eraser) -> None:
    records = add(store, memory("one"))
    remove(store, FixedClock(NOW), records)
    assert eraser.erase_these(records, BY_IDS).ids == ()
    assert eraser.erase_these([], BY_IDS).status is Stage.COMPLETED
    assert len(Erasures(store, "t").list()) == 2


def test_a_scope_that_was_cut_off_is_settled_up_to_its_time(store: SqliteStore) -> None:
    before, other = add(store, memory("before", user_id="ana"), memory("of bob", user_id="bob"))
    put(store, block("human", user_id="ana"))
    asked = ErasureRequest(by=By.SCOPE, user_id="ana")
    receipt = Erasure(
        id=str(IdMaker()()), at=NOW + timedelta(hours=1), tenant="t", asked=asked, store="sqlite",
        identity=store.upkeep.identity, status=Stage.BEGUN, ids=(str(IdMaker()()),),
    )  # fmt: skip
    receipt = signed(store, receipt)
    store.documents.put("t", shelving(receipt))
    assert Erasures(store, "t").list() == [receipt]
    assert Erasures(store, "t").get(receipt.id).status is Stage.BEGUN
    late = NOW + timedelta(hours=2)
    [after] = add(store, replace(memory("after", user_id="ana"), created_at=late))
    assert make(store).settle() == 1
    assert begun(store, "t") == []
    done = Erasures(store, "t").get(receipt.id)
    assert Erasures(store, "t").verify(done)
    assert done.ids == (*receipt.ids, before.id)
    assert ids(record for _, record in store.archive.scan("t")) == {other.id, after.id}
    assert store.documents.shelved(Reach(tenant="t", user_id="ana"), block("human").shelf) == []
    assert make(store).settle() == 0


def test_one_that_is_under_way_elsewhere_is_left_alone(store: SqliteStore, tmp_path: Path) -> None:
    receipt = Erasure(
        id=str(IdMaker()()), at=NOW, tenant="t", asked=ErasureRequest(by=By.SCOPE, user_id="ana"),
        store="sqlite", identity=store.upkeep.identity, status=Stage.BEGUN,
    )  # fmt: skip
    store.documents.put("t", shelving(signed(store, receipt)))
    with store.upkeep.alone(f"erasure {receipt.id}"):
        assert make(store).settle() == 0
    assert make(store).settle() == 1


def test_nothing_is_erased_for_a_beginning_from_elsewhere(
    store: SqliteStore, tmp_path: Path
) -> None:
    other = SqliteStore(tmp_path / "other.db")
    [kept] = add(store, memory("kept"))
    forged = Erasure(
        id=str(IdMaker()()), at=NOW + timedelta(days=9), tenant="t",
        asked=ErasureRequest(by=By.SCOPE, all_users=True), store="sqlite",
        identity=store.upkeep.identity,
        status=Stage.BEGUN,
    )  # fmt: skip
    for one in (forged, signed(other, forged), signed(store, replace(forged, tenant="u"))):
        store.documents.put("t", shelving(one))
        assert make(store).settle() == 0
        assert Erasures(store, "t").list() == []
    assert ids(record for _, record in store.archive.scan("t")) == {kept.id}
    other.close()


def test_a_restored_store_unlearns_too(store: SqliteStore, tmp_path: Path) -> None:
    records = add(store, memory("one"), memory("two"))
    store.upkeep.backup(tmp_path / "copy")
    receipt = make(store).erase_these(records[:1], BY_IDS)
    asked: list[object] = []

    def unlearn(new: Store, tenant: str, ids: Sequence[str]) -> Mapping[str, int]:
        asked.append((tenant, tuple(ids), new.archive.get("t", ids)))
        return {"adapters": 1}

    copy = SqliteStore(tmp_path / "copy")
    heritage = Heritage(FixedClock(NOW), unlearn=unlearn)
    assert heritage(store)(copy)
    assert asked == [("t", (records[0].id,), [])]
    assert (heritage.erased, Erasures(copy, "t").list()) == (1, [receipt])
    assert not heritage(store)(copy)
    copy.close()


def test_tombstones_survive_a_line_that_was_cut_off(store: SqliteStore, tmp_path: Path) -> None:
    path = tmp_path / "x.erasures"
    stones = Tombstones(path)
    assert (stones.read(), stones.last()) == ([], None)
    first = signed(store, _completed(store))
    stones.add(first)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with path.open("ab") as file:
        file.write(b'{"id": "half')
    assert stones.last() == first
    second = signed(store, _completed(store))
    stones.add(second)
    stones.add(first)
    assert stones.read() == [first, second]
    assert stones.last() == first


def test_receipts_are_read_from_either_form(store: SqliteStore, tmp_path: Path) -> None:
    path, receipts = tmp_path / "r", [signed(store, _completed(store)) for _ in range(2)]
    path.write_text(json.dumps([told_of(one) for one in receipts]))
    assert read_receipts(path) == receipts
    path.write_text("\n".join(json.dumps(told_of(one)) for one in receipts))
    assert read_receipts(path) == receipts
    for nonsense in ("{", "[1]", '{"a": 1}', "[[]]"):
        path.write_text(nonsense)
        with pytest.raises(InvalidInput):
            read_receipts(path)
    path.write_bytes(b"\xff\xfe")
    for unreadable in (path, tmp_path / "nowhere"):
        with pytest.raises(InvalidInput):
            read_receipts(unreadable)


def _completed(store: SqliteStore) -> Erasure:
    return Erasure(
        id=str(IdMaker()()), at=datetime.now(UTC), tenant="t", asked=BY_IDS, store="sqlite",
        identity=store.upkeep.identity,
    )  # fmt: skip
