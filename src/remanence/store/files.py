"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from remanence.errors import RemanenceError, StoreError


@contextmanager
def growing(target: Path, *suffixes: str) -> Iterator[Path]:
    """A new private file beside `target` to write to; what is left of it at the end is removed.

    `suffixes` name companions of it that go with it.
    """
    copy = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        yield copy
    except RemanenceError:
        raise
    except (OSError, ValueError) as error:
        raise StoreError(f"{str(target)!r} cannot be written ({error}).") from error
    finally:
        for suffix in ("", *suffixes):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)


def put(copy: Path, target: Path) -> None:
    """Give a file that is whole its name, for good."""
    _sync(copy)
    os.replace(copy, target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
