"""The `rem` program: what it is made of, and what holds for every command."""

from __future__ import annotations

from typing import Annotated

import typer

from remanence.api.verb import Group
from remanence.cli import access, bench, chat, demo, mcp, running, settings, stores, transfer
from remanence.cli.commands import OwnVerbs, add_operations
from remanence.cli.common import Config, Database, Opening, Tenant
from remanence.cli.terminal import write_every_character
from remanence.version import __version__

CARE = Group.CARE.value
app = typer.Typer(
    name="rem",
    help="Long-term memory for AI agents: one file, no key, no LLM, no network.",
    cls=OwnVerbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"remanence {__version__}")
        raise typer.Exit


@app.callback()
def _everywhere(
    context: typer.Context,
    database: Database = None,
    tenant: Tenant = None,
    config: Config = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="show the version")
    ] = False,
) -> None:
    context.obj = Opening(database=database, tenant=tenant, config=config)


add_operations(app)
for name, group, panel in (
    ("import", transfer.imports, CARE),
    ("bench", bench.group, CARE),
    ("mcp", mcp.group, "Server"),
    ("keys", access.group, CARE),
):
    app.add_typer(group, name=name, rich_help_panel=panel)
for name, run, panel in (
    ("chat", chat.chat, "Layers"),
    ("export", transfer.export, CARE),
    ("restore", transfer.restore, CARE),
    ("copy", stores.copy, CARE),
    ("migrate", stores.migrate, CARE),
    ("encrypt", stores.encrypt, CARE),
    ("decrypt", stores.decrypt, CARE),
    ("config", settings.config, CARE),
    ("demo", demo.demo, Group.RECALL.value),
    ("worker", running.worker, CARE),
    ("serve", running.serve, CARE),
    ("audit", access.audit, CARE),
):
    app.command(name, rich_help_panel=panel)(run)


def main() -> None:
    """Run the program."""
    write_every_character()
    app(prog_name="rem")
