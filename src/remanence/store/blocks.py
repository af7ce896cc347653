"""A store's SQL: named blocks of the `.sql` files in its package, and its numbered migrations."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from remanence.errors import StoreVersion
from remanence.version import __version__

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_FRAGMENT = re.compile(r"\{(\w+)\}")


@cache
def blocks(package: str) -> dict[str, str]:
    """The statements by name; `{other}` in one stands for the block called `other`."""
    found: dict[str, str] = {}
    for entry in files(package).joinpath("queries").iterdir():
        if _is_sql(entry.name):
            parts = _NAME.split(entry.read_text("utf-8"))[1:]
            found.update(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    return {name: _filled(block, found) for name, block in found.items()}


@cache
def migrations(package: str) -> list[tuple[int, str]]:
    """Every migration with its number, in order."""
    found = files(package).joinpath("migrations").iterdir()
    scripts = [(entry.name, entry.read_text("utf-8")) for entry in found if _is_sql(entry.name)]
    return sorted((int(name[:4]), script) for name, script in scripts)


def _filled(block: str, blocks: dict[str, str]) -> str:
    def other(match: re.Match[str]) -> str:
        inner = blocks.get(match[1])
        return match[0] if inner is None else _filled(inner, blocks)

    return _FRAGMENT.sub(other, block)


def _is_sql(name: str) -> bool:
    return name.endswith(".sql")


def too_new(what: str, schema: object, known: int) -> StoreVersion:
    """The error for a store or a backup whose schema this version does not know."""
    return StoreVersion(
        f"{what} has schema {schema}, and Remanence {__version__} knows {known}: it was written by "
        "a newer version. Nothing was changed; upgrade Remanence, or restore the backup that was "
        "made before the upgrade."
    )
