"""Locks between processes, on files; the kernel frees them when their holder dies."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold `path` alone; others wait."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def join(file: IO[str]) -> None:
    """Count as a user of `file` until it is closed."""
    fcntl.flock(file, fcntl.LOCK_SH)


def last(file: IO[str]) -> bool:
    """Whether no other process counts as a user; after this, the caller no longer counts."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
