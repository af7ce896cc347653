"""Programs that are forked behave as ones that were started, and outlive nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from remanence.testing.patience import HANG_S, until
from support.fork_server import fork_server
from support.program import Program

TELLING = """
import json, os, sys
print(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ), sys.stdin.read(), __name__]))
"""


def outcome(
    source: str, *given: str, said: str = "", env: Mapping[str, str], cwd: Path
) -> list[tuple[int | None, str, str]]:
    """Exit code, output and errors of a program that was started, and of one that was forked."""
    started = subprocess.run(
        [sys.executable, "-c", source, *given],
        input=said, capture_output=True, text=True, env=env, cwd=cwd, check=False,
    )  # fmt: skip
    with tempfile.TemporaryFile("w+") as errors:
        forked = Program(source, *given, env=env, cwd=cwd, stderr=errors.fileno())
        told = forked.rest(said)
        errors.seek(0)
        return [
            (started.returncode, started.stdout, started.stderr),
            (forked.returncode, told, errors.read()),
        ]


@pytest.mark.parametrize(
    "source",
    [
        TELLING,
        "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)",
        "import sys; sys.exit('some words')",
        "import atexit; atexit.register(print, 'at the end'); print('first', end=' ')",
        "import threading; threading.Timer(0.1, print, ['a thread that is waited for']).start()",
        "import os, signal; print('cut off'); os.kill(os.getpid(), signal.SIGKILL)",
        "import os, signal; signal.raise_signal(signal.SIGTERM)",
        "import os; print('unsaid'); os._exit(5)",
    ],
)
def test_a_program_ends_as_if_it_had_been_started(source: str, tmp_path: Path) -> None:
    env = {"OWN": "ünï", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo"}
    started, forked = outcome(source, "a", "b c", said="one\ntwo", env=env, cwd=tmp_path)
    assert forked == started


def test_a_failure_is_told_as_a_traceback(tmp_path: Path) -> None:
    for code, told, errors in outcome("print('a'); 1 / 0", env=os.environ, cwd=tmp_path):
        assert (code, told) == (1, "a\n")
        assert errors.startswith("Traceback (most recent call last):")
        assert errors.endswith("ZeroDivisionError: division by zero\n")


def test_it_is_spoken_to_line_by_line() -> None:
    with Program("while line := input(): print(line.upper(), flush=True)") as program:
        for word in ("tea", "rain"):
            program.say(word)
            assert program.hear() == word.upper()
        assert program.poll() is None
    assert program.returncode == -signal.SIGKILL
    program.kill()


def test_it_begins_with_one_thread_and_chances_of_its_own() -> None:
    source = """
import random, uuid, threading, psutil
print(random.random(), uuid.uuid4(), threading.active_count(), psutil.Process().num_threads())
"""
    said = [Program(source).rest().split() for _ in range(3)]
    assert len({chance for chance, *_ in said}) == len({made for _, made, *_ in said}) == 3
    assert [threads for _, _, *threads in said] == [["1", "1"]] * 3


def test_one_that_hangs_is_given_up() -> None:
    with Program("input()") as program, pytest.raises(subprocess.TimeoutExpired):
        program.wait(0.01)


def test_nothing_is_left_of_those_that_ended() -> None:
    killed, done = Program("input()"), Program("")
    killed.kill()
    assert [killed.ended(), done.ended()] == [-signal.SIGKILL, 0]
    running = {one.pid for one in psutil.Process(fork_server().pid).children()}
    assert not {killed.pid, done.pid} & running


OWNER = """
import sys
from support.fork_server import fork_server
from support.program import Program
program = Program("import time; time.sleep(3600)")
print(fork_server().pid, program.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("killed", [True, False])
def test_server_and_programs_end_with_their_owner(killed: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        assert all(psutil.pid_exists(pid) for pid in pids)
        if killed:
            owner.kill()
        owner.communicate(timeout=HANG_S)
    until(lambda: not any(running(pid) for pid in pids))


def running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


FIRST = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
import psutil
from support.fork_server import fork_server
barrier = Barrier(8)
def asked(_):
    barrier.wait()
    return fork_server().pid
sys.setswitchinterval(1e-6)
with ThreadPoolExecutor(8) as pool:
    pids = set(pool.map(asked, range(8)))
print(len(pids), len(psutil.Process().children()))
"""


def test_of_threads_that_ask_at_once_all_get_one_server(tmp_path: Path) -> None:
    asked = subprocess.run(
        [sys.executable, "-c", FIRST], capture_output=True, text=True, cwd=tmp_path, timeout=HANG_S
    )
    assert asked.stdout.split() == ["1", "1"], asked.stderr
