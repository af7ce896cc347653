"""This process, told so that others on the machine can see whether it is still there."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

_PROC = Path("/proc")
_SIGN = "|"


def this_process() -> str:
    """A name that no other process has, nor ever had; empty where none can be made.

    Who is told it can ask `is_gone`, on this machine.
    """
    born = _born(os.getpid())
    return _SIGN.join((_machine(), str(os.getpid()), born)) if _machine() and born else ""


def is_gone(process: str) -> bool:
    """Whether a process that was on this machine has ended; False where that cannot be known."""
    machine, _, rest = process.partition(_SIGN)
    number, _, born = rest.partition(_SIGN)
    if not machine or machine != _machine() or not number.isdecimal():
        return False
    return _born(int(number)) != born


@lru_cache(maxsize=1)
def _machine() -> str:
    """This start of the machine, and whose processes are numbered together (containers)."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}.{os.readlink(_PROC / 'self/ns/pid')}"
    except OSError:
        return ""


def _born(number: int) -> str:
    """When a process began, in ticks of its machine; empty if there is none, or a dead one."""
    try:
        told = (_PROC / str(number) / "stat").read_text()
    except OSError:
        return ""
    # The name of the program, in brackets, may hold anything.
    state, *fields = told.rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]
