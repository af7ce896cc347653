"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from remanence.errors import RemanenceError, StoreError
from remanence.model.system.files import create, remove, replace, sync


@contextmanager
def growing(target: Path, *suffixes: str) -> Iterator[Path]:
    """A new private file beside `target` to write to; what is left of it at the end is removed.

    `suffixes` name companions of it that go with it.
    """
    copy = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        create(copy)
        yield copy
    except RemanenceError:
        raise
    except (OSError, ValueError) as error:
        raise StoreError(f"{str(target)!r} cannot be written ({error}).") from error
    finally:
        for suffix in ("", *suffixes):
            remove(copy.with_name(copy.name + suffix))


def put(copy: Path, target: Path) -> None:
    """Give a file that is whole its name, for good."""
    sync(copy)
    replace(copy, target)
    sync(target.parent)
