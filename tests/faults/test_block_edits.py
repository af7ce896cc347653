"""Many processes edit one block, writers and restores are killed: no edit is lost or half there."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.memories.draft import COMPARED
from remanence.model.document import Shelf
from remanence.model.scope import Reach
from support.program import Program

PROCESSES = 4
EDITS = 50
KILLED_AFTER = 25


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a memory is kept that several processes open."""
    if request.param == "sqlite":
        return str(tmp_path / "memory.db")
    return str(request.getfixturevalue("postgres_url"))


EDITOR = """
import sys
from remanence import Memory
place, name, edits = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Memory(place, busy_timeout_s=600) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(edits):
        by = {"user_id": "ana", "author": name, "reason": f"edit {n}"}
        if n % 3 == 0:
            memory.blocks.append("notes", f"{name} appended {n};", **by)
        elif n % 3 == 1:
            memory.blocks.insert("notes", f"{name} inserted {n}", line=0, **by)
        else:
            text = f"{name} appended {n - 2}"
            memory.blocks.replace("notes", f"{text};", f"{text}, replaced {n};", **by)
        print(n, flush=True)
"""


@contextmanager
def editors(place: str, names: list[str], edits: int) -> Iterator[list[Program]]:
    """Processes that edit, all begun at once; none outlives this."""
    with ExitStack() as ends:
        running = [ends.enter_context(Program(EDITOR, place, name, edits)) for name in names]
        for program in running:
            assert program.hear() == "ready"
        for program in running:
            program.say("go")
        yield running


def lines_of(name: str, edits: int) -> list[str]:
    """What a process leaves behind after so many edits."""
    appended = [
        f"{name} appended {n}" + (f", replaced {n + 2};" if n + 2 < edits else ";")
        for n in range(0, edits, 3)
    ]
    return appended + [f"{name} inserted {n}" for n in range(1, edits, 3)]


def test_edits_of_several_processes_are_all_there(place: str) -> None:
    with Memory(place) as memory:
        memory.blocks.create("notes", "begin", user_id="ana", limit=100_000)
        names = [f"p{n}" for n in range(PROCESSES)]
        with editors(place, names, EDITS) as running:
            assert [program.ended() for program in running] == [0] * PROCESSES
        block = memory.blocks.get("notes", user_id="ana")
        expected = [line for name in names for line in lines_of(name, EDITS)]
        assert sorted(block.value.split("\n")) == sorted([*expected, "begin"])
        history = memory.blocks.history("notes", user_id="ana")
        assert [one.version for one in history] == list(range(1, PROCESSES * EDITS + 2))
        for name in names:
            own = [one.reason for one in history if one.author == name]
            assert own == [f"edit {n}" for n in range(EDITS)]


def test_what_a_killed_writer_was_told_is_there(place: str) -> None:
    with Memory(place) as memory:
        memory.blocks.create("notes", "begin", user_id="ana", limit=100_000)
        with editors(place, ["p0"], 10_000) as (program,):
            for n in range(KILLED_AFTER):
                assert program.hear() == str(n)
            program.kill()
            more = program.rest().splitlines()
        acknowledged = KILLED_AFTER + len([line for line in more if line])
        lines = sorted(memory.blocks.get("notes", user_id="ana").value.split("\n"))
        assert lines in [
            sorted([*lines_of("p0", edits), "begin"]) for edits in (acknowledged, acknowledged + 1)
        ]
        assert len(memory.blocks.history("notes", user_id="ana")) >= acknowledged
        memory.blocks.undo("notes", user_id="ana")
        memory.blocks.redo("notes", user_id="ana")
        assert sorted(memory.blocks.get("notes", user_id="ana").value.split("\n")) == lines


RESTORE = """
import os, signal, sys
from remanence import Memory
from remanence.errors import Conflict
from remanence.layers.snapshots import documents, references
place, last = sys.argv[1], int(sys.argv[2])
references.BLOCKS_AT_ONCE = documents.BATCH = 1
references.BATCH = 2
memory = Memory(place)
store = memory.parts.store
written = 0
def counting(do):
    def counted(*given):
        global written
        written += 1
        if written > last:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return do(*given)
        except Conflict:  # restores of one second take the next free name
            written -= 1
            raise
    return counted
archive, documents = store.archive, store.documents
archive.write, documents.put = counting(archive.write), counting(documents.put)
memory.snapshots.restore("before", user_id="ana")
print(written, flush=True)
memory.close()
"""


def restore_and_die(place: str, after: int) -> str | None:
    """Restore in a process that is killed before its write of that number; None if it was."""
    program = Program(RESTORE, place, after)
    told = program.rest()
    assert program.returncode in (0, -signal.SIGKILL)
    return told if program.returncode == 0 else None


def state_of(memory: Memory) -> Any:
    """All of Ana's that a snapshot brings back."""
    reach = Reach(tenant=memory.tenant, user_id="ana")
    active = memory.find(user_id="ana", states="active", limit=1000)
    shelves = (Shelf.BLOCK, Shelf.SESSION, Shelf.WORKING)
    found = [one for shelf in shelves for one in memory.parts.store.documents.shelved(reach, shelf)]
    return (
        {record.id: [getattr(record, name) for name in COMPARED] for record in active},
        {
            (one.address.shelf, one.address.name): {
                name: value
                for name, value in one.value.items()
                if name not in ("shows", "version")  # a session's version counts on
            }
            for one in found
            if "deleted" not in one.value
        },
    )


def prepare(memory: Memory) -> tuple[Any, Any]:
    """A snapshot, changes since, and the states before and after them."""
    records = memory.add_many([f"memory {n}" for n in range(6)], user_id="ana")
    memory.blocks.append("human", "Likes tea", user_id="ana")
    memory.blocks.append("persona", "Kind", user_id="ana")
    memory.sessions.create("s", data={"step": 1}, user_id="ana")
    memory.snapshots.take("before", user_id="ana")
    before = state_of(memory)
    for record in records[:3]:
        memory.update(record.id, text=f"{record.text}, changed", importance=0.9)
    memory.forget(records[3].id)
    memory.add_many(["later 1", "later 2"], user_id="ana")
    memory.blocks.append("human", "and coffee", user_id="ana")
    memory.blocks.delete("persona", user_id="ana")
    memory.blocks.create("new", "x", user_id="ana")
    memory.sessions.update("s", {"step": 2}, user_id="ana")
    memory.working.set("k", 1, session_id="s", user_id="ana")
    return before, state_of(memory)


def test_a_restore_killed_at_any_write_is_completed_by_another(place: str) -> None:
    with Memory(place) as memory:
        before, after = prepare(memory)
        kills, undo = 0, ""
        while True:
            told = restore_and_die(place, 2 + kills % 3)  # each gets a little further
            if told is not None:
                break
            kills += 1
            if kills == 1:
                undo = memory.snapshots.list(user_id="ana")[0].name
                assert undo.startswith("undo-")
            assert state_of(memory) != before
            assert kills < 20
        assert kills >= 3
        assert state_of(memory) == before
        assert memory.snapshots.diff("before", user_id="ana").same
        memory.snapshots.restore(undo, user_id="ana")
        assert state_of(memory) == after


def test_a_snapshot_is_there_whole_or_not_at_all(place: str) -> None:
    with Memory(place) as memory:
        _, after = prepare(memory)
        assert restore_and_die(place, 0) is None
        assert [one.name for one in memory.snapshots.list(user_id="ana")] == ["before"]
        assert state_of(memory) == after
