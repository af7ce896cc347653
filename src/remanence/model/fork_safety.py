"""One hook on `os.fork` for all that holds connections or locks; and the one lock on computing."""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """What wants to know of a fork."""

    def before_fork(self) -> object:
        """About to fork, in the thread that forks."""

    def after_fork_in_parent(self) -> None:
        """Forked; this is the parent."""

    def after_fork_in_child(self) -> None:
        """Forked; this is the child."""


def watch(one: Forkable) -> None:
    """Tell `one` of every fork as long as it lives."""
    _watched().add(one)


class ForkSafeLock:
    """A lock that is held across every fork, so that both sides find what it guards whole.

    A thread may take it twice: what is dropped inside may want it once more to be closed.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.acquire = self.before_fork = self._lock.acquire
        self.release = self.after_fork_in_parent = self.after_fork_in_child = self._lock.release
        watch(self)

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


@cache
def _watched() -> WeakSet[Forkable]:
    watched: WeakSet[Forkable] = WeakSet()
    prepared: list[Forkable] = []

    def before() -> None:
        prepared.extend(watched)
        for one in prepared:
            one.before_fork()

    def in_parent() -> None:
        while prepared:
            prepared.pop().after_fork_in_parent()

    def in_child() -> None:
        while prepared:
            prepared.pop().after_fork_in_child()

    if hasattr(os, "register_at_fork"):  # Windows has no fork
        os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)
    return watched


@cache
def computing() -> ForkSafeLock:
    """Held by the one thread of this process that works on many small arrays.

    NumPy lets go of the interpreter at each array of some size. Threads that compute at the same
    time then wait for each other a hundred times in one search, which took 20 ms of processor time
    with 8 threads and 12 with one. Whoever holds it neither reads from a store nor waits for
    anything else.
    """
    return ForkSafeLock()
