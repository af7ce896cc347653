"""A worker on a thread of this process."""

from __future__ import annotations

import threading

from remanence import forks
from remanence.sleep.schedule.worker import EVERY_S, Worker

STOP_S = 1.0


class Background:
    """Runs a worker on a daemon thread from `start` to `stop`. A forked child has no such thread:
    its parent's goes on, and one worker is enough."""

    def __init__(self, worker: Worker, every_s: float = EVERY_S) -> None:
        self._worker = worker
        self._every_s = every_s
        self._lock = forks.ForkSafeLock()
        self._thread: threading.Thread | None = None
        forks.watch(self)

    @property
    def running(self) -> bool:
        """Whether the thread is alive."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def start(self) -> None:
        """Begin; nothing if it has begun."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._worker.run,
                    args=(self._every_s,),
                    name="remanence-sleep",
                    daemon=True,
                )
                self._thread.start()

    def stop(self, timeout_s: float = STOP_S) -> bool:
        """End after the transaction under way; whether the thread ended in time."""
        self._worker.stop()
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout_s)
        return not thread.is_alive()

    def before_fork(self) -> None:
        """Nothing to do: the thread may go on."""

    def after_fork_in_parent(self) -> None:
        """Nothing to do."""

    def after_fork_in_child(self) -> None:
        """The thread is the parent's; it is not here."""
        self._thread = None
