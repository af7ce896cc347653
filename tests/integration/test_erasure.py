"""Erasing through the memory: receipts, caches, and backups that do not bring anything back."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.config.assembly import restore_store
from remanence.errors import Conflict, InvalidInput, StoreCorrupt
from remanence.layers.erasure.receipts import Erasures, told_of
from remanence.model.clock import SystemClock
from remanence.model.document import Address, Put, Shelf
from remanence.model.erasure import By, Erasure, Forgotten, Stage
from remanence.model.scope import Reach

SECRET = "the zorblax is under the stairs"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_url"))
    return str(tmp_path / "memory.db")


@pytest.fixture
def memory(database: str) -> Iterator[Memory]:
    with Memory(database) as opened:
        yield opened


def erasures(memory: Memory) -> Erasures:
    return Erasures(memory.parts.store, memory.tenant)


def receipt_of(forgotten: Forgotten) -> Erasure:
    assert forgotten.receipt is not None
    return forgotten.receipt


def fill(memory: Memory) -> list[str]:
    made = memory.add_many([SECRET, "Ana lives in Lisbon", "Tom likes tea"], user_id="ana")
    memory.add("of bob", user_id="bob")
    memory.blocks.create("human", value=SECRET, user_id="ana")
    memory.sessions.create("s", user_id="ana", data={"secret": SECRET})
    memory.working.set("task", SECRET, session_id="s", user_id="ana")
    memory.facts.add("Ana", "lives_in", SECRET, user_id="ana")
    return [record.id for record in made]


def everything(memory: Memory, user: str) -> tuple[int, int, int, int]:
    return (
        memory.count(user_id=user, states="any"),
        sum(SECRET in block.value for block in memory.blocks.list(user_id=user)),
        len(memory.sessions.active(user_id=user)),
        len(memory.facts.about("Ana", user_id=user)),
    )


def test_every_erasure_gives_a_receipt(memory: Memory) -> None:
    ids = fill(memory)
    assert memory.forget(ids[1]).receipt is None
    assert memory.forget(ids[0], erase=True, dry_run=True).receipt is None
    by_id = receipt_of(memory.forget(ids[0], erase=True))
    assert (by_id.asked.by, by_id.ids) == (By.IDS, (ids[0],))
    filtered = memory.forget(filters={"field.kind": "episodic", "text": {"contains": "tea"}},
                             user_id="ana", erase=True)  # fmt: skip
    by_filter = receipt_of(filtered)
    assert by_filter.asked.filters == ("field.kind", "text")
    assert by_filter.ids == (ids[2],)
    by_scope = receipt_of(memory.forget(user_id="ana", erase=True))
    assert (by_scope.asked.by, by_scope.ids) == (By.SCOPE, (ids[1],))
    assert by_scope.counts["documents"] >= 3
    listed = erasures(memory).list()
    assert {one.id for one in listed} == {by_id.id, by_filter.id, by_scope.id}
    assert all(erasures(memory).verify(one) for one in listed)
    assert all("zorblax" not in json.dumps(told_of(one)) for one in listed)
    assert everything(memory, "ana") == (0, 0, 0, 0)
    assert memory.count(user_id="bob") == 1


def test_receipts_belong_to_their_tenant(memory: Memory, database: str) -> None:
    [id, *_] = fill(memory)
    receipt = receipt_of(memory.forget(id, erase=True))
    with Memory(database, tenant="other") as other:
        assert erasures(other).list() == []
        assert not erasures(other).verify(receipt)
        other.forget(all_users=True, erase=True)
    assert [one.id for one in erasures(memory).list()] == [receipt.id]


def test_a_key_that_wrote_what_was_erased_stays_used(memory: Memory) -> None:
    made = memory.add_many(["one", "two"], idempotency_key="zorblax-key")
    kept = memory.add("three", idempotency_key="other-key")
    memory.forget(made[0].id, erase=True)
    for text in ("one", "else"):
        with pytest.raises(Conflict, match="erased"):
            memory.add(text, idempotency_key="zorblax-key")
    assert memory.add("three", idempotency_key="other-key") == kept
    assert memory.get(made[1].id).text == "two"


def test_no_text_stays_in_the_embedders_cache(memory: Memory) -> None:
    record = memory.add(SECRET)
    memory.search("zorblax")
    assert memory.parts.embedder.bytes
    memory.forget(record.id, erase=True)
    assert memory.parts.embedder.bytes == 0


def test_a_backup_does_not_bring_back_what_was_erased(database: str, tmp_path: Path) -> None:
    with Memory(database) as memory:
        ids = fill(memory)
        memory.backup(tmp_path / "copy")
        by_id = receipt_of(memory.forget(ids[0], erase=True))
        memory.add("after the backup", user_id="ana")
    with Memory.restore(tmp_path / "copy", database) as memory:
        assert {record.id for record in memory.find(user_id="ana")} == set(ids[1:])
        assert everything(memory, "ana")[1:] == (1, 1, 1)
        assert [told_of(one) for one in erasures(memory).list()] == [told_of(by_id)]
        assert erasures(memory).verify(by_id)
        by_scope = receipt_of(memory.forget(user_id="ana", erase=True))
        assert not any(finding.problems for finding in memory.doctor())
    with Memory.restore(tmp_path / "copy", database) as memory:
        assert everything(memory, "ana") == (0, 0, 0, 0)
        assert memory.count(user_id="bob") == 1
        assert {one.id for one in erasures(memory).list()} == {by_id.id, by_scope.id}
        memory.add("Ana is back", user_id="ana")
        memory.backup(tmp_path / "later")
    with Memory.restore(tmp_path / "later", database) as memory:
        assert [record.text for record in memory.find(user_id="ana")] == ["Ana is back"]


def test_receipts_that_were_exported_protect_where_the_database_was_lost(
    database: str, tmp_path: Path, postgres_url: str
) -> None:
    with Memory(database) as memory:
        ids = fill(memory)
        memory.backup(tmp_path / "copy")
        receipt = receipt_of(memory.forget(ids[0], erase=True))
    file, elsewhere = tmp_path / "receipts.json", str(tmp_path / "elsewhere.db")
    if database.startswith("postgresql"):
        elsewhere = database
        with Memory(database) as memory:  # as if it were a new one
            memory.parts.store.documents.put(memory.tenant, _discarded(memory))
    file.write_text(json.dumps([told_of(receipt)]))
    with Memory.restore(tmp_path / "copy", elsewhere, receipts=file) as memory:
        assert ids[0] not in {record.id for record in memory.find(user_id="ana")}
        assert erasures(memory).list() == [receipt]


def _discarded(memory: Memory) -> list[Any]:
    from remanence.model.document import Discard

    store = memory.parts.store
    found = [document for document, _ in store.documents.scan(memory.tenant)]
    return [Discard(address=one.address) for one in found if one.address.shelf == "erasure"]


def test_receipts_of_another_store_are_refused(tmp_path: Path, database: str) -> None:
    with Memory(tmp_path / "other.db") as other:
        receipt = receipt_of(other.forget(other.add("x").id, erase=True))
    with Memory(database) as memory:
        memory.add("kept")
        memory.backup(tmp_path / "copy")
        memory.add("later")
    file = tmp_path / "receipts.json"
    file.write_text(json.dumps([told_of(receipt)]))
    with pytest.raises(InvalidInput, match="not signed"):
        Memory.restore(tmp_path / "copy", database, receipts=file)
    with Memory(database) as memory:
        assert memory.count() == 2


def test_a_backup_of_another_store_loses_only_the_same_memories(tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    with Memory(database) as memory:
        memory.add("of ana", user_id="ana")
        gone = receipt_of(memory.forget(all_users=True, erase=True))
    with Memory(tmp_path / "other.db") as other:
        kept = other.add("another's", user_id="ana")
        other.backup(tmp_path / "copy")
    with Memory.restore(tmp_path / "copy", database) as memory:
        assert [record.id for record in memory.find(user_id="ana")] == [kept.id]
        [told] = erasures(memory).list()
        assert (told.id, told.asked.by) == (gone.id, By.IDS)
        assert erasures(memory).verify(told)


def test_the_file_beside_the_database_protects_where_that_was_lost(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path) as memory:
        ids = fill(memory)
        memory.backup(tmp_path / "copy")
        receipt = receipt_of(memory.forget(ids[0], erase=True))
    beside = tmp_path / "memory.db.erasures"
    assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    assert b"zorblax" not in beside.read_bytes()
    path.unlink()
    with Memory.restore(tmp_path / "copy", path) as memory:
        assert [record.id for record in memory.find(user_id="ana")][::-1] == ids[1:]
        assert erasures(memory).list() == [receipt]
    path.write_bytes(b"garbage" * 1000)
    with Memory.restore(tmp_path / "copy", path) as memory:
        assert memory.count(user_id="ana") == 2


def test_an_older_file_put_in_place_by_hand_is_erased_anew(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path) as memory:
        ids = fill(memory)
        memory.backup(tmp_path / "copy")
        memory.forget(ids[0], erase=True)
        memory.forget(user_id="bob", erase=True)
    shutil.copy(tmp_path / "copy", path)
    with Memory(path, tenant="other") as other:
        assert erasures(other).list() == []
    with Memory(path) as memory:
        assert [record.id for record in memory.find(all_users=True)][::-1] == ids[1:]
        assert len(erasures(memory).list()) == 2
    assert b"zorblax is under" in (tmp_path / "copy").read_bytes()


def test_how_many_came_with_the_backup(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path) as memory:
        ids = fill(memory)
        memory.backup(tmp_path / "copy")
        memory.forget(ids[:2], erase=True)
        settings = memory.settings
    assert restore_store(tmp_path / "copy", settings) == 2
    assert restore_store(tmp_path / "copy", settings) == 2


def test_a_bad_backup_changes_nothing_though_there_are_receipts(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path) as memory:
        memory.forget(fill(memory)[0], erase=True)
    (tmp_path / "copy").write_bytes(b"garbage" * 1000)
    with pytest.raises(StoreCorrupt):
        Memory.restore(tmp_path / "copy", path)
    with Memory(path) as memory:
        assert memory.count(user_id="ana") == 2
        assert [one.status for one in erasures(memory).list()] == [Stage.COMPLETED]
        assert asdict(erasures(memory).list()[0])["tenant"] == "default"


def test_what_servers_keep_of_answers_goes_whoever_erases(memory: Memory) -> None:
    """An answer to a repeated call, or of a job, may hold what a memory says."""
    store, at = memory.parts.store, SystemClock().now()
    for name in ("0" * 64, "job 1"):
        answer = Address(shelf=Shelf.ANSWER, name=name)
        store.documents.put(memory.tenant, [Put(address=answer, value={"answer": SECRET}, at=at)])
    (first, *_) = fill(memory)
    memory.forget(first, erase=True)
    assert store.documents.shelved(Reach(tenant=memory.tenant), Shelf.ANSWER, limit=9) == []


def test_a_receipt_names_who_was_sent_texts_without_their_secrets(database: str) -> None:
    endpoint = "http://user:hush@llm.example:9/v1"
    with Memory(database, llm_url=endpoint, llm_model="m", embedder="none-here") as memory:
        memory.add("Ana likes tea", user_id="ana")
        told = " ".join(receipt_of(memory.forget(user_id="ana", erase=True)).remains)
    assert "The language model at llm.example" in told
    assert "hush" not in told
    assert "Logs and traces" in told
