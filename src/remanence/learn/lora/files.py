"""Files that appear whole or not at all, readable by their owner alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from remanence.errors import InvalidInput, StoreError
from remanence.system.files import create, replace, sync

_SQLITE = b"SQLite format 3\0"


def folder_of(what: str, value: object) -> Path:
    """A path as callers give it, made absolute."""
    if not isinstance(value, str | os.PathLike) or not str(value) or "\0" in str(value):
        raise InvalidInput(f"{what} must be a path, not {str(value)[:40]!r}.")
    return Path(value).expanduser().absolute()


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse a file that is there unless it is given up; a database or a device never is."""
    if os.path.lexists(path) and not overwrite:
        raise InvalidInput(f"{path} exists already; pass overwrite to replace it.")
    if path.is_file() and _is_database(path):
        raise InvalidInput(f"{path} is a database; write to another file.")
    if path.exists() and not path.is_file():
        raise InvalidInput(f"{path} is no plain file; write to another one.")


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in place of what was there."""
    replace_whole(path, lambda draft: draft.write_bytes(content))


def replace_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a draft, then give it the name; a crash leaves the old file or the new."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.unlink(missing_ok=True)
        create(draft)
        write(draft)
        sync(draft)
        replace(draft, path)
        sync(path.parent)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written ({error}); free space or fix its rights."
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error}); fix its rights.") from error
