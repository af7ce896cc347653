"""Turns at computing: threads take the interpreter from each other less often."""

from __future__ import annotations

from functools import cache

from remanence.forks import ForkSafeLock


@cache
def computing() -> ForkSafeLock:
    """Held by the one thread of this process that works on many small arrays.

    NumPy lets go of the interpreter at each array of some size. Threads that compute at the same
    time then wait for each other a hundred times in one search, which took 20 ms of processor time
    with 8 threads and 12 with one. Whoever holds it neither reads from a store nor waits for
    anything else.
    """
    return ForkSafeLock()
