"""One service for all workers of a test run: the first user starts it, the last one stops it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from support.services.locks import alone, join, last
from support.services.process import Service, stop_kept

LONGEST_FOLDER = 60  # a Unix socket's path may have 107 characters


@dataclass(frozen=True, slots=True)
class Running:
    """A service that runs: where to reach it, and what to end when nobody needs it any more."""

    urls: list[str]
    keepers: list[int]
    folder: str = ""

    @property
    def url(self) -> str:
        return self.urls[0]


@dataclass(frozen=True, slots=True)
class Run:
    """A test run: its folder, which all workers see, and the process that outlives them."""

    folder: Path
    owner: int

    @contextmanager
    def service(self, name: str, start: Callable[[Path, int], Service]) -> Iterator[Running]:
        """The run's service of that name, or the one that REMANENCE_TEST_<NAME> points at."""
        given = os.environ.get(f"REMANENCE_TEST_{name.upper()}")
        if given:
            yield Running(given.split(","), [])
            return
        started: Service | None = None
        with (self.folder / f"{name}.users").open("a") as users:
            with alone(self._lock(name)):
                running = self._find(name)
                if running is None:
                    folder = short_folder()
                    started = start(folder, self.owner)
                    running = self._note(name, started, folder)
                join(users)
            try:
                yield running
            finally:
                with alone(self._lock(name)):
                    if last(users):
                        self._stop(name, running)
                if started is not None:
                    started.let_go()

    def _note(self, name: str, service: Service, folder: Path) -> Running:
        keepers = [process.keeper for process in service.processes]
        running = Running(list(service.urls), keepers, str(folder))
        self._state(name).write_text(json.dumps(asdict(running)))
        return running

    def _find(self, name: str) -> Running | None:
        state = self._state(name)
        return Running(**json.loads(state.read_text())) if state.exists() else None

    def _stop(self, name: str, running: Running) -> None:
        for keeper in running.keepers:
            stop_kept(keeper)
        shutil.rmtree(running.folder)
        self._state(name).unlink()

    def _state(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _lock(self, name: str) -> Path:
        return self.folder / f"{name}.lock"


def short_folder() -> Path:
    """A new private folder whose path leaves room for the name of a socket."""
    place = tempfile.gettempdir()
    return Path(
        tempfile.mkdtemp(prefix="rem-", dir=place if len(place) < LONGEST_FOLDER else "/tmp")
    )
