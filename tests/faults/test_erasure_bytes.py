"""Erased memories leave no bytes: not in the database's files, its log, index or receipts."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import psycopg

from support.erased_bytes import erase_and_look, files_in
from support.services.postgres import Postgres

ERASURES = 15
NOTHING = {"erasures": ERASURES, "left": 0, "gone": 0, "unsigned": 0, "back": 0}


def test_no_bytes_in_a_file(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    (tmp_path / "store").mkdir()
    found = erase_and_look(
        str(tmp_path / "store" / "memory.db"),
        lambda: files_in(tmp_path / "store"),
        tmp_path / "copy",
        seed=seed,
        erasures=ERASURES,
    )
    assert found == NOTHING


def test_no_bytes_in_a_server(tmp_path: Path, private_postgres: Callable[..., Postgres]) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    server = private_postgres(durable=False)
    with psycopg.connect(server.url, autocommit=True) as admin:

        def files() -> list[Path]:
            admin.execute("CHECKPOINT")
            return files_in(server.socket_folder / "data")

        found = erase_and_look(
            server.database(), files, tmp_path / "copy", seed=seed, erasures=ERASURES
        )
    assert found == NOTHING
