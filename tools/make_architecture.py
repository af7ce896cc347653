"""Writes what `docs/architecture.md` can derive: the rings and the rooms, by `make docs`.

Rings come from the layers that import-linter checks, purposes from the first line of each room's
docstring, sizes from the record of `tests/house`. The rest of the page is written by hand.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
PACKAGE = ROOT / "src" / "remanence"
RECORD = ROOT / "tests" / "house" / "baseline.json"


def page(written: str) -> str:
    """The page as it should be, given how it was written."""
    return _placed(_placed(written, "rings", _drawing()), "rooms", _table())


def rings() -> list[list[str]]:
    """The rooms of each ring, the outermost ring first."""
    pyproject: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = pyproject["tool"]["importlinter"]["contracts"]
    [layers] = [each["layers"] for each in contracts if each["type"] == "layers"]
    return [[room.strip() for room in layer.split("|")] for layer in layers]


def purpose(room: str) -> str:
    """The first line of a room's docstring."""
    package, module = PACKAGE / room / "__init__.py", PACKAGE / f"{room}.py"
    source = package if package.exists() else module
    told = ast.get_docstring(ast.parse(source.read_text("utf-8"))) or ""
    return told.partition("\n")[0]


def _drawing() -> str:
    nodes = [f'  r{n}["{" · ".join(ring)}"]' for n, ring in enumerate(rings())]
    arrows = " --> ".join(f"r{n}" for n in range(len(nodes)))
    return "\n".join(["```mermaid", "flowchart TB", *nodes, f"  {arrows}", "```"])


def _table() -> str:
    record: Mapping[str, Mapping[str, int]] = json.loads(RECORD.read_text("utf-8"))["rooms"]
    rooms = [room for ring in rings() for room in ring]
    rows = ["| room | what it is for | files | lines |", "|---|---|--:|--:|"]
    rows += [_row(f"`{room}`", purpose(room), record[room]) for room in rooms]
    total = {what: sum(record[room][what] for room in rooms) for what in ("files", "lines")}
    return "\n".join([*rows, _row("**all**", "", total)])


def _row(room: str, told: str, size: Mapping[str, int]) -> str:
    return f"| {room} | {told} | {size['files']:,} | {size['lines']:,} |"


def _placed(written: str, place: str, made: str) -> str:
    marked = re.compile(rf"(<!-- {place}: begin -->\n).*?(<!-- {place}: end -->)", re.DOTALL)
    result, count = marked.subn(lambda found: f"{found[1]}\n{made}\n\n{found[2]}", written)
    if count != 1:
        raise SystemExit(f"{PAGE.name} has {count} places marked {place!r}; it needs one.")
    return result


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), encoding="utf-8")
