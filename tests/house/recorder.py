"""Which of our own functions are entered while something happens, on whichever thread."""

from __future__ import annotations

import dis
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from pathlib import Path
from traceback import walk_stack
from types import CodeType, FrameType
from typing import Any

HANGS_S = 60.0
_RESUMABLE = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
# Later Pythons make no function of a comprehension, and a reader hops nowhere to read one.
_NO_FUNCTION = ("<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hops:
    """Distinct functions that were entered, the modules they lie in, and how often they were.

    `depth` is how many of them were under way where the path ended: on the stack that led there,
    and those that waited for it, on whichever thread. It is 0 for a path without such an end.
    """

    functions: int
    modules: int
    calls: int
    depth: int = 0


class Recorder:
    """A profile function. Only code below `folder` counts, and only while `hops` is under way."""

    def __init__(self, folder: Path) -> None:
        self._folder = f"{folder}{os.sep}"
        self._elsewhere = set(sys._current_frames())  # threads that were there before
        self._entered: list[CodeType] = []  # a list, because threads can append without a lock
        self._on = False
        self._until: CodeType | None = None
        self._awaiting: set[FrameType] = set()  # coroutines that began and are not over
        self._depth = 0

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """What the interpreter calls: "call" says that a function was entered or resumed."""
        if not self._on or event not in ("call", "return") or not self._is_own(frame):
            return
        code = frame.f_code
        if event == "return":
            if not _is_paused(frame, code):
                self._awaiting.discard(frame)
        elif code is self._until:
            self._on, self._depth = False, self._depth_at(frame)
        elif code.co_name not in _NO_FUNCTION and _is_fresh(frame, code):
            self._entered.append(code)
            if code.co_flags & CO_COROUTINE:
                self._awaiting.add(frame)

    def hops(self, act: Callable[[], object], until: Callable[..., Any] | None = None) -> Hops:
        """What `act` enters up to its end, or up to `until`, which itself does not count."""
        self._entered, self._until = [], until.__code__ if until else None
        self._awaiting, self._depth = set(), 0
        self._on = True
        try:
            act()
        finally:
            reached, self._on = not self._on, False
        if until and not reached:
            raise RuntimeError(f"{until.__qualname__} was never entered")
        return replace(_counted(self._entered), depth=self._depth)

    def settle(self) -> None:
        """Wait until no other thread is inside a function of ours: the last act is over."""
        pause = threading.Event()
        for _ in range(int(HANGS_S / 0.001)):
            if not self._is_busy():
                return
            pause.wait(0.001)
        raise RuntimeError("something of ours does not come to rest")

    def _is_busy(self) -> bool:
        heard = (top for id, top in sys._current_frames().items() if id not in self._elsewhere)
        return any(self._is_own(frame) for top in heard for frame, _ in walk_stack(top))

    def _depth_at(self, end: FrameType) -> int:
        stack = {frame for frame, _ in walk_stack(end.f_back) if self._is_own(frame)}
        under_way = stack | self._awaiting
        return sum(frame.f_code.co_name not in _NO_FUNCTION for frame in under_way)

    def _is_own(self, frame: FrameType) -> bool:
        return frame.f_code.co_filename.startswith(self._folder)


@contextmanager
def recording(folder: Path) -> Iterator[Recorder]:
    """A recorder that hears this thread and every one that is started meanwhile."""
    before, before_threads = sys.getprofile(), threading.getprofile()
    recorder = Recorder(folder)
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        yield recorder
    finally:
        sys.setprofile(before)
        threading.setprofile(before_threads)


def _counted(entered: list[CodeType]) -> Hops:
    functions = {(code.co_filename, code.co_firstlineno, code.co_qualname) for code in entered}
    modules = {file for file, _, _ in functions}
    return Hops(functions=len(functions), modules=len(modules), calls=len(entered))


def _is_fresh(frame: FrameType, code: CodeType) -> bool:
    """Whether a generator or coroutine begins; going on after a pause is no call."""
    return not code.co_flags & _RESUMABLE or frame.f_lasti == _first(code)


def _is_paused(frame: FrameType, code: CodeType) -> bool:
    """Whether a coroutine only waits; else it is over."""
    return bool(code.co_flags & CO_COROUTINE) and frame.f_lasti in _pauses(code)


@cache
def _pauses(code: CodeType) -> frozenset[int]:
    return frozenset(
        each.offset for each in dis.get_instructions(code) if each.opname == "YIELD_VALUE"
    )


@cache
def _first(code: CodeType) -> int:
    return next(each.offset for each in dis.get_instructions(code) if each.opname == "RESUME")
