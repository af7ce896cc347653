"""Locks between processes, as POSIX has them and as Windows has them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import pytest

from remanence.model.system.processes import is_gone, this_process
from support.as_windows import AS_WINDOWS

WAIT_S = 60
PROGRAM = """
import os, sys
from remanence.model.system.locks import try_lock, unlock, wait_alone

path = sys.argv[1]
file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
deeds = {
    "try": lambda place: try_lock(file, int(place)),
    "unlock": lambda place: unlock(file, int(place)),
    "wait": lambda: wait_alone(file),
    "close": lambda: os.close(file),
    "read": lambda: open(path, "rb").read(),
}
for line in sys.stdin:
    verb, *given = line.split()
    print(deeds[verb](*given), flush=True)
"""


class Process:
    """One that does with a file what it is told."""

    def __init__(self, path: Path, before: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", before + PROGRAM, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=WAIT_S)

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, line: str) -> str:
        self.tell(line)
        return self.answer()


@pytest.fixture(params=["", AS_WINDOWS], ids=["posix", "windows"])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Process]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Process(tmp_path / "file", request.param))


def test_a_place_is_one_process_at_a_time(process: Callable[[], Process]) -> None:
    first, second = process(), process()
    assert first.ask("try 7") == "True"
    assert second.ask("try 7") == "False"
    assert second.ask("try 8") == "True"
    assert first.ask("unlock 7") == "None"
    assert second.ask("try 7") == "True"


def test_places_may_lie_far_behind_the_end(process: Callable[[], Process]) -> None:
    first, second = process(), process()
    far = 2**56 - 1
    assert first.ask(f"try {far}") == "True"
    assert second.ask(f"try {far}") == "False"
    assert second.ask("try 1") == "True"


def test_a_lock_goes_with_its_process(process: Callable[[], Process]) -> None:
    first, second = process(), process()
    assert first.ask("try 7") == "True"
    first.process.kill()
    first.process.wait(WAIT_S)
    assert second.ask("try 7") == "True"


def test_who_waits_comes_next_and_others_can_read(
    process: Callable[[], Process], tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"content")
    first, second, third = process(), process(), process()
    assert first.ask("wait") == "None"
    second.tell("wait")
    assert third.ask("read") == "b'content'"
    assert first.ask("close") == "None"
    assert second.answer() == "None"


@pytest.mark.skipif(not this_process(), reason="only Linux tells when a process began")
def test_a_process_that_ended_is_gone_and_one_that_lives_is_not() -> None:
    told = "import sys; from remanence.model.system.processes import this_process"
    wait = "print(this_process(), flush=True); sys.stdin.read()"
    child = subprocess.Popen(
        [sys.executable, "-c", f"{told}; {wait}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None
        named = child.stdout.readline().strip()
        assert not is_gone(named)
        child.kill()
    assert is_gone(named)
    assert not is_gone(this_process())
    boot, number, born = named.split("|")
    assert not is_gone(f"elsewhere|{number}|{born}")
    assert is_gone(f"{boot}|{os.getpid()}|1")  # the number is another's by now
    for odd in ("", "|", "a|b|c", f"{boot}|x|{born}"):
        assert not is_gone(odd)
