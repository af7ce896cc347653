"""Files that appear whole or not at all, readable by their owner alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from remanence.errors import InvalidInput, StoreError


def folder_of(what: str, value: object) -> Path:
    """A path as callers give it, made absolute."""
    if not isinstance(value, str | os.PathLike) or not str(value) or "\0" in str(value):
        raise InvalidInput(f"{what} must be a path, not {str(value)[:40]!r}.")
    return Path(value).expanduser().absolute()


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in place of what was there."""
    replace_whole(path, lambda draft: draft.write_bytes(content))


def replace_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a draft, then give it the name; a crash leaves the old file or the new."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        write(draft)
        _settle(draft)
        os.replace(draft, path)
        _settle(path.parent)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written ({error}); free space or fix its rights."
        ) from (error)


def _settle(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
