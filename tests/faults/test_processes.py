"""Many writers on one file: processes, threads, and a process that forks with the store open."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from remanence.errors import StoreBusy
from remanence.model.filter import parse_filter
from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore, restore
from remanence.testing.patience import HANG_S
from remanence.testing.store_suites.making import add, healthy, memory, pieces, texts
from support.program import Program

PROCESSES = 8
WRITES = 1000
THREADS = 32
ALL = Reach(tenant="t", all_users=True)

WRITER = """
import sys
from remanence.store.sqlite import SqliteStore
from remanence.testing.patience import HANG_S
from remanence.testing.store_suites.making import add, memory, pieces
path, name, writes = sys.argv[1:]
store = SqliteStore(path, busy_timeout_s=HANG_S)
add(store, memory("hello"))
print("ready", flush=True)
sys.stdin.readline()
for n in range(int(writes)):
    add(store, memory(f"tea {n}", user_id=name, metadata={"n": n}), made=pieces())
store.close()
"""


@pytest.fixture
def fast(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory, if there is one: this is about locks, not about syncs."""
    memory_disk = Path("/dev/shm")
    if not memory_disk.is_dir():
        yield tmp_path
        return
    with TemporaryDirectory(dir=memory_disk) as directory:
        yield Path(directory)


def test_processes_write_one_file(fast: Path) -> None:
    path = fast / "memory.db"
    running = [Program(WRITER, path, f"p{n}", WRITES) for n in range(PROCESSES)]
    watcher = SqliteStore(path, busy_timeout_s=HANG_S)
    for program in running:
        assert program.hear() == "ready"
    for program in running:
        program.say("go")
    assert [program.ended() for program in running] == [0] * PROCESSES
    assert watcher.archive.count(ALL) == PROCESSES * (WRITES + 1)
    for n in range(PROCESSES):
        mine = watcher.archive.find(
            Reach(tenant="t", user_id=f"p{n}"), limit=10_000, newest_first=False
        )
        assert texts(mine) == [f"tea {n}" for n in range(WRITES)]
    assert healthy(watcher)
    watcher.close()


def test_threads_share_a_store(fast: Path) -> None:
    store = SqliteStore(fast / "memory.db")
    barrier = threading.Barrier(THREADS)

    def work(name: int) -> None:
        reach = Reach(tenant="t", user_id=f"u{name}")
        barrier.wait()
        for n in range(20):
            (record,) = add(store, memory(f"tea {n}", user_id=f"u{name}"), made=pieces())
            assert store.archive.get("t", [record.id]) == [record]
            assert store.archive.count(reach) == n + 1

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(work, range(THREADS)))
    assert store.archive.count(ALL) == THREADS * 20
    assert healthy(store)
    store.close()


def test_a_database_in_memory_is_shared_by_threads() -> None:
    store = SqliteStore(":memory:")
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(lambda n: add(store, memory(f"tea {n}")), range(200)))
    assert store.archive.count(ALL) == 200
    store.close()


FORKING = """
import os, sys, threading
from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import add, memory
store = SqliteStore(sys.argv[1])
reach = Reach(tenant="t")
add(store, memory("before"))
stop = threading.Event()
def read():
    while not stop.is_set():
        store.archive.find(reach, limit=10)
def write():
    n = 0
    while not stop.is_set():
        add(store, memory("beside", user_id="threads"))
        n += 1
threads = [threading.Thread(target=f) for f in (read, read, write)]
for thread in threads:
    thread.start()
children = []
for n in range(8):
    child = os.fork()
    if child == 0:
        for m in range(10):
            add(store, memory(f"child {n} {m}"))
        found = store.archive.find(reach, limit=10_000)
        ok = sum(r.text.startswith(f"child {n} ") for r in found) == 10
        os._exit(0 if ok else 1)
    children.append(child)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
stop.set()
for thread in threads:
    thread.join()
assert codes == [0] * 8, codes
assert store.archive.count(reach) == 81, store.archive.count(reach)
store.close()
"""


def test_a_process_forks_with_the_store_open(fast: Path) -> None:
    path = fast / "memory.db"
    # The warning is the point: threads and a fork together.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING, str(path)]
    subprocess.run(command, check=True, timeout=HANG_S)
    store = SqliteStore(path)
    assert store.archive.count(Reach(tenant="t")) == 81
    assert healthy(store)
    store.close()


ORPHAN = """
import os, sys
from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
store.archive.count(Reach(tenant="t"))
if os.fork():
    store.close()
    os.wait()
else:
    store.archive.count(Reach(tenant="t"))
    print("reading", flush=True)
    sys.stdin.readline()
"""


def test_a_forked_child_holds_locks_of_its_own(tmp_path: Path) -> None:
    path, copy = tmp_path / "memory.db", tmp_path / "copy.db"
    store = SqliteStore(path)
    add(store, memory("kept"))
    store.upkeep.backup(copy)
    store.close()
    command = [sys.executable, "-c", ORPHAN, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as family:
        assert family.stdin is not None
        assert family.stdout is not None
        assert family.stdout.readline() == b"reading\n"
        with pytest.raises(StoreBusy):
            restore(copy, path)
        family.stdin.close()
    restore(copy, path)


def test_a_writer_that_waits_too_long_is_told(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    holder, waiter = SqliteStore(path), SqliteStore(path, busy_timeout_s=0.1)
    with holder._database.writing():
        with pytest.raises(StoreBusy):
            add(waiter, memory("x"))
        assert waiter.archive.count(Reach(tenant="t"), parse_filter({"a": 1})) == 0
    add(waiter, memory("x"))
    holder.close()
    waiter.close()


ALONE = """
import sys
from remanence.store.sqlite import SqliteStore
with SqliteStore(sys.argv[1]).upkeep.alone("sweep") as alone:
    print(alone, flush=True)
    sys.stdin.read()
"""


def test_only_one_process_is_alone_and_its_death_frees_the_place(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SqliteStore(path)
    with Program(ALONE, path) as other:
        assert other.hear() == "True"
        with store.upkeep.alone("sweep") as here, store.upkeep.alone("another thing") as elsewhere:
            assert (here, elsewhere) == (False, True)
        other.kill()
        assert other.ended() == -signal.SIGKILL
    with store.upkeep.alone("sweep") as here:
        assert here
    store.close()
