"""Where the work of calls is done: a few threads, and a queue that does not grow without end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from remanence.server.problems import Overloaded

T = TypeVar("T")
WAITING = 1_000  # calls that may wait for a thread
LONG = 2  # runs of minutes that are at work at the same time


class Calls:
    """Runs the memory's verbs beside the event loop."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="call")
        self._long = ThreadPoolExecutor(LONG, thread_name_prefix="long")
        self._under_way = 0

    @property
    def waiting(self) -> int:
        """How many wait for a thread."""
        return max(0, self._under_way - self._threads)

    async def run(self, work: Callable[..., T], *args: Any, long: bool = False) -> T:
        """The result of `work(*args)`; `Overloaded` if too many wait already.

        What is `long` has threads of its own, so that a night's work holds up no question.
        """
        if self.waiting >= WAITING:
            raise Overloaded("Too many calls wait already; try again in a moment.")
        self._under_way += 1
        loop, pool = asyncio.get_running_loop(), self._long if long else self._pool
        done = loop.run_in_executor(pool, copy_context().run, work, *args)
        done.add_done_callback(self._over)
        # A caller who goes away takes nothing back: what was begun is finished, and counted.
        return await asyncio.shield(done)

    def close(self) -> None:
        """Wait for what is under way."""
        self._pool.shutdown(wait=True)
        self._long.shutdown(wait=True)

    def _over(self, done: asyncio.Future[Any]) -> None:
        self._under_way -= 1
        if not done.cancelled():
            done.exception()  # told to whoever still waits; nobody else need be warned
