"""Erased memories leave no bytes: not in the database's files, its log, index or receipts."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from remanence import Memory
from remanence.testing.canaries import Canaries, Planted, left_in
from remanence.testing.services.postgres import Postgres

ERASURES = 15


def files_of(folder: Path) -> list[Path]:
    """All but the server's write-ahead log, which every receipt names."""
    return [path for path in folder.rglob("*") if path.is_file() and "pg_wal" not in path.parts]


def planted_in(memory: Memory, canaries: Canaries) -> tuple[list[Planted], list[Planted]]:
    """Those to erase and one that stays, some of them packed."""
    now = datetime.now(UTC)
    every = [canaries.plant(number, now) for number in range(ERASURES + 1)]
    for one in every[::2]:
        canaries.pack(one.user, now)
    return every[1:], every[:1]


def test_no_bytes_in_a_file(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    with Memory(tmp_path / "memory.db", durability="normal") as memory:
        canaries = Canaries(memory, seed)
        planted, kept = planted_in(memory, canaries)
        memory.search("dog")
        assert left_in(files_of(tmp_path), planted)
        for number, one in enumerate(planted):
            canaries.erase(number, one)
        memory.parts.store.compact()
        assert left_in(files_of(tmp_path), planted) == {}
        assert left_in(files_of(tmp_path), kept)
    assert left_in(files_of(tmp_path), planted) == {}


def test_no_bytes_in_a_server(private_postgres: Callable[..., Postgres]) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    server = private_postgres(durable=False)
    data = server.socket_folder / "data"
    with Memory(server.database()) as memory, psycopg.connect(server.url, autocommit=True) as admin:
        canaries = Canaries(memory, seed)
        planted, kept = planted_in(memory, canaries)
        with memory.parts.store.bulk():  # it ends with ANALYZE, which keeps samples of values
            pass
        admin.execute("CHECKPOINT")
        assert left_in(files_of(data), planted)
        for number, one in enumerate(planted):
            canaries.erase(number, one)
        memory.parts.store.compact()
        admin.execute("CHECKPOINT")
        assert left_in(files_of(data), planted) == {}
        assert left_in(files_of(data), kept)
