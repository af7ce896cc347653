"""Every answer as JSON: times in ISO 8601, enums as text, numbers as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from remanence.model.memory import Json


def plain(value: Any) -> Json:
    """The value as JSON data, as whoever reads the bytes has it."""
    data: Json = msgspec.json.decode(encoded(value))
    return data


def encoded(value: Any) -> bytes:
    """The value as the bytes of its JSON; numbers that JSON cannot tell are null."""
    return _ENCODER.encode(value)


def dumped(value: Any) -> str:
    """The value as JSON on one line."""
    return encoded(value).decode()


def _other(value: Any) -> Any:
    match value:
        case Mapping():
            return dict(value)
        case Path():
            return str(value)
        case Iterable():
            return list(value)
    raise TypeError(f"a {type(value).__name__} has no JSON form")


_ENCODER = msgspec.json.Encoder(enc_hook=_other)
