"""How long a test waits before it calls something hung; never a measure of speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

HANG_S = 600.0
State = TypeVar("State")


def until(state: Callable[[], State], hang_s: float = HANG_S) -> State:
    """What something else brings about, once it is there."""
    deadline = time.monotonic() + hang_s
    while not (found := state()):
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.005)
    return found
