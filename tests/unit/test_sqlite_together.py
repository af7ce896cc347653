"""Documents that a batch discards are erased from a SQLite file as those that `put` discards."""

from __future__ import annotations

from pathlib import Path

from remanence.model.document import Discard
from remanence.model.write import Insert
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import block, memory, put, write

SECRET = "zugzwang-of-the-heliotrope"


def left(folder: Path) -> bool:
    return any(SECRET.encode() in file.read_bytes() for file in folder.iterdir())


def test_what_a_batch_discards_leaves_no_bytes(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    put(store, block("gone"), {"said": SECRET}, keep=True)
    assert left(tmp_path)
    write(store, Insert(record=memory("tea")), documents=(Discard(address=block("gone")),))
    assert not left(tmp_path)
    store.close()
