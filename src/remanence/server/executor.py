"""Where the work of calls is done: a few threads, shared out fairly, and a queue with an end."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from remanence.model.deadline import Deadline, hold_to
from remanence.server.problems import Overloaded

T = TypeVar("T")
WAITING = 1_000  # calls that may wait for a thread
SHARE = 500  # of them, those of one tenant
LONG = 2  # runs of minutes that a tenant has at work at the same time
PRESENT_S = 5.0  # so long after its last call a tenant still has others keep room for it
LAG_S = 5.0  # seconds of work that one tenant may be ahead of another in the reckoning
MARGIN_S = 0.05  # of work, in which two tenants count as alike
KINDNESS = 4.0  # how much longer than it worked a call may wait for those who worked less
_TOO_MANY = "Too many calls wait already; try again in a moment."
whose: ContextVar[str | None] = ContextVar("tenant", default=None)  # whose request is answered


class Calls:
    """Runs the memory's verbs beside the event loop.

    A tenant has at most `threads` calls at work. There is one thread more than that, so that
    whatever one tenant does, another's question is answered. The time that threads work for a
    tenant is charged to it: whoever had less comes first, and whoever had more has half of its
    threads, and gives way in the midst of a call, while others are there. A call that is not done
    after `timeout_s` is stopped.
    """

    def __init__(self, threads: int, timeout_s: float | None = None) -> None:
        self._timeout_s = timeout_s
        shares = WorkShares()
        self._short = _Lane(threads, "call", shares)
        self._long = _Lane(LONG, "long", shares)

    @property
    def waiting(self) -> int:
        """How many wait for a thread, or for their tenant's turn."""
        lanes = (self._short, self._long)
        return sum(max(0, lane.under_way - lane.each) for lane in lanes)

    async def run(
        self,
        work: Callable[..., T],
        *args: Any,
        long: bool = False,
        who: str | None = None,
        deadline: Deadline | None = None,
    ) -> T:
        """The result of `work(*args)`; `Overloaded` if too many wait already.

        What is `long` has threads of its own, so that a night's work holds up no question, and no
        other end than that of the `deadline` given. `who` is the tenant it is done for; if it is
        not given, the one whose request is answered.
        """
        lane = self._long if long else self._short
        if lane.under_way > lane.each and self.waiting >= WAITING:
            raise Overloaded(_TOO_MANY)
        end = deadline or Deadline(None if long else self._timeout_s)
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        lane.take(_Call(partial(work, *args), done, who or whose.get() or "", end, copy_context()))
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
    tenant: str
    end: Deadline
    context: Context

    def tell(self, how: Callable[[Any], None], what: Any) -> None:
        """Have the event loop tell whoever waits."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.done.get_loop().call_soon_threadsafe(self._told, how, what)

    def _told(self, how: Callable[[Any], None], what: Any) -> None:
        if not self.done.cancelled():
            how(what)
            self.done.exception()  # if nobody waits any more, nobody need be warned


@dataclass(slots=True)
class _Share:
    """What threads did for a tenant, in seconds, and how many of its calls are under way."""

    spent: float = 0.0
    under_way: int = 0
    last: float = 0.0


class WorkShares:
    """Whose turn it is: each tenant's work is counted, on all lanes together. Thread-safe."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._change = threading.Condition()
        self.of: dict[str, _Share] = {}  # whoever was there a moment ago

    def come(self, tenant: str) -> None:
        """A call of the tenant waits. Who was away gains nothing by it."""
        with self._change:
            share = self.of.get(tenant)
            if share is None or len(self.of) > 1:
                self._forget_absent()
                share = self.of.setdefault(tenant, _Share(self._least()))
            share.under_way += 1
            share.last = self._monotonic()

    def go(self, tenant: str) -> None:
        """A call of the tenant is done."""
        with self._change:
            share = self.of[tenant]
            share.under_way -= 1
            share.last = self._monotonic()
            self._change.notify_all()

    def charge(self, tenant: str, seconds: float) -> None:
        """Threads worked so long for the tenant."""
        with self._change:
            share = self.of[tenant]
            share.spent = min(share.spent + seconds, self._least() + LAG_S)

    def spent(self, tenant: str) -> float:
        """How long threads worked for the tenant, as far as it counts."""
        with self._change:
            share = self.of.get(tenant)
            return share.spent if share else 0.0

    def shares_with_others(self, tenant: str) -> bool:
        """Whether there are others, to whom less was given."""
        with self._change:
            self._forget_absent()
            return any(self._before(one, tenant) for one in self.of)

    def give_way(self, tenant: str, most_s: float) -> None:
        """Wait while calls of those are under way to whom less was given."""
        with self._change:
            self._change.wait_for(lambda: not self._is_behind(tenant), most_s)

    def _is_behind(self, tenant: str) -> bool:
        return any(self.of[one].under_way and self._before(one, tenant) for one in self.of)

    def _before(self, one: str, tenant: str) -> bool:
        return self.of[one].spent + MARGIN_S < self.of[tenant].spent

    def _least(self) -> float:
        return min((share.spent for share in self.of.values()), default=0.0)

    def _forget_absent(self) -> None:
        gone = self._monotonic() - PRESENT_S
        for name in [n for n, s in self.of.items() if not s.under_way and s.last < gone]:
            del self.of[name]


@dataclass(slots=True)
class _Queue:
    """A tenant's calls on one lane."""

    next: deque[_Call] = field(default_factory=deque)
    at_work: int = 0


class _Lane:
    """Threads, of which each tenant may have all but one. Thread-safe.

    A thread that is done takes the next call itself. Where the event loop handed them out, it
    first had to get hold of the interpreter, and two threads did a fifth less.
    """

    def __init__(self, each: int, name: str, shares: WorkShares) -> None:
        self.each = each
        self.under_way = 0  # calls that are not done
        self._pool = ThreadPoolExecutor(each + 1, thread_name_prefix=name)
        self._shares = shares
        self._lock = threading.Lock()
        self._threads = 0  # at work
        self._queues: dict[str, _Queue] = {}

    def take(self, call: _Call) -> None:
        """Begin with a call, or put it behind its tenant's; `Overloaded` if too many wait."""
        with self._lock:
            queue = self._queues.setdefault(call.tenant, _Queue())
            if len(queue.next) >= SHARE:
                raise Overloaded(_TOO_MANY)
            self._shares.come(call.tenant)
            queue.next.append(call)
            self.under_way += 1
            self._hire()

    def close(self) -> None:
        """Finish everything, in whatever order."""
        self._pool.shutdown(wait=True)

    def _hire(self) -> None:
        """Have another thread look for work, if there may be some for it."""
        if self._threads <= self.each and self._next() is not None:
            self._pool.submit(self._work)
            self._threads += 1

    def _work(self) -> None:
        """What a thread does, as long as there is something to do."""
        how: Callable[[Any], None]
        while call := self._taken():
            turn = _Turn(call.tenant, self._shares, time.monotonic())
            call.end.give_way = turn.give_way
            try:
                call.context.run(hold_to, call.end)
                call.end.check()  # it may have waited for its turn longer than it may take
                how, what = call.done.set_result, call.context.run(call.work)
            except StopIteration as error:  # a future does not take it
                how, what = call.done.set_exception, RuntimeError(repr(error))
            except BaseException as error:
                how, what = call.done.set_exception, error
            turn.charge()
            self._over(call.tenant)
            call.tell(how, what)

    def _taken(self) -> _Call | None:
        with self._lock:
            name = self._next()
            if name is None:
                self._threads -= 1
                return None
            queue = self._queues[name]
            queue.at_work += 1
            return queue.next.popleft()

    def _next(self) -> str | None:
        """Whose call is next: of those who may have one more, who was given least."""
        if len(self._shares.of) == 1:
            able = [n for n, q in self._queues.items() if q.next and q.at_work < self.each]
        else:
            able = [n for n, q in self._queues.items() if q.next and q.at_work < self._most(n)]
        return min(able, key=self._shares.spent) if len(able) > 1 else next(iter(able), None)

    def _most(self, tenant: str) -> int:
        """How many threads a tenant may have now; what is nobody's is the server's own."""
        if not tenant:
            return self.each + 1
        crowded = self._shares.shares_with_others(tenant)
        return max(1, self.each // 2) if crowded else self.each

    def _over(self, tenant: str) -> None:
        self._shares.go(tenant)
        with self._lock:
            self.under_way -= 1
            queue = self._queues[tenant]
            queue.at_work -= 1
            if not queue.at_work and not queue.next:
                del self._queues[tenant]
            with suppress(RuntimeError):  # closing: those that are at work do what is left
                self._hire()


@dataclass(slots=True)
class _Turn:
    """One call at work: its time is charged bit by bit, and it lets others go first."""

    tenant: str
    shares: WorkShares
    since: float

    def charge(self) -> float:
        """Charge what was worked since the last time; how long that was."""
        worked = time.monotonic() - self.since
        self.shares.charge(self.tenant, worked)
        self.since += worked
        return worked

    def give_way(self) -> None:
        """Wait for those to whom less was given, for a while; the work goes on all the same."""
        worked = self.charge()
        if self.tenant:
            self.shares.give_way(self.tenant, worked * KINDNESS)
            self.since = time.monotonic()
