"""Knowledge in a copy, both ways between SQLite and PostgreSQL, and when both sides learnt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from remanence.model.memory import State
from remanence.model.ports.store import Store
from remanence.model.write import Insert, Remove, Revise
from remanence.testing.store_suites.making import (
    EVERY,
    NOW,
    add,
    claim,
    entity,
    found,
    healthy,
    memory,
    mention,
    named,
    revise,
    write,
)
from remanence.tools.transfer import pairs
from remanence.tools.transfer.entries import Why
from remanence.tools.transfer.store_copy import copy_store
from remanence.tools.transfer.verification import copy_and_verify, verify
from support.copies import everything, fill
from support.places import Place, opened, places

WAYS = ["sqlite to sqlite", "sqlite to postgres", "postgres to sqlite", "postgres to postgres"]
ANA, OSLO, ROME = entity("Ana", type="person"), entity("Oslo"), entity("Rome")
HOUR = timedelta(hours=1)

Pair = tuple[Store, Store]


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    with places(tmp_path, request) as made:
        yield made


@pytest.fixture(params=WAYS)
def pair(place: Place, request: pytest.FixtureRequest) -> Iterator[Pair]:
    one, _, other = request.param.partition(" to ")
    with closing(opened(place(one))) as source, closing(opened(place(other))) as target:
        yield source, target


def told(store: Store) -> tuple[str, str]:
    """The ids of a memory that says where Ana lives, and of that claim."""
    record = memory("Ana lives in Oslo")
    said = claim(ANA, "lives in", OSLO, memory=record.id)
    learnt = found(record, said, names=(ANA, OSLO))
    write(store, Insert(record=record), learnt=(learnt,))
    return record.id, said.id


def test_knowledge_is_copied_whole(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "KNOWN", 7)
    source, target = pair
    fill(source)
    copied, found = copy_and_verify(source, target)
    mine = everything(source)
    known = sum(map(len, mine.entities.values())) + len(mine.claims) + len(mine.mentions)
    assert copied.knowledge == known > 100
    assert found.differences.count == 0
    assert all(one.source == one.target for one in found.tenants)
    assert everything(target) == mine
    for tenant in source.upkeep.tenants():
        reach = replace(EVERY, tenant=tenant)
        assert target.knowledge.claims(reach) == source.knowledge.claims(reach)
    assert healthy(target)
    again = copy_store(source, target)
    assert (again.knowledge, again.kept.count) == (0, 0)


def test_knowledge_alone_is_a_tenant(pair: Pair) -> None:
    source, target = pair
    source.knowledge.know("only", [ANA], [claim(ANA, "is", "tall")])
    assert copy_store(source, target, dry_run=True).knowledge == 2
    assert target.upkeep.tenants() == []
    copied, found = copy_and_verify(source, target)
    assert (copied.knowledge, copied.memories, found.differences.count) == (2, 0, 0)
    assert found.tenants[0].source == found.tenants[0].target != "0" * 32


def test_one_tenant_only(pair: Pair) -> None:
    source, target = pair
    for tenant in ("a", "b"):
        source.knowledge.know(tenant, [ANA], [claim(ANA, "is", tenant)])
    target.knowledge.know("b", [ROME])
    assert copy_store(source, target, tenants=["a"]).knowledge == 2
    assert list(target.knowledge.scan("b")) == [ROME]
    assert list(target.knowledge.scan("a")) == list(source.knowledge.scan("a"))


def test_verifying_tells_what_is_missing(pair: Pair) -> None:
    source, target = pair
    id, said = told(source)
    copy_store(source, target)
    target.knowledge.forget(EVERY)
    lacking = verify(source, target).differences
    assert sorted((one.what, one.id, one.why) for one in lacking.first) == sorted([
        ("entity", ANA.id, Why.MISSING), ("entity", OSLO.id, Why.MISSING),
        ("claim", said, Why.MISSING), ("mention", id, Why.MISSING), ("mention", id, Why.MISSING),
    ])  # fmt: skip
    digests = verify(source, target).tenants[0]
    assert digests.source != digests.target
    assert copy_and_verify(source, target)[1].differences.count == 0


def test_what_the_source_learnt_anew_is_brought_up_to_date(pair: Pair) -> None:
    source, target = pair
    id, _ = told(source)
    copy_store(source, target)
    new = claim(ANA, "lives in", ROME, memory=id, recorded_at=NOW + HOUR)
    edit = Revise(id=id, changes={"text": "Ana lives in Rome"}, verb="update", at=NOW + HOUR)
    record = source.archive.get("t", [id])[0]
    write(source, edit, learnt=(found(record, new, names=(ANA, ROME)),))
    source.knowledge.know(
        "t", [replace(OSLO, type="place", given=True)], [claim(OSLO, "is", "cold")]
    )
    assert verify(source, target).differences.count >= 3
    copied, compared = copy_and_verify(source, target)
    assert copied.replaced == 1
    assert compared.differences.count == 0
    assert everything(target) == everything(source)
    assert target.knowledge.claims(EVERY)[0].retired_at == NOW + HOUR


def test_what_rests_in_the_source_rests_in_the_target(pair: Pair) -> None:
    source, target = pair
    id, _ = told(source)
    copy_store(source, target)
    revise(source, id, state=State.ARCHIVED, at=NOW + HOUR)
    assert copy_and_verify(source, target)[1].differences.count == 0
    assert everything(target) == everything(source)
    assert target.knowledge.mention_counts(EVERY) == {}
    assert target.knowledge.claims(EVERY)[0].rested_at == NOW + HOUR


def test_what_only_the_target_knows_stays(pair: Pair) -> None:
    source, target = pair
    id, said = told(source)
    copy_store(source, target)
    own = claim(ANA, "likes", ROME)
    target.knowledge.know("t", [ROME], [own])
    write(source, Remove(id=id))
    source.knowledge.know("t", [ANA], [claim(ANA, "is", "tall")])
    assert copy_and_verify(source, target)[1].differences.count == 0
    assert {one.id for one in target.knowledge.claims(EVERY)} > {own.id, said}
    assert named(target) == ["Ana", "Oslo", "Rome"]


def test_a_memory_that_went_another_way_keeps_what_it_says(pair: Pair) -> None:
    source, target = pair
    id, _ = told(source)
    copy_store(source, target)
    record = target.archive.get("t", [id])[0]
    edit = Revise(id=id, changes={"text": "Ana left"}, verb="update", at=NOW + HOUR)
    write(target, edit, learnt=(found(record, names=(ANA,)),))
    better = claim(ANA, "lives in", ROME, memory=id)
    write(source, learnt=(found(record, better, names=(ANA, ROME)),))
    copied, compared = copy_and_verify(source, target)
    assert [(one.what, one.why) for one in copied.kept.first] == [("memory", Why.CHANGED)]
    assert compared.differences.count == 1
    assert [one.retired_at is None for one in target.knowledge.claims(EVERY)] == [False]
    assert target.knowledge.mention_counts(EVERY) == {ANA.id: 1}
    copied, compared = copy_and_verify(source, target, overwrite=True)
    assert (copied.replaced, compared.differences.count) == (1, 0)
    assert everything(target) == everything(source)


def test_an_entity_that_both_met_has_each_ones_name(pair: Pair) -> None:
    source, target = pair
    mine = entity("ANA", given=True)
    theirs = entity("Ana", type="person", created_at=NOW + HOUR)
    source.knowledge.know("t", [mine])
    target.knowledge.know("t", [theirs])
    copied, compared = copy_and_verify(source, target)
    assert (copied.knowledge, copied.kept.count, compared.differences.count) == (1, 0, 0)
    assert target.knowledge.entities(EVERY) == [replace(theirs, given=True)]
    assert copy_store(source, target).knowledge == 0


def test_a_claim_that_differs_is_kept_and_told(pair: Pair) -> None:
    source, target = pair
    mine = claim(ANA, "is", "tall")
    for store, one in ((source, mine), (target, replace(mine, value="short"))):
        store.knowledge.know("t", [ANA], [one])
    copied, compared = copy_and_verify(source, target)
    (kept,) = copied.kept.first
    assert (kept.what, kept.id, kept.why) == ("claim", mine.id, Why.CHANGED)
    assert compared.differences.count == 1
    assert copy_and_verify(source, target, overwrite=True)[1].differences.count == 0
    assert target.knowledge.claims(EVERY) == [mine]
    assert everything(target) == everything(source)


def test_what_was_erased_in_the_target_meanwhile_is_left_out(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = pair
    (record,) = add(source, memory("x"))
    source.knowledge.know(
        "t", [ANA], [claim(ANA, "is", "x", memory=record.id)], [mention(record, ANA)]
    )
    source.knowledge.know("t", [], [claim(ANA, "is", "tall")])
    scan = source.knowledge.scan

    def overtaken(tenant: str) -> Iterator[pairs.Known]:
        write(target, Remove(id=record.id))
        yield from scan(tenant)

    monkeypatch.setattr(source.knowledge, "scan", overtaken)
    assert copy_store(source, target).knowledge == 2
    assert [one.value for one in target.knowledge.claims(EVERY)] == ["tall"]
