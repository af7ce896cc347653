"""What is left of erased memories in the files of a store, and what an older backup brings back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from remanence.api.memory import Memory
from remanence.model.scope import Reach
from support.canaries import Canaries, Planted, left_in

KEPT_EVERY = 10


def erase_and_look(
    database: str,
    files_of: Callable[[], list[Path]],
    backup: Path,
    *,
    seed: int,
    erasures: int,
) -> Counter[str]:
    """Plant canaries, half of them in the cold tier, erase them in all ways, compact, and look.

    Then an older backup is restored. `left` counts words and vectors that are in a file, `back`
    those that came back, `gone` memories that nobody erased, `unsigned` receipts that are not good.
    """
    with Memory(database, durability="normal") as memory:
        erase, keep = _planted(memory, seed, erasures)
        there = left_in(files_of(), erase)
        assert there, "nothing was planted"
        memory.backup(backup)
        canaries = Canaries(memory, seed)
        for number, one in enumerate(erase):
            canaries.erase(number, one)
        memory.parts.store.upkeep.compact()
        counts = Counter(
            erasures=erasures,
            left=len(left_in(files_of(), erase)),
            gone=len(keep) - sum(bool(left_in(files_of(), [one])) for one in keep),
            unsigned=sum(
                not memory.erasures.verify(one) for one in memory.erasures.list(limit=1_000)
            ),
        )
    counts["back"] = _back(database, files_of, backup, erase)
    return counts


def files_in(folder: Path) -> list[Path]:
    """All but the write-ahead log of a server, which every receipt names."""
    return [path for path in folder.rglob("*") if path.is_file() and "pg_wal" not in path.parts]


def _planted(memory: Memory, seed: int, erasures: int) -> tuple[list[Planted], list[Planted]]:
    """Those to erase, and some among them that stay."""
    canaries, now = Canaries(memory, seed), datetime.now(UTC)
    number = erasures + max(1, erasures // KEPT_EVERY)
    every = [canaries.plant(each, now) for each in range(number)]
    for one in every[::2]:
        canaries.pack(one.user, now)
    with memory.parts.store.upkeep.bulk():  # it ends with ANALYZE, which keeps samples of values
        memory.search("dog", user_id=every[0].user)
    kept = every[:: KEPT_EVERY + 1][: number - erasures]
    return [one for one in every if one not in kept], kept


def _back(
    database: str, files_of: Callable[[], list[Path]], backup: Path, erased: list[Planted]
) -> int:
    with Memory.restore(backup, database) as memory:
        store, tenant = memory.parts.store, memory.tenant
        found = sum(store.archive.count(Reach(tenant=tenant, user_id=one.user)) for one in erased)
    return found + len(left_in(files_of(), erased))
