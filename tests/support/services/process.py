"""One server process on loopback: started with a keeper, awaited, killed, started again."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from remanence.testing.patience import HANG_S
from support.services.loopback import free_ports, listens

KEEPER = Path(__file__).with_name("keeper.py")
ATTEMPTS = 3


class ServiceFailed(RuntimeError):
    """A server did not start or did not answer; the message holds the end of its log."""


class ServiceMissing(RuntimeError):
    """A server's program is not installed; the message holds the command that mends it."""


class ServiceEnded(ServiceFailed):
    """A server ended before it answered, as one does whose port was taken meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to run a server; `answers` tells whether it takes requests on `port`.

    It works in `folder`. When its owner dies without stopping it, `home`, which is that folder
    unless a service has several, is removed.
    """

    command: Sequence[str]
    folder: Path
    port: int
    answers: Callable[[], bool]
    environment: Mapping[str, str] = field(default_factory=dict)
    home: Path | None = None
    user: int | None = None
    ending: signal.Signals = signal.SIGTERM
    owner: int = field(default_factory=os.getpid)


class Process:
    """A server that runs as `launch` says and ends, at the latest, with the launch's owner."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.pid = 0
        self._keeper: subprocess.Popen[str] | None = None

    @property
    def keeper(self) -> int:
        """The process to send SIGTERM to, from anywhere, to stop the server."""
        return self._keeper.pid if self._keeper else 0

    @property
    def running(self) -> bool:
        return self._keeper is not None and self._keeper.poll() is None

    @property
    def log(self) -> str:
        """The last lines that the server wrote."""
        return "\n".join(self._log_file.read_text(errors="replace").splitlines()[-20:])

    def start(self) -> None:
        """Start and wait until it answers; what it stored earlier is there again."""
        if self.running:
            raise ServiceFailed(f"Process {self.pid} still runs; kill or stop it first.")
        launch = self.launch
        arguments = [
            launch.owner,
            int(launch.ending),
            launch.home or launch.folder,
            launch.user or "",
        ]
        with self._log_file.open("a") as log:
            self._keeper = subprocess.Popen(
                [sys.executable, "-IS", KEEPER, *map(str, arguments), *launch.command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=launch.folder,
                env={**os.environ, **launch.environment},
                start_new_session=True,  # Ctrl-C is for the tests, whose teardown stops us
            )
        assert self._keeper.stdout is not None
        with self._keeper.stdout as told:
            self.pid = int(told.readline() or 0)
        self.until(lambda: launch.answers() and listens(self.pid, launch.port))

    def until(self, reached: Callable[[], bool]) -> None:
        """Wait for a state of the server; stop it and raise when it ends or takes too long."""
        deadline = time.monotonic() + HANG_S
        while self.running and time.monotonic() < deadline:
            if reached():
                return
            time.sleep(0.02)
        kind = ServiceFailed if self.running else ServiceEnded
        self.stop()
        raise kind(f"{self.launch.command[0]} is not ready. Its log ends:\n{self.log}")

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        assert self.running, "start it before killing it"
        os.kill(self.pid, signal.SIGKILL)
        self._wait()

    def stop(self) -> None:
        """End it in its own orderly way; a second call does nothing."""
        if self.running:
            os.kill(self.keeper, signal.SIGTERM)
        self._wait()

    def let_go(self) -> None:
        """Another process ends it, or has; this one leaves it running and does not wait for it."""
        if self._keeper is not None and self._keeper.poll() is None:
            self._keeper.returncode = 0  # or it would warn that it still runs

    def _wait(self) -> None:
        if self._keeper is not None:
            self._keeper.wait()

    @property
    def _log_file(self) -> Path:
        return self.launch.folder / f"{self.launch.port}.log"


class Service:
    """Processes that make up one service, and the URLs to reach them at."""

    def __init__(self, processes: Sequence[Process], urls: Sequence[str]) -> None:
        self.processes = tuple(processes)
        self.urls = tuple(urls)

    @property
    def url(self) -> str:
        return self.urls[0]

    def start_all(self) -> None:
        """Start every process, the first one first; when one fails, stop the others."""
        try:
            for process in self.processes:
                process.start()
            self.gather()
        except BaseException:
            self.stop()
            raise

    def gather(self) -> None:
        """Wait until the nodes work together; called when all of them run."""

    def kill(self, node: int = 0) -> None:
        """SIGKILL one node, and wait until it is gone."""
        self.processes[node].kill()

    def restart(self, node: int = 0) -> None:
        """Start a killed node again with its data; with the last one, the cluster is whole."""
        self.processes[node].start()
        if all(process.running for process in self.processes):
            self.gather()

    def stop(self) -> None:
        """End every node in its orderly way; a second call does nothing."""
        for process in self.processes:
            process.stop()

    def let_go(self) -> None:
        """Leave every node running; another process of the run ends them."""
        for process in self.processes:
            process.let_go()


S = TypeVar("S", bound=Service)


def stop_kept(keeper: int) -> None:
    """Stop a server that another process of the run may have started, and wait for its end."""
    with suppress(ProcessLookupError):
        os.kill(keeper, signal.SIGTERM)
    ended(keeper)


def ended(pid: int, within_s: float | None = None) -> bool:
    """Wait for the end of any process; a zombie that nobody collects has ended too."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    try:
        return bool(poll.poll(None if within_s is None else within_s * 1000))
    finally:
        os.close(descriptor)


def on_free_ports(count: int, make: Callable[[list[int]], S]) -> S:
    """Make and start a service on free ports, on others when one was taken meanwhile."""
    for left in reversed(range(ATTEMPTS)):
        service = make(free_ports(count))
        try:
            service.start_all()
        except ServiceEnded:
            if not left:
                raise
        else:
            return service
    raise AssertionError("unreachable")


def folder_of(package: str, requirement: str) -> Path:
    """Where a package that brings a server is installed; the package itself is not imported."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ServiceMissing(
            f"The tests need {requirement}. Run: pip install -c constraints.txt {requirement}"
        )
    return Path(spec.submodule_search_locations[0])
