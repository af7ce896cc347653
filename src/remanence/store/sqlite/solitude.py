"""One caller at a time, across processes: byte locks on a file beside the database.

Such locks belong to a process and vanish when any of its handles on the file is closed, so there
is one handle per file, which stays open, and a set of the names taken within the process.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

from remanence.errors import StoreError
from remanence.store.sqlite.opening import IN_MEMORY

_lock = threading.Lock()
_handles: dict[str, int] = {}
_taken: set[tuple[int, str, str]] = set()


@contextmanager
def alone(path: str, identity: str, name: str) -> Iterator[bool]:
    """Whether nobody else has that name in the store now; it is given back at the end."""
    mark = (os.getpid(), identity, name)
    got = _take(path, mark)
    try:
        yield got
    finally:
        if got:
            _give_back(path, mark)


def _take(path: str, mark: tuple[int, str, str]) -> bool:
    with _lock:
        if mark in _taken or not _locked(path, mark[2], fcntl.LOCK_EX | fcntl.LOCK_NB):
            return False
        _taken.add(mark)
        return True


def _give_back(path: str, mark: tuple[int, str, str]) -> None:
    with _lock:
        _taken.discard(mark)
        _locked(path, mark[2], fcntl.LOCK_UN)


def _locked(path: str, name: str, how: int) -> bool:
    if path == IN_MEMORY:
        return True
    place = int.from_bytes(blake2b(name.encode(), digest_size=7).digest())
    try:
        fcntl.lockf(_handle(f"{path}.lock"), how, 1, place)
    except BlockingIOError:
        return False
    except OSError as error:
        raise StoreError(f"{path}.lock cannot be locked ({error}); check its rights.") from error
    return True


def _handle(path: str) -> int:
    real = os.path.realpath(path)
    if real not in _handles:
        _handles[real] = os.open(real, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return _handles[real]
