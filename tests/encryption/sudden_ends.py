"""Processes that share an encrypted store, and that are killed at any moment."""

from __future__ import annotations

import random
import time
from contextlib import closing
from pathlib import Path

import pytest

from remanence import Memory
from remanence.config import Settings, load_settings
from remanence.config.assembly.encryption import _recrypt
from remanence.errors import StoreError
from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import add, healthy, memory, pieces, texts
from support.kills import Kills
from support.program import Program

KEYS = ("", "the first of the three keys", "the last of the three keys")
KILLS = 30
MEMORIES = 1500
ALL = Reach(tenant="t", all_users=True)

CHANGER = """
import sys
from remanence.config import load_settings
from remanence.config.assembly.encryption import decrypt_store, encrypt_store
path, old, new = sys.argv[1:]
settings = load_settings({"database": path, "encryption_key": old or new})
print("go", flush=True)
decrypt_store(settings) if not new else encrypt_store(settings, new if old else "")
print("done", flush=True)
"""
WRITER = """
import sys
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import add, memory, pieces
path, key, name, writes = sys.argv[1:]
store = SqliteStore(path, key=key, busy_timeout_s=600)
for n in range(int(writes)):
    record = memory(f"tea {n}", user_id=name)
    add(store, record, made=pieces())
    print(record.id, flush=True)
store.close()
"""


def settings_of(path: Path, key: str) -> Settings:
    return load_settings({"database": str(path), "encryption_key": key or None})


def fits(path: Path) -> str:
    """The one key that opens the store, and what lies beside it."""
    opening = []
    for key in KEYS:
        try:
            SqliteStore(path, key=key).close()
        except StoreError:
            continue
        opening.append(key)
    assert len(opening) == 1
    return opening[0]


def whole(path: Path, key: str) -> None:
    with closing(SqliteStore(path, key=key)) as store:
        assert store.archive.count(ALL) == MEMORIES
        assert healthy(store)
    settings = {"encryption_key": key} if key else {}
    with Memory(path, tenant="t", embedder="no-such-model", **settings) as opened:
        assert len(opened.erasures.list()) == 1
        assert opened.parts.store.archive.count(ALL) == MEMORIES


def filled(path: Path) -> None:
    with closing(SqliteStore(path, durability="normal")) as store:
        for n in range(0, MEMORIES, 500):
            add(store, *(memory(f"tea {n} {m} " * 10) for m in range(500)), made=pieces(2))
    with Memory(path, tenant="t", embedder="no-such-model") as opened:
        opened.forget(opened.add("to be erased", user_id="u").id, erase=True)


def test_a_change_of_key_is_whole_or_never_was(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    filled(path)
    kills = Kills(CHANGER)
    kills.whole(path, KEYS[0], KEYS[1])
    has = fits(path)
    assert has == KEYS[1]
    changes = 0
    for _ in kills.rounds(KILLS):
        new = kills.chance.choice([one for one in KEYS if one != has])
        kills.kill(path, has, new)
        now = fits(path)
        assert now in (has, new)
        changes += now != has
        has = now
        whole(path, has)
    print(f"{kills.cut_off} were cut off, {changes} had changed the key")
    new = next(one for one in KEYS if one != has)
    kills.whole(path, has, new)
    whole(path, new)
    left = {one.name for one in tmp_path.iterdir()}
    assert left <= {"m.db", "m.db.erasures", "m.db.lock"}


@pytest.mark.parametrize("change", [(0, 1), (1, 2), (1, 0)])
def test_what_lies_beside_follows_at_the_next_opening(
    tmp_path: Path, change: tuple[int, int]
) -> None:
    """Killed when the file had its new key, and the receipts of erasures still the old one."""
    path, (old, new) = tmp_path / "m.db", (KEYS[one] for one in change)
    filled(path)
    if old:
        _recrypt(path, "", old)
        whole(path, old)
    _recrypt(path, old, new)
    assert (tmp_path / "m.db.erasures.next").exists()
    whole(path, new)
    assert not (tmp_path / "m.db.erasures.next").exists()
    plain = b'"erasure' in (tmp_path / "m.db.erasures").read_bytes()
    plain |= b'"asked"' in (tmp_path / "m.db.erasures").read_bytes()
    assert plain is (new == "")


def test_no_acknowledged_write_is_lost(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    path, told = tmp_path / "m.db", set()
    for n in range(15):
        writer = Program(WRITER, path, KEYS[1], f"p{n}", 100_000)
        told.add(writer.hear())
        time.sleep(chance.random() * 0.1)
        writer.kill()
        told |= {line for line in writer.rest().splitlines() if len(line) == 36}
        with closing(SqliteStore(path, key=KEYS[1])) as store:
            kept = {record.id for _, record in store.archive.scan("t")}
            assert told <= kept
            assert len(kept) <= len(told) + n + 1
            assert healthy(store)


def test_processes_share_a_store(tmp_path: Path) -> None:
    path, writes = tmp_path / "m.db", 100
    running = [Program(WRITER, path, KEYS[1], f"p{n}", writes) for n in range(4)]
    assert [program.ended() for program in running] == [0] * 4
    with closing(SqliteStore(path, key=KEYS[1])) as store:
        for n in range(4):
            reach = Reach(tenant="t", user_id=f"p{n}")
            found = store.archive.find(reach, limit=writes + 1, newest_first=False)
            assert texts(found) == [f"tea {n}" for n in range(writes)]
        assert healthy(store)
