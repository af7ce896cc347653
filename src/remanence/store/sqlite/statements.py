"""The store's SQL: named blocks of the `.sql` files, read once."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

import apsw

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_FRAGMENT = re.compile(r"\{(\w+)\}")


def sql(name: str) -> str:
    """The statement of that name; `{other}` in it stands for the block called `other`."""
    return _blocks()[name]


def run(connection: apsw.Connection, name: str, values: apsw.Bindings = ()) -> apsw.Cursor:
    """Execute the named statement."""
    return connection.execute(sql(name), values)


def fetch_all(connection: apsw.Connection, name: str, values: apsw.Bindings = ()) -> list[Any]:
    """All rows of the named statement."""
    return connection.execute(sql(name), values).fetchall()


def fetch_value(connection: apsw.Connection, name: str, values: apsw.Bindings = ()) -> Any:
    """The one value that the named statement gives, None if it gives no row."""
    return connection.execute(sql(name), values).get


@cache
def migrations() -> list[tuple[int, str]]:
    """Every migration with its number, in order."""
    found = files(__package__).joinpath("migrations").iterdir()
    scripts = [(entry.name, entry.read_text("utf-8")) for entry in found if _is_sql(entry.name)]
    return sorted((int(name[:4]), script) for name, script in scripts)


@cache
def _blocks() -> dict[str, str]:
    blocks: dict[str, str] = {}
    for entry in files(__package__).joinpath("queries").iterdir():
        if _is_sql(entry.name):
            parts = _NAME.split(entry.read_text("utf-8"))[1:]
            blocks.update(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    return {name: _filled(block, blocks) for name, block in blocks.items()}


def _filled(block: str, blocks: dict[str, str]) -> str:
    def other(match: re.Match[str]) -> str:
        inner = blocks.get(match[1])
        return match[0] if inner is None else _filled(inner, blocks)

    return _FRAGMENT.sub(other, block)


def _is_sql(name: str) -> bool:
    return name.endswith(".sql")
