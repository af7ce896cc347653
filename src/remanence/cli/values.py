"""From what a shell hands over to values: stdin, files, dates, KEY=VALUE pairs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from remanence.errors import InvalidInput

# The longest text a setting allows, at four bytes a character.
MOST_BYTES = 40_000_000


def piped_bytes(what: str) -> bytes:
    """All of stdin; a usage error where nobody pipes anything in."""
    if sys.stdin.isatty():
        raise typer.BadParameter(f"{what} is missing: give it as an argument or pipe it in.")
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InvalidInput(f"{what} on stdin is larger than {MOST_BYTES:,} bytes; send less.")
    return data


def piped_text(what: str) -> str:
    """The text on stdin, without the line end that `echo` adds."""
    return decoded(what, piped_bytes(what)).removesuffix("\n").removesuffix("\r")


def decoded(what: str, data: bytes) -> str:
    """UTF-8 as text, or `InvalidInput` that says where it breaks."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{what} is not UTF-8 text (byte {error.start}); convert it first, e.g. with iconv."
        ) from None


def moment(what: str, text: str) -> datetime:
    """A date or a date and time in ISO 8601; UTC when it names no zone."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{what} {text[:40]!r} is no date; write e.g. 2026-05-01 or 2026-05-01T18:30+02:00."
        ) from None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def pairs(what: str, texts: Sequence[str]) -> Mapping[str, Any] | None:
    """KEY=VALUE pairs and JSON objects as one mapping; None when there are none."""
    merged: dict[str, Any] = {}
    for text in texts:
        merged |= _object(what, text) if text.lstrip().startswith("{") else _pair(what, text)
    return merged or None


def json_or_text(text: str) -> Any:
    """What the text is as JSON; a text that is none is itself."""
    try:
        return json.loads(text, parse_constant=lambda word: word)
    except (ValueError, RecursionError):
        return text


def objects(what: str, path: str | None) -> tuple[Mapping[str, Any], ...]:
    """A JSON list, one JSON object, or an object a line, from a file or from stdin."""
    data = piped_bytes(what) if path in (None, "-") else _file_bytes(Path(str(path)))
    text = decoded(what, data)
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        lines = [line for line in text.splitlines() if line.strip()]
        return tuple(_line(what, number, line) for number, line in enumerate(lines, 1))
    return tuple(_mapping(what, each) for each in (read if isinstance(read, list) else [read]))


def _line(what: str, number: int, line: str) -> Mapping[str, Any]:
    try:
        return _object(what, line)
    except InvalidInput as error:
        raise InvalidInput(f"Line {number}: {error}") from None


def _object(what: str, text: str) -> Mapping[str, Any]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} is not JSON: {error}.") from None
    return _mapping(what, read)


def _mapping(what: str, read: Any) -> Mapping[str, Any]:
    if not isinstance(read, Mapping):
        raise InvalidInput(f'{what} must be JSON objects like {{"name": "value"}}.')
    return read


def _pair(what: str, text: str) -> Mapping[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidInput(f"{what} takes KEY=VALUE or a JSON object; got {text[:60]!r}.")
    return {name: _scalar(value)}


def _scalar(value: str) -> Any:
    """Numbers, booleans, null and quoted texts as JSON has them; anything else is text."""
    try:
        read = json.loads(value, parse_constant=lambda word: word)
    except (ValueError, RecursionError):
        return value
    return read if not isinstance(read, list | dict) else value


def _file_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
    if len(data) > MOST_BYTES:
        raise InvalidInput(f"{path} is larger than {MOST_BYTES:,} bytes; split it.")
    return data
