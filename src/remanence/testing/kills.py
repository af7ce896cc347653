"""Processes that are killed at any moment of their work."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time


class Kills:
    """Runs of a program that says "go" when its work begins and "done" when it ends.

    The moment of a kill is drawn from the time a whole run took. A run that came to its end
    before its kill halves that time: a machine may be slower during the one run than the others.
    """

    def __init__(self, program: str) -> None:
        self._program = program
        seed = random.randrange(2**32)
        print(f"seed {seed}")
        self.chance = random.Random(seed)
        self._span_s = 0.0
        self.cut_off = 0

    def whole(self, *given: object) -> None:
        """Let one run end by itself, and remember how long that takes."""
        process = self._started(*given)
        begun = time.monotonic()
        assert process.stdout is not None
        assert process.stdout.readline() == b"done\n"
        self._span_s = time.monotonic() - begun
        _told(process)

    def kill(self, *given: object) -> None:
        """Start a run and kill it somewhere; `cut_off` counts those that had not ended."""
        process = self._started(*given)
        time.sleep(self.chance.random() * self._span_s)
        process.send_signal(signal.SIGKILL)
        if _told(process) == b"done\n":
            self._span_s /= 2
        else:
            self.cut_off += 1

    def _started(self, *given: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", self._program, *map(str, given)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"go\n"
        return process


def _told(process: subprocess.Popen[bytes]) -> bytes:
    """The rest of what it said; it is gone in any case."""
    told, _ = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGKILL)
    return told
