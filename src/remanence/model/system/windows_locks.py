"""Locks on files as Windows has them: of a handle, and nobody else reads what is locked."""

from __future__ import annotations

import os
import threading
import time
from importlib import import_module
from typing import Any

_PLACES = 1 << 31  # the C library counts places in 32 bits with a sign
_LAST = _PLACES - 1  # past the end of any file that is written here, so that it can be read
_LOOK_S = 0.01
_position = threading.Lock()  # a lock is put where the handle stands


def try_lock(file: int, place: int = 0) -> bool:
    """As in `posix_locks`. Two places may be one here; then one of them is taken for the other."""
    try:
        _locking(file, _msvcrt().LK_NBLCK, place % _PLACES)
    except PermissionError:
        return False
    return True


def unlock(file: int, place: int = 0) -> None:
    """As in `posix_locks`."""
    _locking(file, _msvcrt().LK_UNLCK, place % _PLACES)


def wait_alone(file: int) -> None:
    """As in `posix_locks`."""
    while not try_lock(file, _LAST):
        time.sleep(_LOOK_S)


def _locking(file: int, how: int, place: int) -> None:
    with _position:
        os.lseek(file, place, os.SEEK_SET)
        _msvcrt().locking(file, how, 1)


def _msvcrt() -> Any:
    return import_module("msvcrt")  # where it is used: only Windows has it
