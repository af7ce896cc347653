"""How long a call may take, and whether it was called off: asked wherever work can take long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from remanence.errors import Cancelled, DeadlineExceeded

T = TypeVar("T")


class Deadline:
    """The end of one call, which every thread that works for it sees. Thread-safe.

    What was committed is never called off: after its first commit, a call may take as long again
    to come to its end. `None` seconds: it has no end, but may be cancelled.
    """

    def __init__(
        self, seconds: float | None = None, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds = seconds
        self.commits = 0
        self.give_way: Callable[[], None] | None = None  # lets others go first, for a moment
        self._monotonic = monotonic
        self._until = None if seconds is None else monotonic() + seconds
        self._why = ""

    def cancel(self, why: str = "It was cancelled") -> None:
        """Call it off: the next `check` raises `Cancelled`."""
        self._why = why

    @property
    def over(self) -> bool:
        """Whether it has passed, or was called off."""
        return bool(self._why) or (self._until is not None and self._monotonic() >= self._until)

    def left(self, most: float) -> float:
        """Seconds that are left of it, at most so many."""
        if self._why:
            return 0.0
        if self._until is None:
            return most
        return min(most, max(0.0, self._until - self._monotonic()))

    def check(self) -> None:
        """Raise if it has passed, or was called off."""
        if self._why or (self._until is not None and self._monotonic() >= self._until):
            raise self.error()

    def error(self) -> Cancelled | DeadlineExceeded:
        """What a call that is over raises."""
        if self._why:
            told = f"{self._why}; {_kept(self.commits)}"
            return Cancelled(told, committed=self.commits > 0)
        return DeadlineExceeded(
            f"This took longer than the {self.seconds:g} s that a call may take and was stopped; "
            f"{_kept(self.commits)} Ask for less at a time, raise the setting `call_timeout_s`, or "
            "have it done as a job where the operation can (`Prefer: respond-async`).",
            committed=self.commits > 0,
        )

    def committed(self) -> None:
        """A transaction of the call is durable now."""
        self.commits += 1
        if self.commits == 1:
            self._begin_anew()

    def go_on(self, inner: Deadline) -> None:
        """What was held to another deadline inside of this one is over."""
        self.commits += inner.commits
        self._begin_anew()

    def _begin_anew(self) -> None:
        if self.seconds is not None:
            self._until = self._monotonic() + self.seconds


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def hold_to(deadline: Deadline) -> None:
    """Hold what is done in this context from here on to that deadline."""
    _current.set(deadline)


@contextmanager
def within(deadline: Deadline | None) -> Iterator[None]:
    """Hold what is done here to that deadline; None: to none. Another one rests meanwhile."""
    outer, token = _current.get(), _current.set(deadline)
    if outer is not None and deadline is not None:
        deadline.give_way = deadline.give_way or outer.give_way
    try:
        yield
    finally:
        _current.reset(token)
        if outer is not None and deadline is not None:
            outer.go_on(deadline)


def unlimited() -> _Unlimited:
    """What is done here is finished whatever the deadline says: a commit, a log, a clean-up."""
    return _Unlimited()


class _Unlimited:
    """As `within(None)`, but cheap enough to stand around every commit."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _current.set(None)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def check() -> None:
    """Raise if the present call's time is over, or if it was cancelled."""
    deadline = _current.get()
    if deadline is not None:
        deadline.check()


def breathe() -> None:
    """As `check`, and let others go first: for work that holds no lock and no transaction."""
    deadline = _current.get()
    if deadline is not None:
        deadline.check()
        if deadline.give_way is not None:
            deadline.give_way()


def unhurried(some: Iterable[T], every: int = 200) -> Iterator[T]:
    """The same things, with a breath now and then: for loops over what a caller's text is long."""
    for number, one in enumerate(some, 1):
        if number % every == 0:
            breathe()
        yield one


def over() -> bool:
    """Whether the present call's time is over, or it was cancelled."""
    deadline = _current.get()
    return deadline is not None and deadline.over


def left(most: float) -> float:
    """How long the present call may wait for something, at most so many seconds."""
    deadline = _current.get()
    return most if deadline is None else deadline.left(most)


def committed() -> None:
    """A transaction of the present call is durable now."""
    deadline = _current.get()
    if deadline is not None:
        deadline.committed()


def _kept(commits: int) -> str:
    if commits:
        return "what it had committed by then stays, the rest was not done."
    return "nothing was changed."
