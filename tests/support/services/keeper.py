"""Stands between a server and the run that owns it, so that the server never outlives the run.

Run as a file by a bare interpreter: `keeper.py OWNER SIGNAL FOLDER USER COMMAND...`. It prints the
server's pid, then waits: for SIGTERM or the owner's end, on which it ends the server with SIGNAL,
or for the server's own end. When the owner is gone, nobody else will remove FOLDER, so it does.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence

GRACE_S = 10.0
PR_SET_PDEATHSIG = 1


def keep(owner: int, ending: int, folder: str, user: str, command: Sequence[str]) -> int:
    """Run `command` until it ends, the owner ends, or somebody sends SIGTERM; its exit code."""
    asked = _wake_on_sigterm()
    owner_ends = os.pidfd_open(owner)
    server = _serve(command, int(user) if user else None)
    with contextlib.suppress(BrokenPipeError):
        print(server.pid, flush=True)
    os.close(1)
    woken = _first_of(owner_ends, asked, os.pidfd_open(server.pid))
    _end(server, ending)
    if owner_ends in woken and folder:
        shutil.rmtree(folder, ignore_errors=True)
    return server.returncode


def _wake_on_sigterm() -> int:
    asked, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.set_wakeup_fd(wake)
    return asked


def _serve(command: Sequence[str], user: int | None) -> subprocess.Popen[bytes]:
    """The server, which dies with this process; the switch of user comes before, as it must."""
    libc = ctypes.CDLL(None)
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=2,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL),
    )


def _first_of(*descriptors: int) -> set[int]:
    poll = select.poll()
    for one in descriptors:
        poll.register(one, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll()}


def _end(server: subprocess.Popen[bytes], ending: int) -> None:
    if server.poll() is None:
        server.send_signal(ending)
    try:
        server.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


if __name__ == "__main__":
    sys.exit(keep(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5:]))
