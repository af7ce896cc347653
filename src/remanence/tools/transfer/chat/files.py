"""Files that hold chat histories, plain or in a zip, and the JSON values in them, one at a time."""

from __future__ import annotations

import codecs
import json
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from remanence.errors import InvalidInput
from remanence.tools.transfer.lines import refused

MAX_MEMBER = 16 << 30
MAX_RATIO = 200  # chats in JSON shrink to a fifth or a tenth; a bomb to a thousandth
SMALL = 1 << 20  # too little to be a bomb, however well it was packed
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others unpack without a bound

_HISTORY = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json", re.IGNORECASE)
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")

CHUNK = 1 << 20
MAX_VALUE = 64 << 20  # characters; the longest conversation known to anybody is a tenth of it
ESCAPE = 6  # characters of the longest
NEAR = 16  # a literal or an escape that the end of a chunk cut in two is no longer than that

_SPACE = " \t\r\n"
_WORDS = ("true", "false", "null", "-")


class ReadableFile(Protocol):
    """What a file is read through."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, at most so many; none at the end."""


@dataclass(frozen=True, slots=True)
class JsonStream:
    """One stream of JSON, with its length in bytes; 0 if that is not known."""

    stream: ReadableFile
    size: int = 0


@contextmanager
def parts_of(path: Path) -> Iterator[Iterator[JsonStream]]:
    """The streams of a file: itself, or each `conversations.json` of a zip."""
    if "\0" in str(path):
        raise InvalidInput("A file's name cannot hold a NUL character; check it.")
    if not stat.S_ISREG(path.stat().st_mode):
        raise InvalidInput(f"{path} is not a file; name one, or pipe it in and say -.")
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic not in _ZIPS:
            yield iter([JsonStream(file, path.stat().st_size)])
            return
        with _archive(path, file) as archive:
            yield _members(path, archive)


def _archive(path: Path, file: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise InvalidInput(f"{path} is a damaged zip ({error}); get it again.") from error


def _members(path: Path, archive: zipfile.ZipFile) -> Iterator[JsonStream]:
    found = [each for each in archive.infolist() if _is_history(each)]
    if not found:
        raise InvalidInput(
            f"{path} holds no conversations.json; it is not an export of ChatGPT or Claude."
        )
    for each in found:
        _check(path, each)
    for each in sorted(found, key=lambda one: one.filename):
        yield JsonStream(_Unpacked(archive, each), each.file_size)


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


class Values:
    """The items of a JSON array, or JSON values one after the other, from a stream of UTF-8.

    `InvalidInput` says where the stream is not JSON; what came before it has been given.
    """

    def __init__(self, file: ReadableFile) -> None:
        self._file = file
        self._bytes = codecs.getincrementaldecoder("utf-8-sig")()
        self._json = json.JSONDecoder(parse_constant=refused)
        self._held = ""
        self._at = 0
        self._before = 0  # characters let go of
        self._read = 0
        self._ended = False
        self._given = False

    def __iter__(self) -> Iterator[Any]:
        first = self._next()
        if not first:
            raise InvalidInput("The file is empty; there is nothing to import.")
        if first != "[":
            while self._next():
                yield self._value()
            return
        self._at += 1
        yield from self._items()
        if self._next():
            raise self._no_json("something follows the end of the list")

    @property
    def read(self) -> int:
        """About how many bytes the values given so far took."""
        seen = self._before + len(self._held)
        return self._read * (self._before + self._at) // seen if seen else 0

    def _items(self) -> Iterator[Any]:
        if self._next() != "]":
            yield self._value()
            while self._next() == ",":
                self._at += 1
                self._next()
                yield self._value()
        if not self._next():
            raise self._cut_off()
        if self._next() != "]":
            raise self._no_json("the list does not go on")
        self._at += 1

    def _next(self) -> str:
        """The next character that is no space, without taking it; none at the end."""
        while True:
            while self._at < len(self._held):
                if self._held[self._at] not in _SPACE:
                    return self._held[self._at]
                self._at += 1
            if not self._more():
                return ""

    def _value(self) -> Any:
        while True:
            try:
                value, end = self._json.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                if not (self._may_go_on(error) and self._more()):
                    raise self._broken(error) from None
            except (ValueError, RecursionError) as error:
                raise self._no_json(str(error)[:80]) from None
            else:
                length = end - self._at
                near = end > len(self._held) - NEAR and not isinstance(value, dict | list | str)
                if near and self._more():
                    continue  # a number may go on
                self._at += length
                self._given = True
                return value

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        """Whether more of the file may mend it."""
        return error.msg.startswith("Unterminated string") or error.pos > len(self._held) - NEAR

    def _more(self) -> bool:
        """Read on, as much as is held, so that no value is read over too often."""
        if self._ended:
            return False
        self._let_go()
        if len(self._held) > MAX_VALUE:
            raise InvalidInput(
                f"A conversation takes more than {MAX_VALUE:,} characters (from character "
                f"{self._before:,}); split it, or take it out of the file."
            )
        raw = self._file.read(max(CHUNK, len(self._held)))
        self._ended = not raw
        self._read += len(raw)
        try:
            self._held += self._bytes.decode(raw, final=self._ended)
        except UnicodeDecodeError:
            raise (self._cut_off() if self._ended else self._no_json("it is not UTF-8")) from None
        return not self._ended

    def _let_go(self) -> None:
        self._before += self._at
        self._held, self._at = self._held[self._at :], 0

    def _broken(self, error: json.JSONDecodeError) -> InvalidInput:
        """What more of the file would mend was cut off, anything else is no JSON."""
        rest = error.doc[error.pos :].strip()
        in_string = error.msg.startswith("Unterminated")
        in_escape = error.msg.startswith("Invalid \\") and len(rest) < ESCAPE
        begun = any(word.startswith(rest) for word in _WORDS)
        cut = self._ended and (in_string or in_escape or begun)
        return self._cut_off() if cut else self._no_json(error.msg)

    def _cut_off(self) -> InvalidInput:
        return InvalidInput(
            f"The file ends early, in what begins at character {self._place:,}: it was cut off. "
            "Get the whole file and import it again; what came before is passed over then."
        )

    def _no_json(self, why: str) -> InvalidInput:
        if not self._given:
            start = self._held[self._at :][:20]
            return InvalidInput(
                f"The file is not JSON: it begins with {start!r} ({why}). Chats are read from the "
                "JSON or the .zip that a service exports, or from your own JSON."
            )
        return InvalidInput(
            f"The file is not JSON at or after character {self._place:,} ({why}); check the file. "
            "What came before stays here."
        )

    @property
    def _place(self) -> int:
        return self._before + self._at
