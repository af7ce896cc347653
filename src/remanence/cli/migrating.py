"""`rem migrate`: the schema of a store, brought up to date."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Annotated

import typer

from remanence.cli import terminal
from remanence.cli.common import AsJson, Database, Opening, Tenant, opening
from remanence.cli.outcome import answer, form_of, guarded
from remanence.errors import InvalidInput
from remanence.operations.operation import Group

Prepare = Annotated[
    bool,
    typer.Option("--sql", help="print what an administrator runs first, and do nothing"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """Where the store is, and the schema it has now."""

    database: str
    schema: int


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("migrate", rich_help_panel=Group.CARE.value)(_migrate)


def _migrate(
    context: typer.Context,
    prepare: Prepare = False,
    as_json: AsJson = False,
    database: Database = None,
    tenant: Tenant = None,
) -> None:
    """Bring the database's schema up to date, while others use it."""
    form = form_of(as_json)
    with guarded(form):
        opened = opening(context, database, tenant)
        if prepare:
            terminal.write_line(_preparation(opened))
            return
        done = _migrated(opened)
        told = f"{done.database} has schema {done.schema}, the newest."
        answer(done, form, None, lambda _: terminal.write_line(told))


def _preparation(opened: Opening) -> str:
    from remanence.wiring import is_server, preparation_of

    url = opened.settings().database_url
    if not is_server(url):
        raise InvalidInput("A file needs no preparation; name a postgresql:// database with --db.")
    return preparation_of(url)


def _migrated(opened: Opening) -> Migrated:
    from remanence.config import shown
    from remanence.wiring import open_store

    settings = opened.settings()
    with closing(open_store(settings, migrate=True)) as store:
        return Migrated(database=shown(settings.database_url), schema=store.schema)
