"""Knowledge in a SQLite file: erased to the last byte, guarded, migrated to, found by an index."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from remanence.errors import StoreCorrupt
from remanence.model.knowledge import Claim, Learnt
from remanence.model.memory import MemoryRecord, State
from remanence.model.scope import Reach
from remanence.model.write import Insert, Remove
from remanence.recall.views import Views
from remanence.store.conditions import Condition, joined
from remanence.store.sqlite import SqliteStore, restore
from remanence.store.sqlite import database as schema
from remanence.store.sqlite.archive import about
from remanence.store.sqlite.session import Session, bound, migrations, sql, statement
from remanence.testing.store_suites.making import (
    ANA,
    BOB,
    EVERY,
    FINGERPRINT,
    NOW,
    OSLO,
    add,
    claim,
    entity,
    found,
    healthy,
    memory,
    named,
    partition_of,
    revise,
    values,
    write,
)
from support.older import lent

LETTERS = "abcdefghijklmnoprstuvwz"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store in which a memory says that Ana knows Bob, and a caller where Oslo is."""
    path = tmp_path / "memory.db"
    store = SqliteStore(path)
    record = memory("Ana knows Bob")
    said = claim(ANA, "knows", BOB, memory=record.id)
    write(store, Insert(record=record), learnt=(found(record, said, names=(ANA, BOB)),))
    store.knowledge.know("t", [OSLO], [claim(OSLO, "is", "far")])
    store.close()
    return path


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    store = SqliteStore(":memory:")
    yield store
    store.close()


def raw(path: Path, statement: str) -> None:
    """Change the file behind the store's back."""
    connection = apsw.Connection(str(path))
    connection.execute(statement)
    connection.close()


def examined(store: SqliteStore, repair: bool) -> dict[str, tuple[int, int]]:
    told = store.upkeep.doctor(repair=repair, fingerprint=FINGERPRINT)
    return {one.check: (one.problems, one.repaired) for one in told if one.problems}


def left(path: Path, secrets: set[bytes]) -> set[bytes]:
    """Those of the secrets that are anywhere in the files."""
    files = b"".join(file.read_bytes() for file in path.parent.iterdir())
    return {secret for secret in secrets if secret in files}


def canary(chance: random.Random) -> str:
    return "q" + "".join(chance.choices(LETTERS, k=15))


def secretive(
    chance: random.Random, user: str | None
) -> tuple[MemoryRecord, Learnt, Claim, set[bytes]]:
    """A memory, what it says, what a caller says of the same, and the words of it all."""
    words = [canary(chance) for _ in range(11)]
    one, other = (entity(word, type=words[2], user_id=user) for word in words[:2])
    record = memory("x", user_id=user)
    text = f"{words[5]} " * chance.choice([1, 400])
    told: dict[str, Any] = {"text": text, "origin": words[6], "reason": words[7]}
    said = claim(one, words[3], other, memory=record.id, metadata={"k": words[4]}, **told)
    stated = claim(other, words[8], words[9], agent_id=words[10])
    learnt = found(record, said, names=(one, other))
    return record, learnt, stated, {word.encode() for word in words}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["memories", "unknow", "forget", "afresh"])
def test_erased_knowledge_leaves_no_bytes(tmp_path: Path, how: str) -> None:
    chance = random.Random(1)  # how many copies stay behind depends on how pages fill
    path = tmp_path / "memory.db"
    store = SqliteStore(path, durability="normal")
    secrets: dict[bool, set[bytes]] = {True: set(), False: set()}
    gone: list[tuple[MemoryRecord, Learnt, Claim]] = []
    for number in range(400):
        goes = number % 4 == 0
        record, learnt, stated, words = secretive(chance, "leaving" if goes else None)
        write(store, Insert(record=record), learnt=(learnt,))
        store.knowledge.know("t", (), [stated])
        secrets[goes] |= words
        gone += [(record, learnt, stated)] if goes else []
    assert left(path, secrets[True]) == secrets[True]
    erase(store, how, gone)
    assert len(left(path, secrets[True])) <= len(secrets[True]) / 100
    store.upkeep.compact()
    assert left(path, secrets[True]) == set()
    assert left(path, secrets[False]) == secrets[False]
    assert healthy(store)
    store.close()


def erase(store: SqliteStore, how: str, gone: list[tuple[MemoryRecord, Learnt, Claim]]) -> None:
    """Erase the claims and entities in one of the ways that there are."""
    if how == "forget":
        assert store.knowledge.forget(Reach(tenant="t", user_id="leaving")) == 200
    elif how == "unknow":
        store.knowledge.unknow(
            "t", [], [one.id for _, learnt, _ in gone for one in learnt.entities]
        )
    else:
        store.knowledge.unknow("t", [stated.id for _, _, stated in gone])
    if how == "memories":
        write(store, *[Remove(id=record.id) for record, _, _ in gone])
    elif how == "afresh":
        write(store, learnt=tuple(Learnt(memory=one.id, afresh=True) for one, _, _ in gone))


CLAIM_DAMAGES = {
    "text": "text = 'forged'",
    "no text": "text = CAST(x'ff00fe' AS TEXT)",
    "value": "value = 'Eve'",
    "predicate": "predicate = 'hates'",
    "denial": "denies = 1",
    "trust": "trust = 0.1",
    "no number": "confidence = 'x'",
    "time": "recorded_at = 5",
    "no time": "retired_at = 'never'",
    "far time": "retired_at = 9223372036854775807",
    "began": "began = '[1'",
    "agent": "agent_id = 'thief'",
    "metadata": "metadata = '{'",
    "subject": "subject = (SELECT number FROM entities WHERE name = 'Oslo')",
    "object": "object = NULL",
    "memory": "memory = NULL",
    "id": "id = x'00'",
    "digest": "digest = x'00'",
}


@pytest.mark.parametrize("damage", CLAIM_DAMAGES.values(), ids=CLAIM_DAMAGES)
def test_a_damaged_claim_is_given_up(path: Path, damage: str) -> None:
    raw(path, f"UPDATE claims SET {damage} WHERE predicate = 'knows'")
    store = SqliteStore(path)
    with pytest.raises(StoreCorrupt):
        store.knowledge.claims(EVERY)
    with pytest.raises(StoreCorrupt):
        list(store.knowledge.scan("t"))
    assert examined(store, repair=False)["claims"] == (1, 0)
    assert examined(store, repair=True)["claims"] == (1, 1)
    assert healthy(store)
    assert values(store) == ["far"]
    assert named(store) == ["Ana", "Bob", "Oslo"]
    store.close()


ENTITY_DAMAGES = {
    "name": ("name = 'Eve'", "ana"),
    "no text": ("name = CAST(x'ff00fe' AS TEXT)", "ana"),
    "folded": ("folded = 'eve'", "Ana"),
    "type": ("type = 'place'", "Ana"),
    "given": ("given = 1", "Ana"),
    "created": ("created_at = 'x'", "Ana"),
    "id": ("id = x'00112233445566778899aabbccddeeff'", "Ana"),
    "digest": ("digest = x'00'", "Ana"),
}


@pytest.mark.parametrize(("damage", "name"), ENTITY_DAMAGES.values(), ids=ENTITY_DAMAGES)
def test_a_damaged_entity_is_mended_from_its_id(path: Path, damage: str, name: str) -> None:
    raw(path, f"UPDATE entities SET {damage} WHERE name = 'Ana'")
    store = SqliteStore(path)
    with pytest.raises(StoreCorrupt):
        store.knowledge.entities(EVERY)
    assert examined(store, repair=False)["entities"] == (1, 0)
    assert examined(store, repair=True) == {"entities": (1, 1)}
    assert healthy(store)
    assert sorted(named(store)) == sorted(["Bob", "Oslo", name])
    assert values(store, about=[ANA.id]) == ["Bob"]
    store.close()


def test_an_entity_without_a_name_is_told_until_it_is_erased(path: Path) -> None:
    raw(path, "UPDATE entities SET name = 'Eve', folded = 'eve' WHERE name = 'Ana'")
    store = SqliteStore(path)
    for repair in (False, True, False):
        assert examined(store, repair) == {"entities": (1, 0)}
    assert store.knowledge.unknow("t", [], [ANA.id]) == 3
    assert healthy(store)
    store.close()


STRAYS = {
    "entity": ("DELETE FROM entities WHERE name = 'Ana'", {"stray claims", "stray mentions"}),
    "object": ("DELETE FROM entities WHERE name = 'Bob'", {"stray claims", "stray mentions"}),
    "memory": ("DELETE FROM memories", {"stray claims", "stray mentions"}),
    "owner": ("UPDATE mentions SET partition = 7", {"stray mentions"}),
}


@pytest.mark.parametrize(("damage", "checks"), STRAYS.values(), ids=STRAYS)
def test_what_refers_to_nothing_is_removed(path: Path, damage: str, checks: set[str]) -> None:
    raw(path, damage)
    store = SqliteStore(path)
    assert examined(store, repair=False).keys() >= checks
    examined(store, repair=True)
    assert not examined(store, repair=False).keys() & checks
    assert values(store, about=[OSLO.id]) == ["far"]
    store.close()


def test_claims_rest_with_their_memories_or_doctor_says_so(path: Path) -> None:
    raw(path, "UPDATE claims SET rested_at = 5 WHERE memory IS NOT NULL")
    store = SqliteStore(path)
    assert examined(store, repair=True) == {"resting claims": (1, 1)}
    assert [one.rested_at for one in store.knowledge.claims(EVERY)] == [None, None]
    (record,) = store.archive.find(EVERY)
    revise(store, record.id, state=State.ARCHIVED)
    store.close()
    raw(path, "UPDATE claims SET rested_at = NULL")
    store = SqliteStore(path)
    assert examined(store, repair=True) == {"resting claims": (1, 1)}
    assert [one.rested_at for one in store.knowledge.claims(EVERY)] == [NOW, None]
    store.close()


def test_what_a_damaged_memory_says_rests(path: Path) -> None:
    raw(path, "UPDATE memories SET text = 'forged'")
    store = SqliteStore(path)
    assert examined(store, repair=True)["digests"] == (1, 1)
    assert not examined(store, repair=False)
    found, stated = store.knowledge.claims(EVERY)
    assert found.rested_at is not None
    assert stated.rested_at is None
    store.close()


def test_a_copy_with_a_forged_claim_is_not_restored(path: Path, tmp_path: Path) -> None:
    store = SqliteStore(path)
    store.upkeep.backup(tmp_path / "copy")
    store.upkeep.backup(tmp_path / "forged")
    before = list(store.knowledge.scan("t"))
    store.close()
    raw(tmp_path / "forged", "UPDATE claims SET text = 'x'; UPDATE entities SET given = 1")
    with pytest.raises(StoreCorrupt, match="5 damaged entities and claims"):
        restore(tmp_path / "forged", path)
    restore(tmp_path / "copy", path)
    store = SqliteStore(path)
    assert list(store.knowledge.scan("t")) == before
    store.close()


def test_a_file_of_the_schema_before_knowledge_opens_and_restores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, before = tmp_path / "memory.db", migrations()[:3]
    record = memory("x")
    with monkeypatch.context() as older:
        older.setattr(schema, "migrations", lambda: before)
        store = SqliteStore(path)
        with store._database.connections.alone() as own, lent(own.execute):
            write(store, Insert(record=record))
        assert store.upkeep.schema == 3
        store.upkeep.backup(tmp_path / "copy")
        store.close()
    restore(tmp_path / "copy", tmp_path / "restored.db")
    for file in (path, tmp_path / "restored.db"):
        store = SqliteStore(file)
        assert store.upkeep.schema == len(migrations())
        assert list(store.knowledge.scan("t")) == []
        write(store, learnt=(found(record, names=(ANA,)),))
        assert named(store) == ["Ana"]
        assert healthy(store)
        store.close()


def test_an_edit_of_knowledge_alone_leaves_the_columns_of_recall(store: SqliteStore) -> None:
    add(store, *[memory(f"m{n}") for n in range(5)])
    views, partition = Views(store.recall, 1 << 20), partition_of(store)
    before = views.columns(partition)
    store.knowledge.know("t", [ANA])
    assert (views.columns(partition).key == before.key).all()
    store.knowledge.know("t", [entity("Una", user_id="new")])
    assert len(views.columns(partition_of(store, user_id="new")).key) == 0


def plan(store: SqliteStore, text: str, values: Any) -> list[str]:
    with store._database.reading() as connection:
        return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", values)]


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("entities_by_id", "sqlite_autoindex_entities_1 (id=? AND partition=?)"),
        ("entities_of_memories", "claims_by_memory (memory=?)"),
        ("retire_claims", "claims_by_memory (memory=?)"),
        ("rest_claims", "claims_by_memory (memory=?)"),
        ("wake_claims", "claims_by_memory (memory=?)"),
        ("erase_present_claims_of", "claims_by_memory (memory=?)"),
        ("delete_claim_of_memory", "sqlite_autoindex_claims_1 (id=?)"),
        ("delete_mentions_of_memories", "PRIMARY KEY (memory=?)"),
        ("erase_silent_entities", "claims_by_subject (subject=?)"),
        ("erase_claims", "sqlite_autoindex_claims_1 (id=?)"),
        ("numbers_of_entities", "sqlite_autoindex_entities_1 (id=?)"),
        ("erase_claims_about", "claims_by_object (object=?)"),
        ("erase_mentions_about", "mentions_by_entity (entity=?)"),
        ("numbers_of_names", "entities_by_name (partition=?)"),
        ("mentioned_after", "mentions_by_partition (partition=? AND (memory,entity)>(?,?))"),
        ("mentioned_in", "mentions_by_partition (partition=? AND memory=?)"),
        ("ties_after", "claims_of_ties (partition=? AND rowid>?)"),
    ],
)
def test_knowledge_is_found_through_an_index(store: SqliteStore, name: str, index: str) -> None:
    named = dict.fromkeys(re.findall(r":(\w+)", sql(name)))
    steps = plan(store, sql(name), named or [None] * sql(name).count("?"))
    assert index in "; ".join(steps)
    assert not any(
        step.startswith("SCAN") and "VIRTUAL TABLE" not in step and "carray" not in step
        for step in steps
    ), steps


MINE = Reach(tenant="t", user_id="u")
INSIDE = Condition("c.partition = ?", (1,))
SESSION = Session(apsw.Connection(":memory:"), "t")
FOUND: dict[str, tuple[str, Condition, tuple[Any, ...]]] = {
    "claims_by_time (partition=?)": ("find_claims", INSIDE, (9, 0)),
    "claims_by_subject (subject=?)": (
        "find_claims", joined("AND", [INSIDE, about(SESSION, [1], None)]), (9, 0),
    ),
    "c USING INDEX claims_by_subject (subject=?)": (
        "find_claims", joined("AND", [INSIDE, SESSION.among("c.subject", bound([1]))]), (9, 0),
    ),
    "claims_by_memory (memory=?)": (
        "find_claims", joined("AND", [INSIDE, SESSION.among("c.memory", bound([1]))]), (9, 0),
    ),
    "entities_by_name (partition=?)": (
        "find_entities", Condition("e.partition = ?", (1,)), (9, 0),
    ),
    "entities_by_name (partition=? AND folded>? AND folded<?)": (
        "find_entities",
        Condition("e.partition = ? AND e.folded >= ? AND e.folded < ?", (1, "a", "b")),
        (9, 0),
    ),
    "mentions_by_partition (partition=?)": (
        "mention_counts", Condition("n.partition = ?", (1,)), (),
    ),
}  # fmt: skip


@pytest.mark.parametrize("index", FOUND)
def test_knowledge_is_read_through_an_index(store: SqliteStore, index: str) -> None:
    name, condition, more = FOUND[index]
    steps = plan(store, statement(name, condition), (*condition.values, *more))
    assert index in "; ".join(steps)
    if index.startswith("entities_by_name"):
        assert not any("B-TREE" in step for step in steps), steps


def test_a_bound_list_of_mentions_is_read_by_entity(store: SqliteStore) -> None:
    condition = Condition("m.partition = ?", (1,))
    steps = plan(store, statement("find_mentions", condition), (None, 1, 9, 0))
    assert "mentions_by_entity (entity=?)" in "; ".join(steps)
