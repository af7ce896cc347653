"""`rem config`: the settings in force, and where each came from."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from remanence.cli import terminal
from remanence.cli.common import Opening, command


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: its value, where that comes from and what it means."""

    name: str
    value: Any
    origin: str
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """All settings, the file they were read from and the database they lead to."""

    file: Path | None
    database: str
    settings: tuple[Setting, ...]


@command()
def config(
    asked: Opening,
    path: Annotated[bool, typer.Option("--path", help="only say which file is read")] = False,
) -> None:
    """Show the settings in force and where each came from."""
    found = in_force(asked)
    asked.answer(found, _show_path if path else _show)


def in_force(opened: Opening) -> InForce:
    """The settings a command would run under."""
    from remanence.config import HELP, Settings, origins, shown

    settings = opened.settings()
    file, found = origins(file=opened.config)
    found |= {name: "command line" for name, value in opened.given.items() if value}
    told = (
        Setting(
            name=each.name,
            value=_told(each.name, getattr(settings, each.name)),
            origin=found.get(each.name, "default"),
            help=HELP[each.name],
        )
        for each in fields(Settings)
    )
    return InForce(file=file, database=shown(settings.database_url), settings=tuple(told))


def _told(name: str, value: Any) -> Any:
    from remanence.config import shown

    if name == "database" or name.endswith("_url"):
        return shown(value)
    return "(set)" if name.endswith("_key") and value else value


def _show_path(found: InForce) -> None:
    if found.file is None:
        terminal.stderr().print("No settings file is read; docs/settings.md says where it may lie.")
        return
    terminal.write_line(str(found.file))


def _show(found: InForce) -> None:
    from rich.table import Table

    table = Table("setting", "value", "from", box=None, pad_edge=False, header_style="dim")
    for each in found.settings:
        style = "dim" if each.origin == "default" else None
        table.add_row(each.name, terminal.shown(f"{each.value}"), each.origin, style=style)
    console = terminal.stdout()
    console.print(table)
    console.print(f"\ndatabase: {terminal.shown(found.database)}", soft_wrap=True)
    console.print(f"file: {found.file or 'none'}", soft_wrap=True)
