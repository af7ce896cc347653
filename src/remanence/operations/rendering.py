"""Every answer as plain JSON data: times in ISO 8601 UTC, enums as text, numbers as they are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

from remanence.model.hit import Hit
from remanence.model.memory import Json

COMPUTED: Mapping[type, tuple[str, ...]] = {Hit: ("relevance",)}


def plain(value: Any) -> Json:
    """The value as JSON data; nothing is rounded and nothing left out."""
    match value:
        case IntEnum():
            return value.name.lower()
        case Enum():
            return str(value.value)
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            return value.astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
        case Path():
            return str(value)
        case Mapping():
            return {str(name): plain(item) for name, item in value.items()}
        case Iterable():
            return [plain(item) for item in value]
    return _fields(value)


def dumped(value: Any) -> str:
    """The value as JSON on one line."""
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _fields(value: Any) -> Json:
    if not is_dataclass(value):
        raise TypeError(f"a {type(value).__name__} has no JSON form")
    names = [each.name for each in fields(value)] + list(COMPUTED.get(type(value), ()))
    return {name: plain(getattr(value, name)) for name in names}
