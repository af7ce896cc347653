"""One caller at a time, across processes: byte locks on a file beside the database.

Such locks belong to a process and vanish when any of its handles on the file is closed, so there
is one handle per file, which stays open, and a set of the names taken within the process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b

from remanence.errors import StoreError
from remanence.forks import ForkSafeLock
from remanence.store.sqlite.opening import IN_MEMORY
from remanence.system.locks import try_lock, unlock

_lock = ForkSafeLock()
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
        if mark in _taken or not _on_file(try_lock, path, mark[2]):
            return False
        _taken.add(mark)
        return True


def _give_back(path: str, mark: tuple[int, str, str]) -> None:
    with _lock:
        _taken.discard(mark)
        _on_file(unlock, path, mark[2])


def _on_file(act: Callable[[int, int], bool | None], path: str, name: str) -> bool:
    if path == IN_MEMORY:
        return True
    place = int.from_bytes(blake2b(name.encode(), digest_size=7).digest())
    try:
        return act(_handle(f"{path}.lock"), place) is not False
    except OSError as error:
        raise StoreError(f"{path}.lock cannot be locked ({error}); check its rights.") from error


def _handle(path: str) -> int:
    real = os.path.realpath(path)
    if real not in _handles:
        _handles[real] = os.open(real, os.O_RDWR | os.O_CREAT, 0o600)
    return _handles[real]
