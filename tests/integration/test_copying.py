"""One store into another, both ways between SQLite and PostgreSQL: nothing lost, nothing twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence import Memory
from remanence.errors import InvalidInput, NotFound, StoreBusy
from remanence.model.memory import Association
from remanence.model.ports.store import Store
from remanence.model.write import Remove
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import (
    NOW,
    OTHER,
    add,
    healthy,
    link,
    memory,
    pieces,
    revise,
    write,
)
from remanence.tools.transfer.entries import Why
from remanence.tools.transfer.store_copy import copy_store
from remanence.tools.transfer.verification import copy_and_verify, verify
from support.copies import COPIED, all_of, everything, fill
from support.places import Place, opened, places

LATER = NOW + timedelta(hours=1)
WAYS = ["sqlite to sqlite", "sqlite to postgres", "postgres to sqlite", "postgres to postgres"]

Pair = tuple[Store, Store]


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    with places(tmp_path, request) as made:
        yield made


@pytest.fixture(params=WAYS)
def pair(place: Place, request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Two empty stores, one to copy from and one to copy into."""
    one, _, other = request.param.partition(" to ")
    with closing(opened(place(one))) as source, closing(opened(place(other))) as target:
        yield source, target


@pytest.fixture
def files(place: Place) -> Iterator[Pair]:
    """The same, both in files."""
    with closing(opened(place("sqlite"))) as source, closing(opened(place("sqlite"))) as target:
        yield source, target


def test_nothing_is_lost(pair: Pair) -> None:
    source, target = pair
    fill(source)
    copied, found = copy_and_verify(source, target)
    assert (copied.memories, copied.skipped, copied.replaced, copied.tenants) == (60, 0, 0, 3)
    assert (copied.links, copied.feedback) == (9, 18)
    assert everything(target) == everything(source)
    assert found.differences.count == 0
    assert [one.tenant for one in found.tenants] == source.upkeep.tenants()
    assert all(one.source == one.target != "0" * 32 for one in found.tenants)
    assert healthy(target)


def test_there_and_back_again(place: Place) -> None:
    with ExitStack() as ends:
        kinds = ("sqlite", "postgres", "sqlite", "postgres")
        stores = [ends.enter_context(closing(opened(place(kind)))) for kind in kinds]
        fill(stores[0])
        for source, target in pairwise(stores):
            copy_store(source, target)
        told = [everything(store) for store in stores]
        assert told[0] == told[1] == told[2] == told[3]
        digests = [verify(stores[0], store).tenants for store in stores]
        assert all(one == digests[0] for one in digests)


def test_what_is_waiting_for_vectors_still_waits(pair: Pair) -> None:
    source, target = pair
    fill(source)
    copy_store(source, target)
    for made_by in source.vectors.embedders():
        for tenant in source.upkeep.tenants():
            waiting, there = (store.vectors.count_unembedded(tenant, made_by) for store in pair)
            assert waiting == there
    assert any(
        source.vectors.count_unembedded("t", made_by) for made_by in source.vectors.embedders()
    )


def test_again_passes_everything_over(pair: Pair) -> None:
    source, target = pair
    fill(source)
    copy_store(source, target)
    partitions = target.recall.partitions(all_of("t"))
    before = everything(target), [target.recall.position(each) for each in partitions]
    copied = copy_store(source, target)
    assert (copied.memories, copied.skipped, copied.replaced) == (0, 60, 0)
    assert (copied.links, copied.feedback) == (0, 0)
    assert (everything(target), [target.recall.position(each) for each in partitions]) == before


def test_what_the_source_changed_is_brought_up_to_date(pair: Pair) -> None:
    source, target = pair
    records = [memory(f"tea {n}") for n in range(5)]
    add(source, *records, made=pieces(1))
    source.links.associate("t", link(records[0], records[1]))
    source.archive.note_feedback("t", records[0].id, useful=True, query="q", at=NOW)
    copy_store(source, target)
    revise(source, records[0].id, text="green tea", pieces=pieces(3, fill=3))
    source.archive.note_uses("t", [(records[1].id, NOW), (records[1].id, LATER)])
    place = source.recall.key_of("t", records[2].id)
    assert place is not None
    source.vectors.put("t", [(place[1], "tea 2", pieces(2, OTHER))])
    copied, found = copy_and_verify(source, target)
    assert (copied.memories, copied.skipped, copied.replaced) == (0, 2, 3)
    assert found.differences.count == 0
    told, there = everything(source), everything(target)
    assert replace(there, order={}) == replace(told, order={})
    assert healthy(target)


def test_what_hangs_on_a_memory_in_the_target_stays(pair: Pair) -> None:
    source, target = pair
    (record,) = add(source, memory("tea"))
    copy_store(source, target)
    (own,) = add(target, memory("the target's own"))
    mine, theirs = link(record, own, 0.3), link(own, record, 0.7)
    for each in (mine, theirs):
        target.links.associate("t", each)
    target.archive.note_feedback("t", record.id, useful=False, query="theirs", at=NOW)
    revise(source, record.id, text="green tea")
    assert copy_store(source, target).replaced == 1
    assert set(target.links.scan("t")) == {mine, theirs}
    assert [one.query for one in target.archive.feedback("t")] == ["theirs"]
    assert target.archive.get("t", [record.id])[0].text == "green tea"


def test_the_targets_own_memories_and_tenants_stay(pair: Pair) -> None:
    source, target = pair
    fill(source, 12)
    (own,) = add(target, memory("the target's own"), made=pieces(1))
    (foreign,) = add(target, memory("of another", tenant="another"))
    copied, found = copy_and_verify(source, target)
    assert (copied.memories, found.differences.count) == (12, 0)
    assert target.archive.get("t", [own.id]) == [own]
    assert target.archive.get("another", [foreign.id]) == [foreign]


def test_a_memory_changed_in_the_target_is_kept_and_told(pair: Pair) -> None:
    source, target = pair
    records = add(source, memory("tea"), memory("coffee"), memory("both changed"))
    copy_store(source, target)
    newer = revise(target, records[0].id, text="green tea", at=LATER)
    target.archive.note_uses("t", [(records[1].id, LATER)])
    revise(target, records[2].id, importance=0.9)
    revise(source, records[2].id, importance=0.8)
    revise(source, records[2].id, importance=0.7)
    copied, found = copy_and_verify(source, target)
    assert (copied.skipped, copied.replaced, copied.kept.count) == (0, 0, 3)
    assert {one.id for one in copied.kept.first} == {record.id for record in records}
    assert found.differences == copied.kept
    assert {one.why for one in copied.kept.first} == {Why.CHANGED}
    assert target.archive.get("t", [newer.id]) == [newer]
    copied, found = copy_and_verify(source, target, overwrite=True)
    assert (copied.replaced, copied.kept.count, found.differences.count) == (3, 0, 0)
    assert everything(target).records == everything(source).records


def test_links_keep_their_time_and_the_later_one_wins(pair: Pair) -> None:
    source, target = pair
    a, b, c = add(source, memory("a"), memory("b"), memory("c"))
    stronger, again, theirs = link(a, b), link(b, c), link(c, a)
    for each in (stronger, again, theirs):
        source.links.associate("t", each)
    copy_store(source, target)
    source.links.associate("t", replace(stronger, strength=0.9))
    for store, one in ((source, again), (target, theirs)):
        store.links.dissociate("t", one.source, one.target, None)
        store.links.associate("t", replace(one, created_at=LATER))
    copied, found = copy_and_verify(source, target)
    assert (copied.links, copied.kept.count, found.differences.count) == (2, 1, 1)
    assert (found.differences.first[0].what, found.differences.first[0].why) == (
        "link",
        Why.CHANGED,
    )
    there = {one.source: one for one in target.links.scan("t")}
    assert there[a.id] == replace(stronger, strength=0.9)
    assert there[b.id] == replace(again, created_at=LATER)
    assert there[c.id].created_at == LATER
    copied, found = copy_and_verify(source, target, overwrite=True)
    assert (copied.links, found.differences.count) == (1, 0)
    assert set(target.links.scan("t")) == set(source.links.scan("t"))


def test_vectors_of_a_second_embedder_that_never_arrived_are_added(pair: Pair) -> None:
    source, target = pair
    fill(source)
    copy_store(source, target)
    target.vectors.forget_embedders("t", OTHER)
    copied = copy_store(source, target)
    assert copied.replaced > 0
    assert everything(target) == everything(source)


def test_vectors_that_only_the_target_has_are_told(files: Pair) -> None:
    source, target = files
    (record,) = add(source, memory("waits"))
    add(source, memory("done"), made=pieces(1))
    copy_store(source, target)
    place = target.recall.key_of("t", record.id)
    assert place is not None
    target.vectors.put("t", [(place[1], "waits", pieces(1))])
    assert [one.id for one in copy_store(source, target).kept.first] == [record.id]


def test_uses_beyond_counting_are_copied(files: Pair) -> None:
    source, target = files
    (record,) = add(source, memory("tea"))
    copy_store(source, target)
    write(source, Remove(id=record.id))
    (used,) = add(source, replace(record, uses=2**62, used_at=LATER))
    assert copy_store(source, target).replaced == 1
    assert target.archive.get("t", [used.id]) == [used]


def test_one_tenant_alone(pair: Pair) -> None:
    source, target = pair
    fill(source)
    copied, found = copy_and_verify(source, target, tenants=["acme"])
    assert (copied.memories, copied.tenants, target.upkeep.tenants()) == (20, 1, ["acme"])
    assert [one.tenant for one in found.tenants] == ["acme"]
    with pytest.raises(NotFound, match="no tenant 'acm'"):
        copy_store(source, target, tenants=["acm"])


def test_an_id_that_another_tenant_has_is_another_memory_in_a_file(files: Pair) -> None:
    source, target = files
    (record,) = add(source, memory("mine"))
    (theirs,) = add(target, replace(record, tenant="another", text="theirs"))
    assert copy_and_verify(source, target)[1].differences.count == 0
    assert target.archive.get("another", [record.id]) == [theirs]
    assert target.archive.get("t", [record.id]) == [record]


def test_an_id_that_another_tenant_has_is_another_memory_on_a_server(place: Place) -> None:
    with closing(opened(place("sqlite"))) as file, closing(opened(place("postgres"))) as server:
        (record,) = add(file, memory("mine"))
        (theirs,) = add(server, replace(record, tenant="another", text="theirs"))
        assert copy_and_verify(file, server)[1].differences.count == 0
        assert server.archive.get("another", [record.id]) == [theirs]
        assert server.archive.get("t", [record.id]) == [record]
        with closing(opened(place("sqlite"))) as small:
            assert copy_and_verify(server, small)[1].differences.count == 0
            assert small.archive.get("another", [record.id]) == [theirs]


def test_a_dry_run_tells_and_writes_nothing(pair: Pair) -> None:
    source, target = pair
    fill(source)
    add(target, memory("own"))
    before = everything(target)
    dry = copy_store(source, target, dry_run=True)
    assert everything(target) == before
    assert dry == copy_store(source, target)
    assert (dry.memories, dry.links, dry.feedback) == (60, 9, 18)


def test_a_store_is_not_copied_onto_itself(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(opened(path)) as store:
        add(store, memory("tea"))
    (tmp_path / "alias.db").symlink_to(path)
    shutil.copy(path, tmp_path / "copy.db")
    with closing(opened(path)) as source:
        for name in ("memory.db", "alias.db", "copy.db"):
            same = opened(tmp_path / name)
            with closing(same), pytest.raises(InvalidInput, match="same store"):
                copy_store(source, same)


def test_two_copies_into_one_target_do_not_meet(pair: Pair) -> None:
    source, target = pair
    fill(source, 12)
    with target.upkeep.alone("copy"), pytest.raises(StoreBusy, match="Another copy"):
        copy_store(source, target)
    assert copy_store(source, target).memories == 12


def test_a_difference_is_found_and_named(files: Pair) -> None:
    source, target = files
    fill(source)
    copy_store(source, target)
    lost = everything(source).order["acme"][3]
    write(target, Remove(id=lost), tenant="acme")
    found = verify(source, target)
    assert [(one.what, one.id, one.why) for one in found.differences.first] == [
        ("memory", lost, Why.MISSING)
    ]
    assert {one.tenant for one in found.tenants if one.source != one.target} == {"acme"}
    linked = everything(source).order["t"][0]
    write(target, Remove(id=linked))
    whats = [one.what for one in verify(source, target).differences.first]
    assert sorted(whats) == ["feedback", "feedback", "link", "memory", "memory"]
    assert copy_and_verify(source, target)[1].differences.count == 0


def test_many_differences_are_counted_and_few_told(files: Pair) -> None:
    source, target = files
    fill(source)
    found = verify(source, target)
    assert found.differences.count == 60 + 9 + 18 + 9 * len(COPIED) + 23 + 9  # entities, claims
    assert len(found.differences.first) == 10
    assert {one.target for one in found.tenants} == {"0" * 32}


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e300, 1e300) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "text": TEXT,
                "metadata": st.dictionaries(TEXT, JSON, max_size=3),
                "importance": st.floats(0, 1),
                "speaker": st.none() | TEXT,
                "happened_at": st.integers(-(10**15), 10**15).map(
                    lambda micros: NOW + timedelta(microseconds=micros)
                ),
            }
        ),
        min_size=1,
        max_size=5,
    ),
    TEXT,
    st.floats(0, 1),
)
def test_any_value_arrives_as_it_was(made: list[dict[str, Any]], odd: str, share: float) -> None:
    with closing(SqliteStore(":memory:")) as source, closing(SqliteStore(":memory:")) as target:
        records = add(source, *[memory(**one) for one in made])
        revise(source, records[0].id, text=odd, metadata={odd: share})
        linked = Association(
            source=records[0].id, target=records[-1].id, type=odd, strength=share, created_at=NOW
        )
        source.links.associate("t", linked)
        source.archive.note_feedback("t", records[0].id, useful=True, query=odd, at=LATER)
        _, found = copy_and_verify(source, target)
        assert found.differences.count == 0
        assert everything(target) == everything(source)
        kept = {one.id: repr(one.metadata) for _, one in target.archive.scan("t")}
        assert kept == {one.id: repr(one.metadata) for _, one in source.archive.scan("t")}


def test_a_copy_is_searched_like_its_source(place: Place) -> None:
    here = place("sqlite")
    with Memory(here) as memory:
        memory.add("Ana moved to Lisbon", user_id="ana")
        memory.add("Ben likes green tea", user_id="ana")
        wanted = [(hit.memory.id, hit.score) for hit in memory.search("Lisbon?", user_id="ana")]
    there = place("sqlite")
    with closing(opened(here)) as source, closing(opened(there)) as target:
        copy_store(source, target)
    with Memory(there) as memory:
        assert memory.stats().pending == 0
        found = [(hit.memory.id, hit.score) for hit in memory.search("Lisbon?", user_id="ana")]
    assert [id for id, _ in found] == [id for id, _ in wanted]
