"""The options every command has: which database, which tenant, and how to answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remanence.errors import InvalidInput

if TYPE_CHECKING:
    from remanence.config import Settings
    from remanence.memory import Memory

PANEL = "Everywhere"

Database = Annotated[
    str | None,
    typer.Option(
        "--db",
        "--database",
        help="the database: a path, or postgresql://…",
        rich_help_panel=PANEL,
    ),
]
Tenant = Annotated[
    str | None, typer.Option("--tenant", help="who is logged in", rich_help_panel=PANEL)
]
Config = Annotated[
    str | None,
    typer.Option("--config", help="a settings file, TOML or YAML", rich_help_panel=PANEL),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="answer with one JSON envelope", rich_help_panel=PANEL)
]
AsLines = Annotated[
    bool, typer.Option("--ndjson", help="answer with a JSON object a line", rich_help_panel=PANEL)
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="do not ask")]
Explain = Annotated[bool, typer.Option("--explain", "-e", help="show what it is made of")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """Which memory to open; what is None is left to the settings."""

    database: str | None = None
    tenant: str | None = None
    config: str | None = None

    def memory(self, *, create: bool = True) -> Memory:
        """The memory, opened; with `create=False` only if its database is there."""
        from remanence.memory import Memory

        if not create:
            self._check_there()
        return Memory(self.database, tenant=self.tenant, config=self.config)

    def settings(self) -> Settings:
        """The settings in force."""
        from remanence.config import load_settings

        given = {"database": self.database, "tenant": self.tenant}
        return load_settings(given, file=self.config)

    def _check_there(self) -> None:
        from remanence.wiring import check_there

        check_there(self.settings().database_url)


def opening(context: typer.Context, database: str | None, tenant: str | None) -> Opening:
    """What was said before the command's name, overruled by what was said after it."""
    before = context.obj if isinstance(context.obj, Opening) else Opening()
    return Opening(
        database=database or before.database, tenant=tenant or before.tenant, config=before.config
    )


def confirm(question: str) -> None:
    """Ask on a terminal; where nobody can be asked, refuse."""
    if not sys.stdin.isatty():
        raise InvalidInput(f"{question} Nobody can be asked here: pass --yes to go ahead.")
    typer.confirm(question, abort=True, err=True)


def keyword(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
    """A keyword-only parameter for a made-up signature."""
    kind = Parameter.KEYWORD_ONLY
    return Parameter(name, kind, default=default, annotation=annotation)


def with_signature(call: Callable[..., None], wanted: list[Parameter]) -> None:
    """Give a function that takes `**given` the signature a command is made from."""
    call.__signature__ = Signature(wanted)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in wanted}


def taken(given: dict[str, Any], *names: str) -> Mapping[str, Any]:
    """Take the named values out of `given`; those that are not there are None."""
    return {name: given.pop(name, None) for name in names}
