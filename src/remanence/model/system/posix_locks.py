"""Locks on files as Linux and macOS have them."""

from __future__ import annotations

import fcntl


def try_lock(file: int, place: int = 0) -> bool:
    """Take the byte at `place` for this process; False if another process has it.

    Whether this process has it already is for the caller to know: POSIX says yes to a second try
    and Windows no. On POSIX the lock goes when any handle of this process on the file is closed.
    """
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except (BlockingIOError, PermissionError):  # either, says POSIX, where another has it
        return False
    return True


def unlock(file: int, place: int = 0) -> None:
    """Give a byte back."""
    fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


def wait_alone(file: int) -> None:
    """Wait until this handle has the file, whichever thread or process has it now.

    It is given back when the handle is closed. Others can read the file meanwhile.
    """
    fcntl.flock(file, fcntl.LOCK_EX)
