"""Races: erasing while others erase or add, and one request that comes several times at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from remanence.api.memory import Memory
from remanence.errors import Conflict, NotFound
from remanence.model.erasure import Forgotten, Stage
from remanence.model.ports.store import Store
from remanence.model.write import Batch, Insert, Receipt, Written
from remanence.testing.store_suites.making import NOW, memory, pieces

MANY = 3_000  # several times as many as are read at once
RACERS = 4
USER = "ana"
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure left, and whether its receipt came before its end."""

    left: int
    signed_early: bool


def fill(memory: Memory, count: int, user_id: str = USER) -> list[str]:
    """So many memories of a user; their ids."""
    return [one.id for one in memory.add_many([f"note {n}" for n in range(count)], user_id=user_id)]


def erased_while_another_erases(mine: Memory, other: Memory, many: int = MANY) -> Erased:
    """One handle erases the user while another erases memories of it."""
    ids, begun = fill(mine, many), threading.Event()

    def erase_some() -> None:
        try:
            for at in range(0, many // 2, 200):
                other.forget(ids[at : at + 200], erase=True)
                begun.set()
        except (NotFound, Conflict):  # the user is gone
            begun.set()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(erase_some)
        begun.wait()
        gone = mine.forget(user_id=USER, erase=True)
        left = mine.count(user_id=USER)
        done.result()
    return Erased(left, left > 0 or not _signed(mine, gone))


def erased_while_another_adds(mine: Memory, other: Memory) -> Erased:
    """One handle erases the user while another adds memories of it; what came later goes after."""
    fill(mine, 50)
    start, stop = threading.Barrier(2), threading.Event()

    def add() -> None:
        start.wait()
        while not stop.is_set():
            other.add("meanwhile", user_id=USER)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(add)
        start.wait()
        try:
            gone = mine.forget(user_id=USER, erase=True)
        finally:
            stop.set()
        done.result()
    assert gone.receipt is not None
    there = {one.id for one in mine.find(user_id=USER, limit=10_000)}
    early = not _signed(mine, gone) or bool(there & {*gone.receipt.ids})
    mine.forget(user_id=USER, erase=True)
    return Erased(mine.count(user_id=USER), early)


def _signed(memory: Memory, gone: Forgotten) -> bool:
    assert gone.receipt is not None
    return gone.receipt.status is Stage.COMPLETED and memory.erasures.verify(gone.receipt)


def together(pool: ThreadPoolExecutor, act: Callable[[], Answer]) -> list[Answer]:
    """The answers to something that `RACERS` threads do at once."""
    start = threading.Barrier(RACERS)

    def one() -> Answer:
        start.wait()
        return act()

    return [one.result() for one in [pool.submit(one) for _ in range(RACERS)]]


def written_together(store: Store, pool: ThreadPoolExecutor, key: str) -> Sequence[Written]:
    """The answers to one write that comes several times at once."""

    def one() -> Written:
        insert = Insert(record=memory(key), pieces=pieces())
        receipt = Receipt(key=key, digest=b"same")
        return store.archive.write(Batch(tenant="t", at=NOW, actions=(insert,), receipt=receipt))

    return together(pool, one)


def written_once(answers: Sequence[Written]) -> bool:
    """Whether all of them tell of one memory, and one of them made it."""
    ids = {one.records[0].id for one in answers}
    return len(ids) == 1 and sorted(one.repeated for one in answers) == [
        False,
        *[True] * (RACERS - 1),
    ]
