"""The `rem` program: what it is made of, and what holds for every command."""

from __future__ import annotations

from typing import Annotated

import typer

from remanence.cli import (
    bench,
    chat,
    copying,
    demo,
    encrypting,
    keys,
    mcp,
    migrating,
    serving,
    settings,
    transfer,
    worker,
)
from remanence.cli.commands import add_operations
from remanence.cli.common import Config, Database, Opening, Tenant
from remanence.cli.terminal import write_every_character
from remanence.version import __version__

app = typer.Typer(
    name="rem",
    help="Long-term memory for AI agents: one file, no key, no LLM, no network.",
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
chat.add_to(app)
transfer.add_to(app)
copying.add_to(app)
migrating.add_to(app)
encrypting.add_to(app)
settings.add_to(app)
demo.add_to(app)
bench.add_to(app)
worker.add_to(app)
serving.add_to(app)
mcp.add_to(app)
keys.add_to(app)


def main() -> None:
    """Run the program."""
    write_every_character()
    app(prog_name="rem")
