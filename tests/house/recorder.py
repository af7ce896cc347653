"""Which of our own functions are entered while something happens, on whichever thread."""

from __future__ import annotations

import dis
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
    """Distinct functions that were entered, the modules they lie in, and how often they were."""

    functions: int
    modules: int
    calls: int


class Recorder:
    """A profile function. Only code below `folder` counts, and only while `hops` is under way."""

    def __init__(self, folder: Path) -> None:
        self._folder = f"{folder}{os.sep}"
        self._elsewhere = set(sys._current_frames())  # threads that were there before
        self._entered: list[CodeType] = []  # a list, because threads can append without a lock
        self._on = False
        self._until: CodeType | None = None

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """What the interpreter calls: "call" says that a function was entered or resumed."""
        if not self._on or event != "call" or not self._is_own(frame):
            return
        code = frame.f_code
        if code is self._until:
            self._on = False
        elif code.co_name not in _NO_FUNCTION and _is_fresh(frame, code):
            self._entered.append(code)

    def hops(self, act: Callable[[], object], until: Callable[..., Any] | None = None) -> Hops:
        """What `act` enters up to its end, or up to `until`, which itself does not count."""
        self._entered, self._until = [], until.__code__ if until else None
        self._on = True
        try:
            act()
        finally:
            reached, self._on = not self._on, False
        if until and not reached:
            raise RuntimeError(f"{until.__qualname__} was never entered")
        return _counted(self._entered)

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


@cache
def _first(code: CodeType) -> int:
    return next(each.offset for each in dis.get_instructions(code) if each.opname == "RESUME")
