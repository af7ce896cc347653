"""How a SQLite store is opened: rights, pragmas, versions, settings."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from remanence.errors import ConfigError, StoreError, StoreVersion
from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore
from remanence.store.sqlite.opening import check_library
from remanence.testing.store_suites.making import add, memory

PRAGMAS = {
    "journal_mode": "wal",
    "synchronous": 2,
    "foreign_keys": 1,
    "secure_delete": 1,
    "temp_store": 2,
    "trusted_schema": 0,
    "mmap_size": 0,
    "cache_size": -3 * 1024,
}


def test_only_the_owner_may_read_the_files(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = SqliteStore(tmp_path / "deep" / "er" / "memory.db")
        add(store, memory("x"))
        files = list((tmp_path / "deep" / "er").iterdir())
        assert {file.name for file in files} == {"memory.db", "memory.db-wal", "memory.db-shm"}
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        store.close()
    finally:
        os.umask(before)


def test_every_pragma_is_as_it_should_be(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db", cache_mb=3)
    with store._database.writing() as connection:
        assert {name: connection.pragma(name) for name in PRAGMAS} == PRAGMAS
    with store._database.reading() as connection:
        assert connection.pragma("query_only") == 1
        assert connection.pragma("mmap_size") == 0
    store.close()


def test_normal_durability_is_a_named_choice(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db", durability="normal")
    with store._database.writing() as connection:
        assert connection.pragma("synchronous") == 1
    store.close()
    with pytest.raises(ConfigError, match="durability"):
        SqliteStore(tmp_path / "memory.db", durability="off")


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2", "3.7.0"])
def test_an_old_library_is_refused(version: str) -> None:
    with pytest.raises(StoreVersion, match="pip install -U apsw"):
        check_library(lambda: version)


@pytest.mark.parametrize("version", ["3.51.3", "3.54.1", "4.0.0"])
def test_a_new_library_is_not(version: str) -> None:
    check_library(lambda: version)


def test_a_path_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError):
        SqliteStore(tmp_path / "file" / "memory.db")


def test_a_path_is_never_read_as_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("file:memory.db?mode=memory")
    add(store, memory("x"))
    assert store.archive.count(Reach(tenant="t")) == 1
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["file:memory.db?mode=memory"]
