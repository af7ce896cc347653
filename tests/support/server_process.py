"""`rem serve` as a process of its own, on a free port of this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import psutil

from remanence.testing.patience import HANG_S
from support import http

MAIN = "from remanence.cli.app import main; main()"
# Put before: when its starter dies without stopping it, the kernel asks it to end (Linux).
ENDS_WITH_ITS_STARTER = "import ctypes; ctypes.CDLL(None).prctl(1, 15)\n"
_URL = re.compile(r"^Remanence \S+ at (http://\S+) ")


class ServerProcess:
    """A server that was started; what it says on stderr is kept."""

    def __init__(self, database: str | Path, *options: str, before: str = "", **settings: str):
        named = {f"REMANENCE_{name.upper()}": value for name, value in settings.items()}
        self.lines: list[str] = []
        self.url = ""
        self._said = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "-c", before + MAIN, "serve", "--port", "0", *options],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **named, "REMANENCE_DATABASE": str(database)},
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr(self) -> str:
        return "".join(self.lines)

    def up(self) -> Self:
        """Wait until it listens, and has answered once."""
        with self._said:
            self._said.wait_for(lambda: self.url or self._process.poll() is not None, HANG_S)
        try:
            http.get(f"{self.url}/health", timeout=HANG_S).raise_for_status()
        except Exception as error:
            self.kill()
            raise RuntimeError(f"The server did not start:\n{self.stderr}") from error
        return self

    def __enter__(self) -> Self:
        return self.up()

    def __exit__(self, *_: object) -> None:
        """Nothing that was started is left behind."""
        if self._process.poll() is None:
            self.kill()

    def told(self, line: str) -> bool:
        """Wait until a line with this in it was logged."""
        with self._said:
            return self._said.wait_for(lambda: any(line in one for one in self.lines), HANG_S)

    def kill(self) -> None:
        """End it as a power cut would, with its workers."""
        workers = psutil.Process(self.pid).children(recursive=True)
        self._process.kill()
        for one in workers:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        self.ended()

    def stop(self) -> None:
        """Ask it to end."""
        self._process.send_signal(signal.SIGTERM)

    def ended(self) -> int:
        """Its exit code, once it has ended."""
        code = self._process.wait(HANG_S)
        self._reader.join(HANG_S)
        return code

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._said:
                self.lines.append(line)
                if found := _URL.search(line):
                    self.url = found[1]
                self._said.notify_all()
        self._process.stderr.close()
        with self._said:
            self._said.notify_all()


@contextmanager
def server_process(
    database: str | Path, *options: str, before: str = "", **settings: str
) -> Iterator[ServerProcess]:
    """A server that listens; it is asked to end at the end, and must end well."""
    with ServerProcess(database, *options, before=before, **settings) as process:
        yield process
        process.stop()
        assert process.ended() == 0, process.stderr
