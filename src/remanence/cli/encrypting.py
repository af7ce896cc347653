"""`rem encrypt` and `rem decrypt`: a database put under a key, under another one, or under none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from remanence.cli import terminal
from remanence.cli.common import AsJson, Database, Tenant, opening
from remanence.cli.outcome import answer, form_of, guarded
from remanence.operations.operation import Group

if TYPE_CHECKING:
    from remanence.config import Settings

KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", help="the file of the key, where the settings do not name it"),
]
NewKeyFile = Annotated[
    Path | None, typer.Option("--new-key-file", help="change the key to the one in this file")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed:
    """The database, whether it is encrypted now, and whether that is new."""

    database: str
    encrypted: bool
    changed: bool


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("encrypt", rich_help_panel=Group.CARE.value)(_encrypt)
    app.command("decrypt", rich_help_panel=Group.CARE.value)(_decrypt)


def _encrypt(
    context: typer.Context,
    key_file: KeyFile = None,
    new_key_file: NewKeyFile = None,
    as_json: AsJson = False,
    database: Database = None,
    tenant: Tenant = None,
) -> None:
    """Encrypt the database, or change its key; nobody else may have it open."""
    form = form_of(as_json)
    with guarded(form):
        settings = _settings(opening(context, database, tenant).settings(), key_file)
        changed = _encrypted(settings, new_key_file)
        said = "is encrypted" if changed else "was encrypted already"
        if new_key_file is not None:
            changed, said = True, f"has the key in {new_key_file}"
        done = Keyed(database=settings.database_url, encrypted=True, changed=changed)
        told = f"{done.database} {said}; with encryption_key_file set, it opens."
        answer(done, form, None, lambda _: terminal.write_line(told))


def _decrypt(
    context: typer.Context,
    key_file: KeyFile = None,
    as_json: AsJson = False,
    database: Database = None,
    tenant: Tenant = None,
) -> None:
    """Take the key off the database; nobody else may have it open."""
    from remanence.wiring.encrypting import decrypt_store

    form = form_of(as_json)
    with guarded(form):
        settings = _settings(opening(context, database, tenant).settings(), key_file)
        changed = decrypt_store(settings)
        done = Keyed(database=settings.database_url, encrypted=False, changed=changed)
        said = "is not encrypted any more" if changed else "was not encrypted"
        told = f"{done.database} {said}; it opens without a key."
        answer(done, form, None, lambda _: terminal.write_line(told))


def _encrypted(settings: Settings, new_key_file: Path | None) -> bool:
    from remanence.config.keys import key_in
    from remanence.wiring.encrypting import encrypt_store

    return encrypt_store(settings, "" if new_key_file is None else key_in(str(new_key_file)))


def _settings(settings: Settings, key_file: Path | None) -> Settings:
    if key_file is None:
        return settings
    return replace(settings, encryption_key="", encryption_key_file=str(key_file))
