"""Locks that processes have on files; they go when the process ends, however it ends."""

from __future__ import annotations

try:
    from remanence.system import posix_locks as _own
except ImportError:
    from remanence.system import windows_locks as _own  # type: ignore[no-redef]


def try_lock(file: int, place: int = 0) -> bool:
    """Take the byte at `place` for this process; False if another process has it.

    Whether this process has it already is for the caller to know: POSIX says yes to a second try
    and Windows no. On POSIX the lock goes when any handle of this process on the file is closed.
    """
    return _own.try_lock(file, place)


def unlock(file: int, place: int = 0) -> None:
    """Give a byte back."""
    _own.unlock(file, place)


def wait_alone(file: int) -> None:
    """Wait until this handle has the file, whichever thread or process has it now.

    It is given back when the handle is closed. Others can read the file meanwhile.
    """
    _own.wait_alone(file)
