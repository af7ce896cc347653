"""What callers hand to a verb, as JSON data; what cannot travel is refused here, with a reason."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from uuid import UUID

from remanence.errors import InvalidInput
from remanence.model import accept
from remanence.model.memory import Json
from remanence.operations.rendering import plain

DEEPEST = 32
# What is kept as it is given: the memory refuses anything in it that JSON does not have.
VERBATIM = frozenset({"changes", "data", "metadata", "value"})


def data_of(what: str, value: object, depth: int = 0) -> Json:
    """The value as JSON data, or `InvalidInput`."""
    if depth > DEEPEST:
        raise InvalidInput(f"{what} is nested deeper than {DEEPEST} levels.")
    match value:
        case Enum():
            return plain(value)
        case None | bool() | int():
            return value
        case float():
            return _finite(what, value)
        case str():
            return str.__str__(value)
        case datetime():
            return accept.moment_of(what, value).isoformat()
        case date() | Path() | UUID():
            return str(value)
        case Mapping():
            return {_key(what, key): _item(key, item, depth) for key, item in value.items()}
        case Iterable() if not isinstance(value, bytes | bytearray | memoryview):
            return [data_of(f"{what}[{n}]", item, depth + 1) for n, item in enumerate(value)]
    if is_dataclass(value) and not isinstance(value, type):
        return plain(value)
    raise InvalidInput(f"{what} is a {type(value).__name__}, which cannot be sent to a server.")


def verbatim(what: str, value: object) -> Json:
    """A value that is kept as it is given: `InvalidInput` where it is no JSON."""
    copied: Json = accept.json_of(what, value)
    return copied


def _item(key: str, value: object, depth: int) -> Json:
    return verbatim(key, value) if key == "metadata" else data_of(key, value, depth + 1)


def _key(what: str, key: object) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"A key of {what} must be text, not {type(key).__name__}.")
    return str.__str__(key)


def _finite(what: str, value: float) -> float:
    if not math.isfinite(value):
        raise InvalidInput(f"{what} is {value!r}; only finite numbers can be sent.")
    return value
