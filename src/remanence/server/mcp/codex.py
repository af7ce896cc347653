"""The entry of a server in a TOML file, edited as text so that comments and order stay."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_HEADER = re.compile(r"^\s*\[")


def toml_block(key: str, name: str, entry: Mapping[str, Any]) -> str:
    """The table of one server."""
    lines = [f"{_bare(field)} = {_value(value)}" for field, value in entry.items()]
    return "\n".join([f"[{key}.{_bare(name)}]", *lines]) + "\n"


def with_block(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """The text with this server's table in it, once; tables below it stay as they are."""
    lines = text.splitlines(keepends=True)
    header = re.compile(rf'^\s*\[\s*{re.escape(key)}\s*\.\s*"?{re.escape(name)}"?\s*\]')
    start = next((n for n, line in enumerate(lines) if header.match(line)), None)
    if start is None:
        gap = "\n" if text.strip() else ""
        ending = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{ending}{gap}{toml_block(key, name, entry)}"
    end = next(
        (n for n in range(start + 1, len(lines)) if _HEADER.match(lines[n])),
        len(lines),
    )
    flat = {field: value for field, value in entry.items() if not isinstance(value, Mapping)}
    gap = "\n" if end < len(lines) else ""
    return "".join(lines[:start]) + toml_block(key, name, flat) + gap + "".join(lines[end:])


def _bare(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_bare(each)} = {_value(item)}" for each, item in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, str | bool | int | float):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    raise ValueError("it holds a value that cannot be written back")
