"""Locks on files as Linux and macOS have them."""

from __future__ import annotations

import fcntl


def try_lock(file: int, place: int) -> bool:
    """As in `locks`."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except (BlockingIOError, PermissionError):  # either, says POSIX, where another has it
        return False
    return True


def unlock(file: int, place: int) -> None:
    """As in `locks`."""
    fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


def wait_alone(file: int) -> None:
    """As in `locks`."""
    fcntl.flock(file, fcntl.LOCK_EX)
