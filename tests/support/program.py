"""A program in a process of its own: spoken to line by line, and killed when a test wants it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from remanence.testing.patience import HANG_S
from support.fork_server import fork_server


class Program:
    """Source text that runs as `python -c` would run it, begun at once.

    What it prints is read here; its errors go to `stderr`, the test's own if none is given.
    """

    def __init__(
        self,
        source: str,
        *given: object,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        stderr: int = 2,
    ) -> None:
        asked = {
            "source": source,
            "given": [str(one) for one in given],
            "environment": dict(os.environ if env is None else env),
            "folder": str(cwd or Path.cwd()),
        }
        (theirs, said), (told, told_to) = os.pipe(), os.pipe()
        self.stdin = os.fdopen(said, "w", 1, encoding="utf-8")
        self.stdout = os.fdopen(told, encoding="utf-8")
        self.returncode: int | None = None
        try:
            self.pid = fork_server().start(asked, [theirs, told_to, stderr])
        finally:
            os.close(theirs)
            os.close(told_to)

    def say(self, line: str = "") -> None:
        """A line for it to read."""
        self.stdin.write(f"{line}\n")

    def hear(self) -> str:
        """The next line it says; nothing if there is none to come."""
        return self.stdout.readline().rstrip("\n")

    def rest(self, said: str = "") -> str:
        """All that it still says until it ends, with this and nothing more to read."""
        if said:
            with suppress(BrokenPipeError):  # it may have ended already
                self.stdin.write(said)
        with suppress(BrokenPipeError):
            self.stdin.close()
        with self.stdout:
            told = self.stdout.read()
        self.wait()
        return told

    def ended(self) -> int:
        """How it ended; what it still says is passed over."""
        self.rest()
        return self.wait()

    def poll(self) -> int | None:
        """How it ended: minus the number of the signal that killed it; None while it runs."""
        if self.returncode is None:
            self.returncode = fork_server().exit_code(self.pid)
        return self.returncode

    def wait(self, timeout: float = HANG_S) -> int:
        """How it ended, once it has."""
        deadline, pause = time.monotonic() + timeout, 0.0005
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("the program", timeout)
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return code

    def send_signal(self, number: int) -> None:
        """Nothing happens to one that has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """It does not outlive this."""
        self.kill()
        self.wait()
        with suppress(BrokenPipeError):
            self.stdin.close()
        self.stdout.close()
