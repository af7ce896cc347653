"""A process with the package imported, which forks a child for each program it is sent.

A child is a whole process of its own: it can be killed, holds its own locks, and ends as any
interpreter does. Only its start is cheap.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from remanence.model.telemetry import hush

Asked = dict[str, Any]

PRELOADED = (
    "onnxruntime",
    "remanence.tools.agent",
    "remanence.backends.cache.redis_sessions",
    "remanence.api.memory",
    "remanence.cli.app",
    "remanence.consolidation.schedules.worker",
    "remanence.store.postgres",
    "support.copies",
    "support.pairing",
    "remanence.testing.store_suites.making",
    "remanence.tools.transfer",
    "tokenizers",
)
# Threads do not survive a fork, and these start some as they are imported.
NO_THREADS = {"OPENBLAS_NUM_THREADS": "1"}
START = f"from {__name__} import main; main()"
_LENGTH = struct.Struct("!q")
_starting = threading.Lock()  # a cache alone lets each thread of those that ask first start one


class ForkServer:
    """The process from the outside; it ends with the process that started it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        self._answers = self._socket.makefile("rb")
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", START, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=os.environ | NO_THREADS,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # an interrupt is for the owner
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, asked: Asked, streams: Sequence[int]) -> int:
        """The process id of a new program."""
        return int(self._answer(asked, streams))

    def exit_code(self, pid: int) -> int | None:
        """How a program ended, told once; None while it runs."""
        code: int | None = self._answer({"ended": pid})
        return code

    def close(self) -> None:
        """End it, and with it whatever still runs."""
        self._answers.close()
        self._socket.close()
        self._process.wait()

    def _answer(self, asked: Asked, streams: Sequence[int] = ()) -> Any:
        body = json.dumps(asked).encode()
        with self._lock:
            rights = struct.pack(f"{len(streams)}i", *streams)
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if streams else []
            self._socket.sendmsg([_LENGTH.pack(len(body))], ancillary)
            self._socket.sendall(body)
            return json.loads(self._answers.readline())


def fork_server() -> ForkServer:
    """The one of this process, started at its first use, whichever thread that is in."""
    with _starting:
        return _started()


def end_fork_server() -> None:
    """Close it, if it was started; what it ran is counted to this process then."""
    with _starting:
        if _started.cache_info().currsize:
            _started().close()


@cache
def _started() -> ForkServer:
    server = ForkServer()
    atexit.register(server.close)
    return server


def main() -> None:
    """Be the process; or, once forked, the program."""
    control = socket.socket(fileno=int(sys.argv[1]))
    hush()
    for name in PRELOADED:
        with suppress(ModuleNotFoundError):  # an extra that is not installed
            import_module(name)
    assert threading.active_count() == 1, "threads do not survive a fork"
    gc.freeze()  # what is never collected stays shared
    with control:
        program = _serve(control)
    if program is not None:
        exec(program, sys.modules["__main__"].__dict__)  # the interpreter's own end follows


def _serve(control: socket.socket) -> Any:
    """Fork until the owner is gone; returns in a child, with its program."""
    running: set[int] = set()
    while (received := _received(control)) is not None:
        asked, streams = received
        if (pid := asked.get("ended")) is not None:
            answer = _exit_code(pid)
            running -= {pid} if answer is not None else set()
        else:
            answer = os.fork()
            if answer == 0:
                return _become(asked, streams)
            running.add(answer)
        for stream in streams:
            os.close(stream)
        control.sendall(json.dumps(answer).encode() + b"\n")
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return None


def _received(control: socket.socket) -> tuple[Asked, list[int]] | None:
    head, streams, *_ = socket.recv_fds(control, _LENGTH.size, 3)
    if not head:
        return None
    body = control.recv(_LENGTH.unpack(head)[0], socket.MSG_WAITALL)
    return json.loads(body), streams


def _exit_code(pid: int) -> int | None:
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def _become(asked: Asked, streams: Sequence[int]) -> Any:
    """Turn into a process that was just started with `python -c`."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    tempfile.tempdir = None
    os.chdir(asked["folder"])
    sys.argv = ["-c", *asked["given"]]
    sys.modules["__main__"] = ModuleType("__main__")
    return compile(asked["source"], "<string>", "exec", dont_inherit=True)
