"""Nothing that a memory holds is to be read in any file, while it is open and afterwards."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remanence import Memory
from remanence.errors import ConfigError
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import add, memory, pieces
from support.canaries import Canaries, Planted, left_in

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def told(folder: Path, planted: Iterable[Planted]) -> set[str]:
    """What can be read in any file: words, vectors, and the names of users."""
    planted = list(planted)
    found = set(left_in(files(folder), planted))
    for path in files(folder):
        content = path.read_bytes()
        found |= {one.user for one in planted if one.user.encode() in content}
    return found


def live(opened: Memory, folder: Path) -> list[Planted]:
    """Write, erase, pack, compact and copy, so that every file there can be is there."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    canaries = Canaries(opened, seed)
    planted = [canaries.plant(number, NOW) for number in range(3)]
    canaries.erase(0, planted[0])
    canaries.pack(planted[1].user, NOW)
    opened.backup(folder / "before.db")
    opened.compact()
    planted.append(canaries.plant(3, NOW))
    assert opened.search("what of the dog?", user_id=planted[3].user)
    return planted


def test_no_file_tells_anything(tmp_path: Path, scratch: Path, key: str) -> None:
    with Memory(tmp_path / "m.db", encryption_key=key) as opened:
        planted = live(opened, tmp_path)
        assert opened.parts.index_file is None
        names = {path.name for path in files(tmp_path)}
        assert {"m.db", "m.db-wal", "m.db-shm", "m.db.erasures", "before.db"} <= names
        assert told(tmp_path, planted) == set()
    assert told(tmp_path, planted) == set()


def test_the_search_finds_what_a_plain_store_tells(tmp_path: Path, scratch: Path) -> None:
    with Memory(tmp_path / "m.db") as opened:
        planted = live(opened, tmp_path)
        found = told(tmp_path, planted)
    assert {one.user for one in planted} <= found
    assert any(len(one) > 40 for one in found), "no vector was found"
    assert len(found) > 30


@pytest.mark.parametrize("encrypted", [True, False])
def test_a_rewrite_goes_through_no_temporary_file(
    tmp_path: Path, key: str, encrypted: bool
) -> None:
    """SQLite's temporary files have no names; they are seen among the open ones."""
    seen: set[str] = set()

    def look() -> bool:
        seen.update(nameless())
        return False

    with closing(SqliteStore(tmp_path / "m.db", key=key if encrypted else "", cache_mb=1)) as store:
        for n in range(20):
            add(store, *(memory(f"tea {n} {m} " * 500) for m in range(50)), made=pieces(2))
        with store._database.connections.alone() as connection:
            connection.set_progress_handler(look, 1000)
        before = nameless()
        store.upkeep.compact()
    assert bool(seen - before) is not encrypted


def nameless() -> set[str]:
    found = set()
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add(os.readlink(handle))
    return {name for name in found if name.endswith(" (deleted)")}


def test_encrypting_leaves_nothing_behind(tmp_path: Path, key: str) -> None:
    from remanence.config import load_settings
    from remanence.config.assembly.encryption import encrypt_store

    with Memory(tmp_path / "m.db") as opened:
        planted = live(opened, tmp_path)
    (tmp_path / "m.db.index").write_bytes(b"sign bits of user 1")
    (tmp_path / "before.db").unlink()
    assert told(tmp_path, planted)
    assert encrypt_store(load_settings({"database": str(tmp_path / "m.db"), "encryption_key": key}))
    assert {path.name for path in files(tmp_path)} == {"m.db", "m.db.erasures", "m.db.lock"}
    assert told(tmp_path, planted) == set()
    with Memory(tmp_path / "m.db", encryption_key=key) as opened:
        assert opened.find(user_id=planted[1].user)
        assert opened.erasures.list()


def test_a_copy_of_a_memory_in_ram_is_encrypted_too(tmp_path: Path, key: str) -> None:
    with Memory(":memory:", encryption_key=key) as opened:
        planted = Canaries(opened, 1).plant(0, NOW)
        opened.backup(tmp_path / "copy.db")
    assert told(tmp_path, [planted]) == set()
    with Memory(tmp_path / "copy.db", encryption_key=key) as copied:
        assert copied.find(user_id=planted.user)


def test_a_folder_of_vectors_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(ConfigError, match="Chroma would keep vectors"):
        Memory(tmp_path / "m.db", encryption_key=key, index="chroma")
