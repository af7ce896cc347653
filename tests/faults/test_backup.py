"""Backups made under load, and the drill of putting them back."""

from __future__ import annotations

import stat
from pathlib import Path

import apsw
import pytest

from remanence.errors import StoreBusy, StoreCorrupt, StoreError
from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore, restore
from remanence.testing.store_suites.making import add, healthy, memory, texts
from support.drills import drills, filled

DRILLS = 10
ALL = Reach(tenant="t", all_users=True)


def test_backups_under_load_can_be_restored(tmp_path: Path) -> None:
    assert list(drills(tmp_path, DRILLS)) == [""] * DRILLS


def test_a_copy_is_its_owners_only_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    store = filled(tmp_path / "memory.db", "x")
    store.upkeep.backup(tmp_path / "copies" / "one.db")
    (copy,) = (tmp_path / "copies").iterdir()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    restore(copy, tmp_path / "new" / "memory.db")
    (new,) = (tmp_path / "new").iterdir()
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    store.close()


def test_a_store_in_use_is_not_replaced(tmp_path: Path) -> None:
    store = filled(tmp_path / "memory.db", "kept")
    store.upkeep.backup(tmp_path / "backup.db")
    add(store, memory("later"))
    with pytest.raises(StoreBusy):
        restore(tmp_path / "backup.db", tmp_path / "memory.db")
    assert store.archive.count(ALL) == 2
    store.close()
    restore(tmp_path / "backup.db", tmp_path / "memory.db")
    store = SqliteStore(tmp_path / "memory.db")
    assert texts(store.archive.find(ALL)) == ["kept"]
    store.close()


def test_a_log_left_by_a_crash_does_not_reach_the_restored_store(tmp_path: Path) -> None:
    store = filled(tmp_path / "memory.db", "kept")
    store.upkeep.backup(tmp_path / "backup.db")
    add(store, *[memory("later") for _ in range(50)])
    crashed = tmp_path / "crashed.db"
    for suffix in ("", "-wal"):
        content = Path(f"{tmp_path}/memory.db{suffix}").read_bytes()
        Path(f"{crashed}{suffix}").write_bytes(content)
    store.close()
    restore(tmp_path / "backup.db", crashed)
    store = SqliteStore(crashed)
    assert texts(store.archive.find(ALL)) == ["kept"]
    assert healthy(store)
    store.close()


def test_a_damaged_store_can_be_replaced(tmp_path: Path) -> None:
    store = filled(tmp_path / "memory.db", "kept")
    store.upkeep.backup(tmp_path / "backup.db")
    store.close()
    (tmp_path / "memory.db").write_bytes(b"garbage" * 1000)
    restore(tmp_path / "backup.db", tmp_path / "memory.db")
    store = SqliteStore(tmp_path / "memory.db")
    assert texts(store.archive.find(ALL)) == ["kept"]
    store.close()


@pytest.mark.parametrize("damage", ["digest", "garbage", "foreign", "missing", "empty"])
def test_a_bad_backup_changes_nothing(tmp_path: Path, damage: str) -> None:
    store = filled(tmp_path / "memory.db", "kept")
    backup = tmp_path / "backup.db"
    store.upkeep.backup(backup)
    store.close()
    match damage:
        case "digest":
            connection = apsw.Connection(str(backup))
            connection.execute("UPDATE memories SET text = 'forged'")
            connection.close()
        case "garbage":
            backup.write_bytes(b"garbage" * 1000)
        case "foreign":
            backup.unlink()
            apsw.Connection(str(backup)).execute("CREATE TABLE theirs (x)")
        case "missing":
            backup.unlink()
        case "empty":
            backup.write_bytes(b"")
    with pytest.raises(StoreError if damage == "missing" else StoreCorrupt):
        restore(backup, tmp_path / "memory.db")
    store = SqliteStore(tmp_path / "memory.db")
    assert texts(store.archive.find(ALL)) == ["kept"]
    store.close()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_store_in_memory_can_be_kept(tmp_path: Path) -> None:
    store = SqliteStore(":memory:")
    add(store, memory("kept"))
    store.upkeep.backup(tmp_path / "backup.db")
    store.close()
    store = SqliteStore(tmp_path / "backup.db")
    assert texts(store.archive.find(ALL)) == ["kept"]
    store.close()
