"""What is left of erased memories in the files of a store: canaries planted, erased, looked for.

    python bench/erasure.py --erasures 500 --store sqlite --store postgresql

Every canary is a user: two memories with a former text, facts, feedback, a semantic memory made of
one and a duplicate merged into it, a block, a session, working memory, a snapshot, a request's key;
half of them in the cold tier. Looked for: words and vector bytes, in every file but the server's
write-ahead log. Then an older backup is restored and must not bring anything back.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from remanence import Memory
from remanence.layers.erasure import Erasures
from remanence.model.scope import Reach
from remanence.testing.canaries import Canaries, Planted, left_in

KEEP_EVERY = 10


def main() -> None:
    """Run on the stores that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--erasures", type=int, default=500)
    parser.add_argument("--store", action="append", choices=["sqlite", "postgresql"])
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    given = parser.parse_args()
    print(f"seed {given.seed}")
    print("| store | erasures | ms each (median) | files MB | left before | after compact | back |")
    print("|---|---|---|---|---|---|---|")
    for kind in given.store or ["sqlite", "postgresql"]:
        places = {"sqlite": on_files, "postgresql": on_a_server}
        with places[kind]() as (database, folder, flush):
            measure(kind, database, folder, flush, given.erasures, given.seed)


@contextmanager
def on_files() -> Iterator[tuple[str, Path, Callable[[], object]]]:
    """A database in a file."""
    with tempfile.TemporaryDirectory() as folder:
        yield f"{folder}/memory.db", Path(folder), lambda: None


@contextmanager
def on_a_server() -> Iterator[tuple[str, Path, Callable[[], object]]]:
    """A database on a server of its own."""
    import shutil

    import psycopg

    from remanence.testing.services.postgres import Postgres
    from remanence.testing.services.shared import short_folder

    home = short_folder()
    server = Postgres.start(home, durable=False)
    try:
        with psycopg.connect(server.url, autocommit=True) as admin:
            yield server.database(), home / "data", lambda: admin.execute("CHECKPOINT")
    finally:
        server.stop()
        shutil.rmtree(home)


def measure(
    kind: str,
    database: str,
    folder: Path,
    flush: Callable[[], object],
    erasures: int,
    seed: int,
) -> None:
    """Plant, erase, look; restore, look; one row of the table."""
    now = datetime.now(UTC)
    with tempfile.TemporaryDirectory() as elsewhere:
        backup = Path(elsewhere) / "copy"
        with Memory(database, durability="normal") as memory:
            gone, kept = planted(memory, seed, erasures, now)
            memory.backup(backup)
            spent = erased(memory, seed, gone)
            flush()
            before = left_in(files_of(folder), gone)
            memory.parts.store.compact()
            flush()
            after = left_in(files_of(folder), gone)
            size = sum(path.stat().st_size for path in files_of(folder)) / 2**20
            assert left_in(files_of(folder), kept)
            verified = Erasures(memory.parts.store, memory.tenant)
            assert all(verified.verify(one) for one in verified.list(limit=1000))
        back = restored(backup, database, gone)
        flush()
        back += len(left_in(files_of(folder), gone))
    middle = sorted(spent)[len(spent) // 2] * 1000
    print(
        f"| {kind} | {erasures} | {middle:.1f} | {size:.0f} | {len(before)} | {len(after)} | "
        f"{back} |",
        flush=True,
    )


def planted(
    memory: Memory, seed: int, erasures: int, now: datetime
) -> tuple[list[Planted], list[Planted]]:
    """Canaries to erase, and some that stay among them."""
    canaries = Canaries(memory, seed)
    every = [canaries.plant(number, now) for number in range(erasures + erasures // KEEP_EVERY)]
    for one in every[::2]:
        canaries.pack(one.user, now)
    with memory.parts.store.bulk():
        memory.search("dog", user_id=every[0].user)
    kept = every[:: KEEP_EVERY + 1]
    return [one for one in every if one not in kept], kept


def erased(memory: Memory, seed: int, gone: list[Planted]) -> list[float]:
    """Erase them in all ways; the seconds each took."""
    canaries, spent = Canaries(memory, seed), []
    for number, one in enumerate(gone):
        began = time.perf_counter()
        canaries.erase(number, one)
        spent.append(time.perf_counter() - began)
    return spent


def restored(backup: Path, database: str, gone: list[Planted]) -> int:
    """Put the older copy in place; how many memories of the erased are there."""
    with Memory.restore(backup, database) as memory:
        store, tenant = memory.parts.store, memory.tenant
        return sum(store.count(Reach(tenant=tenant, user_id=one.user)) for one in gone)


def files_of(folder: Path) -> list[Path]:
    """All but the write-ahead log of a server."""
    return [path for path in folder.rglob("*") if path.is_file() and "pg_wal" not in path.parts]


if __name__ == "__main__":
    main()
