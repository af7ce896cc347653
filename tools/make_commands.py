"""Writes the table of commands in `docs/cli.md` from the program itself: `make docs`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from remanence.cli.app import app

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
TABLE = re.compile(r"(<!-- commands: begin -->\n).*?(<!-- commands: end -->)", re.DOTALL)


def page(written: str) -> str:
    """The page as it should be, given how it was written."""
    made = "\n".join(["| | |", "|---|---|", *_rows()])
    result, count = TABLE.subn(lambda found: f"{found[1]}\n{made}\n\n{found[2]}", written)
    if count != 1:
        raise SystemExit(f"{PAGE.name} has {count} places for its commands; it needs one.")
    return result


def _rows() -> Iterator[str]:
    """The commands by the panels of `rem --help`, and those of each group."""
    panels: defaultdict[str, list[str]] = defaultdict(list)
    groups: list[str] = []
    for name, command in _in(typer.main.get_command(app)):
        panels[command.rich_help_panel].append(f"`rem {name}`")
        own = ", ".join(f"`{each}`" for each, _ in _in(command))
        groups += [f"| `rem {name}` | {own} |"] if own else []
    yield from (f"| {panel} | {', '.join(names)} |" for panel, names in panels.items())
    yield from groups


def _in(command: Any) -> Iterator[tuple[str, Any]]:
    context = typer.Context(command)
    names = getattr(command, "list_commands", lambda _: ())(context)
    return ((name, command.get_command(context, name)) for name in names)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), encoding="utf-8")
