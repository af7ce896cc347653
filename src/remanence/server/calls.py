"""Where the work of calls is done: a few threads, and a queue that does not grow without end."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from starlette.types import ASGIApp, Receive, Scope, Send

from remanence.server.problems import Overloaded

T = TypeVar("T")
WAITING = 1_000  # calls that may wait for a thread
SHARE = 500  # of them, those of one tenant
LONG = 2  # runs of minutes that a tenant has at work at the same time
_whose: ContextVar[str | None] = ContextVar("tenant", default=None)


class Calls:
    """Runs the memory's verbs beside the event loop.

    A tenant has at most `threads` calls at work. There is one thread more than that, so that
    whatever one tenant does, another's question is answered.
    """

    def __init__(self, threads: int) -> None:
        self._short = _Lane(threads, "call")
        self._long = _Lane(LONG, "long")

    @property
    def waiting(self) -> int:
        """How many wait for a thread."""
        return self._short.waiting + self._long.waiting

    async def run(
        self, work: Callable[..., T], *args: Any, long: bool = False, who: str | None = None
    ) -> T:
        """The result of `work(*args)`; `Overloaded` if too many wait already.

        What is `long` has threads of its own, so that a night's work holds up no question. `who`
        is the tenant it is done for; if it is not given, the one whose request is answered.
        """
        lane, tenant = self._long if long else self._short, who or _whose.get()
        if self.waiting >= WAITING or lane.waiting_for(tenant) >= SHARE:
            raise Overloaded("Too many calls wait already; try again in a moment.")
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        lane.take(_Call(partial(copy_context().run, work, *args), done, tenant))
        # A caller who goes away takes nothing back: what was begun is finished, and counted.
        return await asyncio.shield(done)

    def close(self) -> None:
        """Wait for what is under way."""
        self._short.close()
        self._long.close()


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """Something to do, and whoever waits for it."""

    work: Callable[[], Any]
    done: asyncio.Future[Any]
    tenant: str | None

    def do(self) -> Callable[[], None]:
        """Do it, in a thread; what comes back tells whoever waits, in the event loop."""
        try:
            return partial(self.done.set_result, self.work())
        except StopIteration as error:  # a future does not take it
            return partial(self.done.set_exception, RuntimeError(repr(error)))
        except BaseException as error:
            return partial(self.done.set_exception, error)

    def tell(self, how: Callable[[], None]) -> None:
        """Have the event loop tell whoever waits."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.done.get_loop().call_soon_threadsafe(self._told, how)

    def _told(self, how: Callable[[], None]) -> None:
        if not self.done.cancelled():
            how()
            self.done.exception()  # if nobody waits any more, nobody need be warned


class _Lane:
    """Threads, of which each tenant may have all but one. Thread-safe.

    A thread that is done takes the next call itself. Where the event loop handed them out, it
    first had to get hold of the interpreter, and two threads did a fifth less.
    """

    def __init__(self, each: int, name: str) -> None:
        self._each = each
        self._pool = ThreadPoolExecutor(each + 1, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._threads = 0  # at work
        self._under_way = 0  # calls that are not done
        self._next: deque[_Call] = deque()
        self._begun: Counter[str] = Counter()  # by tenant: at work or next
        self._queues: dict[str, deque[_Call]] = {}  # by tenant: the others

    @property
    def waiting(self) -> int:
        """How many wait for a thread, or for their tenant's turn."""
        return max(0, self._under_way - self._each)

    def waiting_for(self, tenant: str | None) -> int:
        """How many of a tenant's wait for its turn."""
        return len(self._queues.get(tenant or "", ()))

    def take(self, call: _Call) -> None:
        """Begin with a call, or put it behind its tenant's others."""
        with self._lock:
            if call.tenant and self._begun[call.tenant] >= self._each:
                self._queues.setdefault(call.tenant, deque()).append(call)
            else:
                if self._threads <= self._each:
                    self._pool.submit(self._work)
                    self._threads += 1
                self._begin(call)
            self._under_way += 1

    def close(self) -> None:
        """Finish everything, in whatever order."""
        self._pool.shutdown(wait=True)

    def _work(self) -> None:
        """What a thread does, as long as there is something to do."""
        while call := self._taken():
            self._finish(call)

    def _finish(self, call: _Call) -> None:
        how = call.do()
        self._over(call.tenant)
        call.tell(how)

    def _taken(self) -> _Call | None:
        with self._lock:
            if self._next:
                return self._next.popleft()
            self._threads -= 1
            return None

    def _begin(self, call: _Call) -> None:
        if call.tenant:
            self._begun[call.tenant] += 1
        self._next.append(call)

    def _over(self, tenant: str | None) -> None:
        with self._lock:
            self._under_way -= 1
            if not tenant:
                return
            self._begun[tenant] -= 1
            if queue := self._queues.get(tenant):
                self._begin(queue.popleft())
            if not queue:
                self._queues.pop(tenant, None)
            if not self._begun[tenant]:
                del self._begun[tenant]


class ForTenants:
    """ASGI middleware behind the guard: what a request has done is done for its tenant."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        caller = scope.get("state", {}).get("caller")
        if caller is None:
            await self._app(scope, receive, send)
            return
        token = _whose.set(caller.tenant)
        try:
            await self._app(scope, receive, send)
        finally:
            _whose.reset(token)
