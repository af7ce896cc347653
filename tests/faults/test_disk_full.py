"""A full disk: a clear error, nothing acknowledged lost, reads go on, writes resume with space."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from remanence.errors import StoreFull
from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import add, healthy, memory, pieces, revise
from support.program import Program

VFS = "full-disk"

LIMITED = """
import json, resource, sys
from remanence.errors import StoreFull
from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import (add, healthy, memory, pieces)
store = SqliteStore(sys.argv[1])
acknowledged = []
def fill(most):
    for _ in range(most):
        record = memory("tea " * 50, metadata={"n": len(acknowledged)})
        add(store, record, made=pieces(3))
        acknowledged.append(record.id)
fill(5)
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, hard))
refused = 0
try:
    fill(100_000)
except StoreFull:
    refused = len(acknowledged)
try:
    fill(1)
except StoreFull:
    pass
archive = store.archive
readable = archive.count(Reach(tenant="t")) == len(archive.get("t", acknowledged)) == refused
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
fill(5)
print(json.dumps({
    "refused": refused, "readable": readable, "resumed": len(acknowledged) - refused,
    "all": [r.id for r in archive.get("t", acknowledged)] == acknowledged,
    "healthy": healthy(store),
}))
store.close()
"""


def test_a_file_size_limit_is_a_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    told = json.loads(Program(LIMITED, path).rest())
    assert told["refused"] > 5
    assert told == {
        "refused": told["refused"], "readable": True, "resumed": 5, "all": True, "healthy": True,
    }  # fmt: skip
    store = SqliteStore(path)
    assert store.archive.count(Reach(tenant="t")) == told["refused"] + 5
    store.close()


class LimitedFile(apsw.VFSFile):
    def __init__(self, name: Any, flags: list[int], disk: LimitedVFS) -> None:
        super().__init__("", name, flags)
        self._disk = disk

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.take(len(data))
        super().xWrite(data, offset)


class LimitedVFS(apsw.VFS):
    """A file system with so many bytes left."""

    def __init__(self) -> None:
        super().__init__(VFS, "")
        self.left = sys.maxsize

    def take(self, size: int) -> None:
        if size > self.left:
            raise apsw.FullError("no space left")
        self.left -= size

    def xOpen(self, name: Any, flags: list[int]) -> LimitedFile:
        return LimitedFile(name, flags, self)


@pytest.fixture
def disk() -> Iterator[LimitedVFS]:
    disk = LimitedVFS()
    yield disk
    disk.unregister()


@pytest.mark.parametrize("left", [0, 4096, 9000, 30_000, 100_000])
def test_a_write_that_does_not_fit_never_was(disk: LimitedVFS, tmp_path: Path, left: int) -> None:
    store = SqliteStore(tmp_path / "memory.db", vfs=VFS)
    (kept,) = add(store, memory("kept"))
    disk.left = left
    with pytest.raises(StoreFull):
        fill(store)
    before = store.archive.count(Reach(tenant="t"))
    with pytest.raises(StoreFull):
        revise(store, kept.id, text="long " * 40_000)
    assert store.archive.get("t", [kept.id]) == [kept]
    disk.left = sys.maxsize
    add(store, memory("resumed"))
    assert store.archive.count(Reach(tenant="t")) == before + 1
    assert healthy(store)
    store.close()


def fill(store: SqliteStore) -> None:
    for _ in range(100):
        add(store, *[memory("tea " * 200) for _ in range(20)], made=pieces(4))
