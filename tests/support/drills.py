"""Backups made while another handle writes, and the drill of putting them back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore, restore
from remanence.testing.store_suites.making import add, healthy, memory, pieces

FIRST = 500
ALL = Reach(tenant="t", all_users=True)


def filled(path: Path, *said: str) -> SqliteStore:
    """A store with these memories."""
    store = SqliteStore(path, durability="normal")
    add(store, *[memory(text) for text in said], made=pieces())
    return store


def drills(folder: Path, count: int) -> Iterator[str]:
    """What is wrong with each of so many copies, put back; nothing, if all is well."""
    store = filled(folder / "memory.db", *["tea " * 50] * FIRST)
    with _Writing(folder / "memory.db") as writer:
        for _ in range(count):
            least = writer.acknowledged
            store.upkeep.backup(folder / "backup.db")
            most = writer.acknowledged + 2  # a pair may be there that was not acknowledged yet
            restore(folder / "backup.db", folder / "restored.db")
            yield _wrong_with(folder / "restored.db", range(least, most + 1), store.upkeep.identity)
    store.close()


def _wrong_with(path: Path, allowed: range, identity: str) -> str:
    copy = SqliteStore(path)
    try:
        count = copy.archive.count(ALL)
        if count not in allowed or count % 2:
            return f"{count} memories, {allowed} were expected, in pairs"
        if copy.upkeep.identity == identity:
            return "the copy has the identity of the original"
        return "" if healthy(copy) else "doctor finds problems"
    finally:
        copy.close()


class _Writing:
    """Writes pairs all the time."""

    def __init__(self, path: Path) -> None:
        self.acknowledged = FIRST
        self._path, self._stop = path, threading.Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> _Writing:
        self._done = self._pool.submit(self._write)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown()
        self._done.result()

    def _write(self) -> None:
        other = SqliteStore(self._path, durability="normal")
        while not self._stop.is_set():
            add(other, memory("later"), memory("later"), made=pieces())
            self.acknowledged += 2
        other.close()
