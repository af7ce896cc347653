"""Documents in a copy, both ways between SQLite and PostgreSQL, and when both sides changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from remanence.model.document import Address, Discard, Document, Put, Shelf
from remanence.model.ports.store import Store
from remanence.testing.store_suites.making import NOW, add, link, memory
from remanence.tools.transfer import pairs
from remanence.tools.transfer.entries import Why
from remanence.tools.transfer.store_copy import copy_store
from remanence.tools.transfer.verification import copy_and_verify, verify
from support.copies import COPIED, everything, fill_documents
from support.places import Place, opened, places

WAYS = ["sqlite to sqlite", "sqlite to postgres", "postgres to sqlite", "postgres to postgres"]
BLOCK = Address(shelf=Shelf.BLOCK, name="human", user_id="ana", agent_id="bot")
SESSION = Address(shelf=Shelf.SESSION, name="s1")

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


def put(store: Store, address: Address, text: str, second: int = 0, **more: Any) -> Document:
    at = NOW + timedelta(seconds=second)
    keep = address.shelf is Shelf.BLOCK
    [done] = store.documents.put(
        "t", [Put(address=address, value={"value": text}, at=at, keep=keep, **more)]
    )
    return done


def standing(store: Store, address: Address) -> list[Document]:
    return store.documents.get("t", [address])


def test_documents_alone_are_a_tenant(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "DOCUMENTS", 4)
    source, target = pair
    fill_documents(source, "only documents")
    copied, found = copy_and_verify(source, target)
    assert (copied.documents, copied.memories, copied.tenants) == (3 * len(COPIED), 0, 1)
    assert found.differences.count == 0
    assert found.tenants[0].source == found.tenants[0].target != "0" * 32
    assert everything(target) == everything(source)
    again = copy_store(source, target)
    assert (again.documents, again.kept.count) == (0, 0)


def test_what_the_source_changed_is_brought_up_to_date(pair: Pair) -> None:
    source, target = pair
    for address in (BLOCK, SESSION):
        put(source, address, "one")
    copy_store(source, target)
    for address in (BLOCK, SESSION):
        put(source, address, "two", 1)
        put(source, address, "three", 2)
    found = verify(source, target).differences
    assert [(one.what, one.why) for one in found.first] == [("document", Why.DIFFERS)] * 2
    assert copy_store(source, target).documents == 2
    assert everything(target) == everything(source)


def test_what_changed_in_the_target_is_kept_and_told(pair: Pair) -> None:
    source, target = pair
    for address in (BLOCK, SESSION):
        put(source, address, "one")
    copy_store(source, target)
    mine = [put(target, address, "theirs", 5) for address in (BLOCK, SESSION)]
    put(source, BLOCK, "two", 1)
    put(source, BLOCK, "three", 9)
    copied, found = copy_and_verify(source, target)
    assert copied.documents == 0
    assert {(one.what, one.id, one.why) for one in found.differences.first} == {
        ("document", "block human (user ana, agent bot)", Why.CHANGED),
        ("document", "session s1", Why.CHANGED),
    }
    assert [*standing(target, BLOCK), *standing(target, SESSION)] == mine
    assert copy_store(source, target, overwrite=True).documents == 2
    assert everything(target) == everything(source)


def test_what_only_the_target_has_stays(pair: Pair) -> None:
    source, target = pair
    put(source, BLOCK, "one")
    own = put(target, SESSION, "own")
    copied, found = copy_and_verify(source, target)
    assert (copied.documents, found.differences.count) == (1, 0)
    assert standing(target, SESSION) == [own]
    source.documents.put("t", [Discard(address=BLOCK)])
    copy_store(source, target)
    assert standing(target, BLOCK)


def test_one_made_anew_is_not_the_one_that_was_copied(pair: Pair) -> None:
    source, target = pair
    put(source, SESSION, "one")
    copy_store(source, target)
    source.documents.put("t", [Discard(address=SESSION)])
    put(source, SESSION, "new", 3)
    assert copy_store(source, target).kept.count == 1
    assert copy_store(source, target, overwrite=True).documents == 1
    assert standing(target, SESSION) == standing(source, SESSION)


def test_a_dry_run_and_one_tenant(pair: Pair) -> None:
    source, target = pair
    for tenant in ("a", "b"):
        fill_documents(source, tenant)
    assert copy_store(source, target, dry_run=True).documents == 2 * 3 * len(COPIED)
    assert target.upkeep.tenants() == []
    fill_documents(target, "b", each=1)
    before = {at: one for at, one in everything(target).documents.items() if at[0] == "b"}
    assert copy_store(source, target, tenants=["a"]).documents == 3 * len(COPIED)
    after = everything(target).documents
    assert {at: one for at, one in after.items() if at[0] == "b"} == before
    assert {at: one for at, one in after.items() if at[0] == "a"} == {
        at: one for at, one in everything(source).documents.items() if at[0] == "a"
    }


def test_many_links_go_together(pair: Pair) -> None:
    source, target = pair
    records = [memory(f"tea {n}") for n in range(40)]
    add(source, *records)
    add(target, *records[:30])
    for one, other in pairwise(records):
        source.links.associate("t", link(one, other))
    assert copy_store(source, target).links == 39
    assert set(target.links.scan("t")) == set(source.links.scan("t"))


def test_what_is_written_to_the_target_meanwhile_is_kept(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = pair
    for store in pair:
        put(store, BLOCK, "one")
    put(source, BLOCK, "two", 1)
    put(source, SESSION, "source")
    adopt = target.documents.adopt

    def overtaken(*given: Any) -> None:
        monkeypatch.setattr(target.documents, "adopt", adopt)
        put(target, BLOCK, "acknowledged", 2)
        put(target, SESSION, "acknowledged", 2)
        adopt(*given)

    monkeypatch.setattr(target.documents, "adopt", overtaken)
    copied = copy_store(source, target)
    assert (copied.documents, copied.kept.count) == (0, 2)
    for address in (BLOCK, SESSION):
        assert standing(target, address)[0].value == {"value": "acknowledged"}
    assert [one.value["value"] for one in target.documents.editions("t", BLOCK)] == [
        "one",
        "acknowledged",
    ]
