"""Files that hold chat histories: plain or in a zip, which is read and never unpacked."""

from __future__ import annotations

import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from remanence.errors import InvalidInput

MAX_MEMBER = 16 << 30
MAX_RATIO = 200  # chats in JSON shrink to a fifth or a tenth; a bomb to a thousandth
SMALL = 1 << 20  # too little to be a bomb, however well it was packed
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others unpack without a bound

_HISTORY = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json", re.IGNORECASE)
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")


class Readable(Protocol):
    """What a file is read through."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, at most so many; none at the end."""


@dataclass(frozen=True, slots=True)
class Part:
    """One stream of JSON, with its length in bytes; 0 if that is not known."""

    stream: Readable
    size: int = 0


@contextmanager
def parts_of(path: Path) -> Iterator[Iterator[Part]]:
    """The streams of a file: itself, or each `conversations.json` of a zip."""
    if "\0" in str(path):
        raise InvalidInput("A file's name cannot hold a NUL character; check it.")
    if not stat.S_ISREG(path.stat().st_mode):
        raise InvalidInput(f"{path} is not a file; name one, or pipe it in and say -.")
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic not in _ZIPS:
            yield iter([Part(file, path.stat().st_size)])
            return
        with _archive(path, file) as archive:
            yield _members(path, archive)


def _archive(path: Path, file: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise InvalidInput(f"{path} is a damaged zip ({error}); get it again.") from error


def _members(path: Path, archive: zipfile.ZipFile) -> Iterator[Part]:
    found = [each for each in archive.infolist() if _is_history(each)]
    if not found:
        raise InvalidInput(
            f"{path} holds no conversations.json; it is not an export of ChatGPT or Claude."
        )
    for each in found:
        _check(path, each)
    for each in sorted(found, key=lambda one: one.filename):
        yield Part(_Unpacked(archive, each), each.file_size)


def _is_history(member: zipfile.ZipInfo) -> bool:
    is_link = stat.S_ISLNK(member.external_attr >> 16)
    return not is_link and _HISTORY.fullmatch(member.filename) is not None


def _check(path: Path, member: zipfile.ZipInfo) -> None:
    size, packed = member.file_size, max(member.compress_size, 1)
    if size > MAX_MEMBER or size > max(packed * MAX_RATIO, SMALL):
        raise InvalidInput(
            f"{path} holds a file of {size:,} bytes packed into {packed:,}: no chat history is "
            "like that. Unpack it yourself if you trust it, and import what is in it."
        )
    if member.compress_type not in PACKINGS or member.flag_bits & 1:
        raise InvalidInput(
            f"{path} is packed in a way, or with a password, that is not read here; unpack it and "
            "import the file in it."
        )


class _Unpacked:
    """A member of a zip; what is wrong with it shows as `InvalidInput`."""

    def __init__(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
        self._archive = archive
        self._member = member
        self._stream: IO[bytes] | None = None

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes; zipfile itself gives no more than the zip says, and checks the sum."""
        try:
            if self._stream is None:
                self._stream = self._archive.open(self._member)
            return self._stream.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
            raise InvalidInput(f"The zip is damaged ({str(error)[:80]}); get it again.") from error
