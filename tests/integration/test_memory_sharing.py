"""One file, many hands: threads, several memories on one file, other processes."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from remanence import Memory
from support.program import Program

WRITER = """
import sys
from remanence import Memory
with Memory(sys.argv[1]) as memory:
    for n in range(int(sys.argv[3])):
        memory.add(f"{sys.argv[2]} wrote note {n}")
"""


def test_sixteen_threads_add_and_search(memory: Memory) -> None:
    start = threading.Barrier(16)

    def work(number: int) -> list[str]:
        start.wait()
        user = f"u{number % 4}"
        seen = []
        for n in range(8):
            record = memory.add(f"thread {number} wrote note {n}", user_id=user)
            hits = memory.search(f"thread {number} note {n}", user_id=user, limit=200)
            assert record.id in {hit.memory.id for hit in hits}
            assert {hit.memory.user_id for hit in hits} == {user}
            seen.append(record.id)
        return seen

    with ThreadPoolExecutor(16) as pool:
        ids = [id for seen in pool.map(work, range(16)) for id in seen]
    assert len(set(ids)) == 128
    assert memory.count(all_users=True) == 128
    assert len(memory.search("note", all_users=True, limit=200)) == 128
    assert not any(finding.problems for finding in memory.doctor())


def test_threads_change_one_memory_without_losing_a_version(memory: Memory) -> None:
    from remanence.errors import Conflict

    id = memory.add("counter", metadata={"n": 0}).id

    def count(_: int) -> None:
        while True:
            try:
                memory.update(id, metadata={"n": memory.get(id).metadata["n"] + 1})
            except Conflict:
                continue
            return

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(24)))
    record = memory.get(id)
    assert record.version == len(memory.history(id))
    assert [revision.version for revision in memory.history(id)] == [*range(1, record.version + 1)]


def test_two_memories_on_one_file_see_each_other_at_once(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path) as first, Memory(path) as second:
        assert first.search("parrot") == second.search("parrot") == []
        record = first.add("the parrot speaks")
        assert [hit.memory.id for hit in second.search("parrot")] == [record.id]
        second.update(record.id, text="the cockatoo speaks")
        [hit] = first.search("cockatoo")
        assert hit.memory.text == hit.passage == "the cockatoo speaks"
        second.forget(record.id)
        assert first.search("cockatoo") == []
        second.update(record.id, state="active")
        assert len(first.search("cockatoo")) == 1
        first.forget(record.id, erase=True)
        assert second.search("cockatoo") == []
        assert second.count(states="any") == 0


def test_processes_write_together_and_a_search_sees_it(memory: Memory) -> None:
    path = memory.settings.database
    memory.search("warm the index before the others write")
    others = [Program(WRITER, path, name, 20) for name in ("first", "second")]
    for n in range(20):
        memory.add(f"third wrote note {n}")
    assert [other.ended() for other in others] == [0, 0]
    assert memory.count() == 60
    for name in ("first", "second", "third"):
        hits = memory.search(f"{name} wrote note 7", limit=1)
        assert hits[0].memory.text == f"{name} wrote note 7"
    assert not any(finding.problems for finding in memory.doctor())
