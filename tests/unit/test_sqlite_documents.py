"""Documents in a SQLite file: erased to the last byte, guarded, migrated to, found by an index."""

from __future__ import annotations

import itertools
import random
import re
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from remanence.errors import StoreCorrupt
from remanence.model.document import Address, Discard, Put, Shelf
from remanence.model.filter import parse_filter
from remanence.model.memory import Kind
from remanence.model.scope import Reach
from remanence.store import documents
from remanence.store.conditions import Condition
from remanence.store.sqlite import SqliteStore, restore
from remanence.store.sqlite import database as schema
from remanence.store.sqlite.database import reached
from remanence.store.sqlite.session import migrations, sql, statement
from remanence.testing.store_suites.making import FINGERPRINT, NOW, add, block, healthy, memory, put
from support.older import lent

LETTERS = "abcdefghijklmnoprstuvwz"
EVERY = Reach(tenant="t", all_users=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with three blocks, two of which keep every version."""
    path = tmp_path / "memory.db"
    store = SqliteStore(path)
    for name in ("kept", "also kept"):
        put(store, block(name), {"n": 1}, keep=True)
        put(store, block(name), {"n": 2}, keep=True, expires_at=NOW + timedelta(days=1))
    put(store, block("bare"), {"n": 3})
    store.close()
    return path


def raw(path: Path, statement: str) -> None:
    """Change the file behind the store's back."""
    connection = apsw.Connection(str(path))
    connection.execute(statement)
    connection.close()


def examined(store: SqliteStore, repair: bool) -> dict[str, tuple[int, int, str]]:
    found = store.upkeep.doctor(repair=repair, fingerprint=FINGERPRINT)
    return {one.check: (one.problems, one.repaired, one.detail) for one in found if one.problems}


def everything(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def left(path: Path, secrets: set[bytes]) -> set[bytes]:
    """Those of the secrets that are anywhere in the files."""
    files = everything(path)
    return {secret for secret in secrets if secret in files}


def canary(chance: random.Random) -> str:
    return "q" + "".join(chance.choices(LETTERS, k=15))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["discard", "expire"])
def test_erased_documents_leave_no_bytes(tmp_path: Path, how: str) -> None:
    chance = random.Random(1)  # how many copies stay behind depends on how pages fill
    path = tmp_path / "memory.db"
    store = SqliteStore(path, durability="normal")
    secrets: dict[bool, set[bytes]] = {True: set(), False: set()}
    gone = []
    for number in range(400):
        goes, words = number % 4 == 0, [canary(chance) for _ in range(8)]
        secrets[goes] |= {word.encode() for word in words}
        name, user, agent, session = words[:4]
        address = Address(
            shelf=Shelf.SESSION, name=name, user_id=user, agent_id=agent, session_id=session
        )
        told: dict[str, Any] = {"author": words[4], "reason": words[5], "keep": True}
        told |= {"expires_at": NOW} if goes else {}
        for word in words[6:]:
            put(store, address, {"x": f"{word} " * chance.choice([1, 600])}, **told)
        gone += [address] if goes else []
    assert left(path, secrets[True]) == secrets[True]
    if how == "discard":
        store.documents.put("t", [Discard(address=address) for address in gone])
    else:
        assert len(store.documents.expire("t", Shelf.SESSION, NOW)) == 100
    assert len(left(path, secrets[True])) <= len(secrets[True]) / 100
    store.upkeep.compact()
    assert left(path, secrets[True]) == set()
    assert left(path, secrets[False]) == secrets[False]
    store.close()


def test_a_replaced_document_leaves_nothing_of_what_stood_there(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SqliteStore(path)
    made = put(store, block("b"), {"x": "qcanaryqcanary"}, keep=True)
    bare = made.__class__(address=made.address, value={}, version=1, created_at=NOW, updated_at=NOW)
    store.documents.adopt("t", [(bare, ())])
    assert b"qcanaryqcanary" not in everything(path)
    store.close()


DAMAGES = {
    "value": "value = '{\"n\": 9}'",
    "invalid text": "value = CAST(x'ff00fe' AS TEXT)",
    "no json": "value = '{'",
    "time": "updated_at = 5",
    "expiry": "expires_at = NULL",
    "digest": "digest = x'00'",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_document_is_mended_from_its_edition(path: Path, damage: str) -> None:
    raw(path, f"UPDATE documents SET {damage} WHERE name = 'kept'")
    store = SqliteStore(path)
    with pytest.raises(StoreCorrupt):
        store.documents.get("t", [block("kept")])
    assert examined(store, repair=False)["documents"] == (1, 0, "block 'kept'")
    assert examined(store, repair=True)["documents"] == (1, 1, "block 'kept'")
    assert healthy(store)
    (found,) = store.documents.get("t", [block("kept")])
    assert (found.value, found.version, found.updated_at) == ({"n": 2}, 2, NOW)
    store.close()


@pytest.mark.parametrize("damage", ["value = '{}'", "user_id = 'thief'", "version = 7"])
def test_what_no_edition_can_mend_is_told_until_it_is_put_anew(path: Path, damage: str) -> None:
    raw(path, f"UPDATE documents SET {damage} WHERE name = 'bare'")
    store = SqliteStore(path)
    with pytest.raises(StoreCorrupt, match="block 'bare'"):
        store.documents.shelved(EVERY, Shelf.BLOCK)
    for repair in (False, True, False):
        assert examined(store, repair)["documents"] == (1, 0, "block 'bare'")
    user = "thief" if "thief" in damage else None
    store.documents.put("t", [Discard(address=block("bare", user))])
    assert healthy(store)
    store.close()


def test_a_damaged_place_does_not_cost_the_editions(path: Path) -> None:
    raw(path, "UPDATE documents SET user_id = 'thief' WHERE name = 'kept'")
    store = SqliteStore(path)
    assert set(examined(store, repair=True)) == {"documents"}
    store.close()
    raw(path, "UPDATE documents SET user_id = '' WHERE name = 'kept'")
    store = SqliteStore(path)
    assert healthy(store)
    assert len(store.documents.editions("t", block("kept"))) == 2
    store.close()


@pytest.mark.parametrize("damage", ["value = '{}'", "reason = 'forged'", "version = 9", "at = 1"])
def test_a_damaged_edition_is_given_up(path: Path, damage: str) -> None:
    raw(path, f"UPDATE editions SET {damage} WHERE id = 1")
    store = SqliteStore(path)
    with pytest.raises(StoreCorrupt):
        store.documents.editions("t", block("kept"))
    assert examined(store, repair=False)["editions"] == (1, 0, "block 'kept'")
    assert examined(store, repair=True)["editions"] == (1, 1, "block 'kept'")
    assert [one.version for one in store.documents.editions("t", block("kept"))] == [2]
    assert healthy(store)
    store.close()


def test_stray_editions_are_removed(path: Path) -> None:
    raw(path, "DELETE FROM documents WHERE name = 'kept'")
    store = SqliteStore(path)
    assert examined(store, repair=True) == {"stray editions": (2, 2, "")}
    assert healthy(store)
    store.close()


def test_a_copy_with_a_forged_document_is_not_restored(path: Path, tmp_path: Path) -> None:
    store = SqliteStore(path)
    store.upkeep.backup(tmp_path / "copy")
    store.upkeep.backup(tmp_path / "forged")
    before = list(store.documents.scan("t"))
    store.close()
    raw(tmp_path / "forged", "UPDATE editions SET value = '{}'")
    with pytest.raises(StoreCorrupt, match="4 damaged documents"):
        restore(tmp_path / "forged", path)
    restore(tmp_path / "copy", path)
    store = SqliteStore(path)
    assert list(store.documents.scan("t")) == before
    store.close()


def test_a_file_of_the_schema_before_documents_opens_and_restores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, before = tmp_path / "memory.db", migrations()[:2]
    with monkeypatch.context() as older:
        older.setattr(schema, "migrations", lambda: before)
        store = SqliteStore(path)
        with store._database.connections.alone() as own, lent(own.execute):
            records = add(store, *[memory(f"m{n}", session_id=f"s{n % 2}") for n in range(10)])
        assert store.upkeep.schema == 2
        store.upkeep.backup(tmp_path / "copy")
        store.close()
    restore(tmp_path / "copy", tmp_path / "restored.db")
    for file in (path, tmp_path / "restored.db"):
        store = SqliteStore(file)
        assert store.upkeep.schema == len(migrations())
        assert len(store.archive.find(Reach(tenant="t", session_id="s1"))) == 5
        assert store.archive.get("t", [records[0].id]) == [records[0]]
        put(store, block("b"), {"n": 1}, keep=True)
        assert healthy(store)
        assert "memories_by_session" in "".join(plan(store, *newest("s1")))
        store.close()


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    store = SqliteStore(":memory:")
    yield store
    store.close()


def plan(store: SqliteStore, text: str, values: Any) -> list[str]:
    with store._database.reading() as connection:
        return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", values)]


def newest(session: str | None, name: str = "find_newest") -> tuple[str, tuple[Any, ...]]:
    where = parse_filter({"field.kind": {"in": [Kind.MESSAGE]}, "field.state": "active"})
    condition = reached([1], Reach(tenant="t", session_id=session), where)
    return statement(name, condition), (*condition.values, 40, 0)


@pytest.mark.parametrize("name", ["find_newest", "find_oldest"])
def test_the_messages_of_a_session_are_an_index_walk(store: SqliteStore, name: str) -> None:
    steps = plan(store, *newest("s", name))
    assert steps[0] == "SEARCH m USING INDEX memories_by_session (partition=? AND session_id=?)"
    assert not any("B-TREE" in step for step in steps)


def test_sessions_are_read_from_the_index_alone(store: SqliteStore) -> None:
    condition = reached([1], Reach(tenant="t"), None)
    steps = plan(store, statement("spans", condition), (*condition.values, 40, 0))
    assert "USING COVERING INDEX memories_by_session (partition=? AND session_id>?)" in steps[0]
    assert steps[1:] == ["USE TEMP B-TREE FOR ORDER BY"]


SHELVED = {
    "COVERING INDEX documents_by_time": Reach(tenant="t", user_id="u"),
    "COVERING INDEX documents_by_time (tenant=? AND shelf=?)": Reach(tenant="t", all_users=True),
    "INDEX sqlite_autoindex_documents_1": Reach(tenant="t", user_id="u", session_id="s"),
}


@pytest.mark.parametrize("index", SHELVED)
def test_a_shelf_is_read_through_an_index(store: SqliteStore, index: str) -> None:
    condition: Condition = documents.within(SHELVED[index])
    asked = ("t", "working", *condition.values, 40, 0)
    steps = plan(store, statement("shelved", condition), asked)
    assert f"SEARCH d USING {index}" in steps[1]
    assert steps.count("USE TEMP B-TREE FOR ORDER BY") == (1 if steps[2] == "SCAN chosen" else 2)


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("document_at", "INDEX sqlite_autoindex_documents_1"),
        ("expired", "INDEX documents_by_expiry"),
        ("documents_after", "INDEX sqlite_autoindex_documents_1"),
        ("editions", "INDEX sqlite_autoindex_editions_1"),
    ],
)
def test_documents_are_found_through_an_index(store: SqliteStore, name: str, index: str) -> None:
    named = dict.fromkeys(re.findall(r":(\w+)", sql(name)))
    steps = plan(store, sql(name), named or [None] * sql(name).count("?"))
    assert any(f"USING {index}" in step for step in steps)
    assert all("VIRTUAL TABLE" in step for step in steps if step.startswith("SCAN")), steps


@pytest.mark.slow
def test_a_reader_of_several_documents_sees_one_moment(tmp_path: Path) -> None:
    path, stop = tmp_path / "memory.db", threading.Event()
    store = SqliteStore(path, durability="normal")
    addresses = [block(name) for name in ("a", "b")]
    for address in addresses:
        put(store, address, {"n": -1}, keep=True)

    def write_on() -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            told: dict[str, Any] = {"value": {"n": number}, "at": NOW, "keep": number % 9 == 0}
            store.documents.put("t", [Put(address=address, **told) for address in addresses])

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        moments: list[list[Any]] = []
        while len(moments) < 500 or moments[-1] == moments[0]:  # the writer may be late
            moments.append([one.value for one in store.documents.get("t", addresses)])
        kept = [(document.version, editions) for document, editions in store.documents.scan("t")]
    finally:
        stop.set()
        writer.join()
        store.close()
    assert all(first == second for first, second in moments)
    assert len({str(moment) for moment in moments}) > 1
    assert all(editions[-1].version <= version for version, editions in kept)
