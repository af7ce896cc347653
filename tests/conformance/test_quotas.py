"""How much a tenant may have, over both stores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remanence.api.memory import Memory
from remanence.errors import QuotaExceeded

Make = Callable[..., Memory]


@pytest.fixture(params=["sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    if request.param == "sqlite":
        database = str(tmp_path / "memory.db")
    else:
        database = str(request.getfixturevalue("postgres_url"))
    made: list[Memory] = []

    def opened(**settings: int) -> Memory:
        made.append(Memory(database, embedder="none", **settings))
        return made[-1]

    yield opened
    for one in made:
        one.close()


def test_no_more_memories_than_allowed(make: Make) -> None:
    memory = make(max_memories=3)
    memory.add("one")
    with pytest.raises(QuotaExceeded, match="max_memories"):
        memory.add_many(["two", "three", "four"])
    assert memory.count() == 1
    ids = [record.id for record in memory.add_many(["two", "three"])]
    with pytest.raises(QuotaExceeded):
        memory.add("four")
    memory.forget(ids[0])  # archived is still there
    with pytest.raises(QuotaExceeded):
        memory.add("four")
    memory.forget(ids[0], erase=True)
    memory.add("four")
    assert (memory.stats().memories, memory.stats().max_memories) == (3, 3)


def test_no_more_bytes_than_allowed_whatever_they_are(make: Make) -> None:
    memory = make(max_bytes=20_000)
    first = memory.add("x" * 5_000)
    used = memory.stats().bytes_used
    assert 5_000 <= used < 6_000
    big = "y" * 16_000
    with pytest.raises(QuotaExceeded, match="max_bytes"):
        memory.add(big)
    with pytest.raises(QuotaExceeded):
        memory.update(first.id, text=big)
    with pytest.raises(QuotaExceeded):
        memory.update(first.id, metadata={"note": big})
    with pytest.raises(QuotaExceeded):
        memory.blocks.create("notes", big, limit=100_000)
    with pytest.raises(QuotaExceeded):
        memory.working.set("key", big, session_id="s")
    with pytest.raises(QuotaExceeded):
        memory.sessions.create("s", data={"note": big})
    with pytest.raises(QuotaExceeded):
        memory.conversations.append([{"role": "user", "content": big}], session_id="s")
    assert memory.stats().bytes_used == used
    assert memory.stats().max_bytes == 20_000


def test_a_history_counts_too(make: Make) -> None:
    memory = make(max_bytes=20_000)
    id = memory.add("begin").id

    def rewrite() -> None:
        for n in range(50):
            memory.update(id, text=f"{n} " + "z" * 1_000)

    with pytest.raises(QuotaExceeded):
        rewrite()
    assert memory.stats().bytes_used <= 20_000
    memory.forget(id, erase=True)
    assert memory.stats().bytes_used < 100


def test_each_tenant_has_its_own(make: Make) -> None:
    memory = make(max_memories=1)
    memory.add("one")
    memory.for_tenant("other").add("one")
    with pytest.raises(QuotaExceeded):
        memory.for_tenant("other").add("two")


def test_several_writers_do_not_pass_it_together(make: Make) -> None:
    several = [make(max_memories=10) for _ in range(3)]

    def fill(memory: Memory) -> None:
        for n in range(8):
            try:
                memory.add(f"{n}")
            except QuotaExceeded:
                return

    threads = [threading.Thread(target=fill, args=(one,)) for one in several for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert several[0].count() == 10


def test_what_another_process_writes_counts_at_once(make: Make) -> None:
    one, two = make(max_memories=4), make(max_memories=4)
    one.add("1")
    two.add_many(["2", "3", "4"])
    with pytest.raises(QuotaExceeded):
        one.add("5")
