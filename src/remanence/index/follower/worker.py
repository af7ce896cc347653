"""The thread that catches up: what was written to, and what was asked for in vain."""

from __future__ import annotations

import logging
import threading

from remanence.errors import Closed, IndexUnavailable, RemanenceError
from remanence.index.follower.following import Following
from remanence.index.follower.source import FollowedSource

PAUSE_S = 1.0
WATCH_S = 0.2
_log = logging.getLogger(__name__)


class Worker:
    """Runs from the first use to `stop`; a forked child makes one of its own."""

    def __init__(self, source: FollowedSource, following: Following) -> None:
        self._source, self._following = source, following
        self._lock = threading.Lock()
        self._owed: set[int] = set()
        self._doubted: set[int] = set()
        self._stopping = following.stopping
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, if not begun."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="remanence-follower", daemon=True
                )
                self._thread.start()

    def owe(self, partition: int) -> None:
        """This partition must be brought up to date."""
        with self._lock:
            self._owed.add(partition)

    def doubt(self, partition: int) -> None:
        """The engine gave fewer points of this partition than the store has: look into it."""
        with self._lock:
            self._doubted.add(partition)

    @property
    def owed(self) -> set[int]:
        """Partitions that wait."""
        with self._lock:
            return self._owed | self._doubted

    def stop(self, within_s: float) -> None:
        """End the thread; what is owed is found again by whoever next asks for it."""
        self._stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(within_s)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._turn()
            except Closed:
                return
            except RemanenceError as error:
                _log.info("the vector index waits: %s", error)
                self._stopping.wait(PAUSE_S)

    def _turn(self) -> None:
        following = self._following
        if following.access.problem and not following.access.probe():
            self._stopping.wait(PAUSE_S)
            return
        failed: IndexUnavailable | None = None
        for waiting, act in ((self._owed, following.bring), (self._doubted, following.renew)):
            for partition in self._listed(waiting):
                if self._stopping.is_set():
                    return
                try:
                    if act(partition):
                        self._settle(waiting, partition)
                except IndexUnavailable as error:
                    failed = error
                    if following.access.problem:
                        break
        for partition in self._source.watch(WATCH_S):
            self.owe(partition)
        if failed is not None:
            raise failed

    def _listed(self, waiting: set[int]) -> list[int]:
        with self._lock:
            return sorted(waiting)

    def _settle(self, waiting: set[int], partition: int) -> None:
        with self._lock:
            waiting.discard(partition)
