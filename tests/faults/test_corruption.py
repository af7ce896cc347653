"""Damaged, foreign and outdated files: seen, named, and mended where the rows say how."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from remanence.errors import StoreCorrupt, StoreError, StoreVersion
from remanence.model.clock import FixedClock
from remanence.model.memory import MemoryRecord, State
from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import (
    FINGERPRINT,
    NOW,
    add,
    healthy,
    link,
    memory,
    pieces,
    revise,
    texts,
)

ALL = Reach(tenant="t", all_users=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with some of everything."""
    path = tmp_path / "memory.db"
    store = SqliteStore(path)
    records = [memory(f"tea {n} " * 20, metadata={"n": n, "tags": ["a"]}) for n in range(200)]
    add(store, *records, made=pieces(2))
    store.links.associate("t", link(records[0], records[1]))
    revise(store, records[2].id, importance=0.9)
    store.close()
    return path


def raw(path: Path, *statements: str) -> None:
    """Change the file behind the store's back."""
    connection = apsw.Connection(str(path))
    connection.create_scalar_function("remanence_words", lambda *_: "", 2)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def examined(store: SqliteStore, repair: bool) -> dict[str, tuple[int, int]]:
    found = store.upkeep.doctor(repair=repair, fingerprint=FINGERPRINT)
    return {one.check: (one.problems, one.repaired) for one in found if one.problems}


def test_garbage_is_not_a_store(path: Path) -> None:
    path.write_bytes(os.urandom(20_000))
    with pytest.raises(StoreCorrupt):
        SqliteStore(path)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.97])
def test_a_truncated_file_is_seen(path: Path, share: float) -> None:
    size = path.stat().st_size
    os.truncate(path, int(size * share))
    with pytest.raises(StoreCorrupt):  # noqa: PT012
        store = SqliteStore(path)
        try:
            found = examined(store, repair=True)
            raise StoreCorrupt if found["file"][0] > found["file"][1] else AssertionError(found)
        finally:
            store.close()


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.touch()
    store = SqliteStore(path)
    assert healthy(store)
    store.close()


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    raw(path, "CREATE TABLE theirs (x)", "INSERT INTO theirs VALUES (1)")
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match="not a Remanence store"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused(path: Path) -> None:
    raw(path, "PRAGMA user_version = 99")
    with pytest.raises(StoreVersion, match="upgrade"):
        SqliteStore(path)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        SqliteStore(tmp_path)


DAMAGES = {
    "text": "text = 'coffee'",
    "invalid text": "text = CAST(x'ff00fe' AS TEXT)",
    "owner": "partition = (SELECT max(id) FROM partitions) + 1",
    "kind": "kind = 77",
    "time": "happened_at = 9223372036854775807",
    "importance": "importance = 1e300",
    "metadata": "metadata = '{broken'",
    "digest": "digest = x'00'",
    "version": "version = 5",
    "a source of bytes": "source = x'00'",
    "a text of bytes": "text = CAST(text AS BLOB)",
    "a role of bytes": "role = x'7573'",
    "an heir of text": "superseded_by = 'heir'",
    "a trust of text": "trust = 'much'",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_row_is_named_and_quarantined(path: Path, damage: str) -> None:
    store = SqliteStore(path, clock=FixedClock(NOW))
    victim = store.archive.find(ALL, limit=1)[0]
    store.close()
    if damage.startswith("partition"):
        raw(path, "INSERT INTO partitions (tenant, user_id) VALUES ('t', 'thief')")
        damage = "partition = (SELECT max(id) FROM partitions)"
    raw(path, f"UPDATE memories SET {damage} WHERE id = x'{victim.id.replace('-', '')}'")
    store = SqliteStore(path, clock=FixedClock(NOW))
    with pytest.raises(StoreCorrupt):
        store.archive.get("t", [victim.id])
    assert examined(store, repair=False)["digests"] == (1, 0)
    assert examined(store, repair=True)["digests"] == (1, 1)
    assert healthy(store)
    (found,) = store.archive.get("t", [victim.id])
    assert found.state == State.QUARANTINED
    assert store.archive.history("t", victim.id)[-1].verb == "quarantine"
    assert store.archive.count(ALL) == 200
    store.close()


MENDED = {
    "text index": ["DELETE FROM words_data WHERE id > 10"],
    "labels": ["DELETE FROM labels WHERE name = 'n'", "INSERT INTO labels VALUES (1, 'x', 1, 5)"],
    "stray pieces": ["INSERT INTO pieces SELECT place + (9999 << 24), 0, 0, 0, vector, codes "
                     "FROM pieces LIMIT 3"],
    "size of pieces": ["UPDATE pieces SET vector = x'00' WHERE place >> 24 = 7"],
    "embedding queue": ["INSERT INTO pending VALUES (1, 3)"],
    "memories outside the embedding queue": ["DELETE FROM pieces WHERE place >> 24 = 9"],
    "stray history, uses, feedback and links": [
        "PRAGMA foreign_keys = 0", "INSERT INTO uses VALUES (9999, 1, 1)",
        "INSERT INTO links VALUES (9999, 'x', 1, 1, 1)"],
    "change feed": ["DELETE FROM changes WHERE memory = 4"],
}  # fmt: skip


@pytest.mark.parametrize("check", MENDED)
def test_what_the_rows_can_mend_is_mended(path: Path, check: str) -> None:
    raw(path, *MENDED[check])
    store = SqliteStore(path)
    found = examined(store, repair=False)
    assert set(found) == {check}
    assert found[check][0] > 0
    assert examined(store, repair=True)[check] == (found[check][0], found[check][0])
    assert healthy(store)
    assert store.archive.count(ALL) == 200
    assert len(store.recall.postings(1, ["tea"], 10**6)[0]) == 200 * 20
    store.close()


def test_flipped_bits_never_give_a_wrong_memory(path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    store = SqliteStore(path)
    truth = {record.id: record for _, record in store.archive.scan("t")}
    store.close()
    content = path.read_bytes()
    damaged = path.with_name("damaged.db")
    for _ in range(60):
        flipped = bytearray(content)
        flipped[chance.randrange(100, len(content))] ^= 1 << chance.randrange(8)
        damaged.write_bytes(flipped)
        for record in readable(damaged, truth):
            assert record == truth[record.id]


def readable(path: Path, truth: dict[str, MemoryRecord]) -> Iterator[MemoryRecord]:
    try:
        store = SqliteStore(path)
    except StoreError:
        return
    for id in truth:
        try:
            yield from store.archive.get("t", [id])
        except StoreError:
            continue
    store.close()


def test_a_clock_that_jumps_loses_nothing(tmp_path: Path) -> None:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    store = SqliteStore(tmp_path / "memory.db", clock=clock)
    for years in (0, 10, -10):
        clock.at = NOW + timedelta(days=365 * years)
        now = clock.now()
        dated = replace(memory(f"{years}"), happened_at=now, created_at=now, updated_at=now)
        (record,) = add(store, dated, made=pieces())
        store.archive.note_uses("t", [(record.id, clock.now())])
        assert not any(
            one.repaired for one in store.upkeep.doctor(repair=True, fingerprint=FINGERPRINT)
        )
    assert texts(store.archive.find(Reach(tenant="t"))) == ["10", "0", "-10"]
    assert [record.text for _, record in store.archive.scan("t")] == ["0", "10", "-10"]
    assert sum(store.upkeep.stats("t").by_day.values()) == 3
    store.close()
