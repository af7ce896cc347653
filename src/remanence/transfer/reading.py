"""JSON lines from a stream that may be anything: bounded, numbered, checked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn

from remanence.errors import InvalidInput

# The longest text that max_text can allow, 10 million characters, escaped to 12 bytes each.
MAX_LINE = 160 << 20


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """A line: its number in the file, its length in bytes, and the object it holds."""

    number: int
    size: int
    content: Mapping[str, Any]


def read_lines(file: BinaryIO) -> Iterator[NumberedLine]:
    """Every line that is not empty, as it comes; `InvalidInput` names the one that is no object."""
    number = 0
    while raw := file.readline(MAX_LINE + 1):
        number += 1
        if len(raw) > MAX_LINE:
            raise InvalidInput(
                f"Line {number} is longer than {MAX_LINE:,} bytes; no export has such a line."
            )
        if raw.strip():
            yield NumberedLine(number, len(raw), _parsed(number, raw))


def _parsed(number: int, raw: bytes) -> Mapping[str, Any]:
    try:
        content = json.loads(raw, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"Line {number} is not JSON ({str(error)[:80]}); import what `rem export` wrote, or "
            "chats with `rem import chat FILE`."
        ) from None
    if not isinstance(content, Mapping):
        raise InvalidInput(
            f"Line {number} is no JSON object, so `rem export` did not write it; "
            "chats are read by `rem import chat FILE`."
        )
    return content


def _refused(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number that JSON knows")
