"""Files as every operating system lets them be: opened as bytes, synced, replaced, removed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path, PurePath
from urllib.parse import quote

# Where not, rights are lists of who may do what, and come from the folder.
RIGHTS_ARE_MODES = os.name == "posix"
# Where not, a file that somebody has open keeps its name.
OPEN_FILES_MOVE = os.name == "posix"
SYNCS_FOLDERS = os.name == "posix"

BINARY: int = getattr(os, "O_BINARY", 0)
_PATIENCE_S = 2.0  # for whoever has a file open for a moment: another reader, a virus scanner
_LOOK_S = 0.02
_position = threading.Lock()


def create(path: str | Path, *, exclusive: bool = True) -> None:
    """Make an empty file that only its owner may read."""
    how = os.O_RDWR | os.O_CREAT | (os.O_EXCL if exclusive else 0)
    os.close(os.open(path, how, 0o600))


def read_at(file: int, size: int, place: int) -> bytes:
    """Up to `size` bytes from `place` on; threads may share the handle."""
    if hasattr(os, "pread"):
        return os.pread(file, size, place)
    with _position:
        os.lseek(file, place, os.SEEK_SET)
        return os.read(file, size)


def sync(path: Path) -> None:
    """What was written to a file, or the names in a folder, outlast a power cut."""
    if path.is_dir() and not SYNCS_FOLDERS:
        return
    # Windows syncs only what may be written; a folder is only read.
    file = os.open(path, (os.O_RDONLY if path.is_dir() else os.O_RDWR) | BINARY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def replace(new: Path, old: Path) -> None:
    """Give a file the name of another, at once; who has that one open keeps what it has."""
    _patiently(lambda: os.replace(new, old))


def remove(path: Path) -> None:
    """Remove a file, if it is there."""
    _patiently(lambda: path.unlink(missing_ok=True))


def address_of(path: PurePath) -> str:
    """A file as SQLite takes it in the form of an address; `path` is absolute."""
    letter = path.drive.endswith(":")
    return f"file://{'/' if letter else ''}{quote(path.as_posix(), safe='/:')}"


def _patiently(act: Callable[[], None]) -> None:
    """Try again for a while where a file that is open cannot be touched."""
    until = time.monotonic() + (0.0 if OPEN_FILES_MOVE else _PATIENCE_S)
    while True:
        try:
            return act()
        except PermissionError:
            if time.monotonic() >= until:
                raise
            time.sleep(_LOOK_S)
