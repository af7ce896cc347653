"""A SQLite file that is deleted, replaced, too short or out of descriptors; a clock set back."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from remanence.errors import StoreCorrupt, StoreError
from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import (
    FINGERPRINT,
    NOW,
    add,
    memory,
    partition_of,
    pieces,
    revise,
)

# Leaves so few descriptors that the log of a new database cannot be opened.
FEW_DESCRIPTORS = """
import os, resource, sys
from remanence.errors import StoreError
from remanence.store.sqlite import SqliteStore
SqliteStore(":memory:").close()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
for spare in range(12):
    held = []
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    for _ in range(spare):
        os.close(held.pop())
    try:
        SqliteStore(f"{sys.argv[1]}/{spare}.db").close()
    except StoreError as error:
        assert "no such table" not in str(error) or "too many files" in str(error), error
    for one in held:
        os.close(one)
print("done")
"""


@pytest.mark.parametrize("act", ["delete", "move", "replace"])
def test_nothing_is_acknowledged_for_a_file_that_is_gone(tmp_path: Path, act: str) -> None:
    path = tmp_path / "m.db"
    with_file = SqliteStore(path)
    add(with_file, memory("before"))
    if act == "delete":
        path.unlink()
    else:
        path.rename(tmp_path / "elsewhere.db")
    if act == "replace":
        SqliteStore(path).close()
    with pytest.raises(StoreError, match="while it was open"):
        add(with_file, memory("lost"))
    with_file.close()


def test_a_file_that_is_put_back_is_written_again(tmp_path: Path) -> None:
    path, away = tmp_path / "m.db", tmp_path / "away.db"
    store = SqliteStore(path)
    add(store, memory("before"))
    path.rename(away)
    with pytest.raises(StoreError):
        add(store, memory("refused"))
    away.rename(path)
    add(store, memory("after"))
    assert store.archive.count(Reach(tenant="t")) == 2
    store.close()


@pytest.mark.parametrize("size", [1, 99, 100, 511])
def test_a_file_too_short_for_a_page_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "m.db"
    path.write_bytes(b"S" * size)
    with pytest.raises(StoreCorrupt):
        SqliteStore(path)
    assert path.read_bytes() == b"S" * size


def test_vectors_that_are_gone_from_the_file_are_named(tmp_path: Path) -> None:
    """As where a file was cut and its last pages read as nothing."""
    path = tmp_path / "m.db"
    store = SqliteStore(path)
    add(store, memory("x"), made=pieces())
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA ignore_check_constraints = 1; PRAGMA writable_schema = 1")
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, 'vector BLOB NOT NULL', 'vector BLOB')"
            " WHERE name = 'pieces'"
        )
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("UPDATE pieces SET vector = NULL")
    with pytest.raises(StoreCorrupt, match="lost vectors"):
        list(store.vectors.scan(FINGERPRINT, partition_of(store)))
    store.close()


def test_descriptors_that_run_out_are_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FEW_DESCRIPTORS, str(tmp_path)],
        capture_output=True,
        text=True,
        env=dict(os.environ),
    )
    assert done.stdout == "done\n", done.stderr


def test_a_clock_set_back_makes_no_memory_older_than_itself(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "m.db")
    (record,) = add(store, memory("x"))
    back = revise(store, record.id, text="y", at=NOW - timedelta(days=400))
    assert back.updated_at == record.updated_at
    assert [one.at for one in store.archive.history("t", record.id)] == [record.created_at] * 2
    later = revise(store, record.id, text="z", at=NOW + timedelta(days=1))
    assert later.updated_at == NOW + timedelta(days=1)
    store.close()
