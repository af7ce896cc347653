"""`rem migrate`, `rem encrypt`, `rem decrypt`: the schema of a store, and the key of its file."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from remanence.cli import terminal
from remanence.cli.common import Opening, command
from remanence.errors import InvalidInput

if TYPE_CHECKING:
    from remanence.config import Settings

Prepare = Annotated[
    bool,
    typer.Option("--sql", help="print what an administrator runs first, and do nothing"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """Where the store is, and the schema it has now."""

    database: str
    schema: int


@command()
def migrate(asked: Opening, prepare: Prepare = False) -> None:
    """Bring the database's schema up to date, while others use it."""
    from remanence.config import shown
    from remanence.config.assembly import is_server, open_store, preparation_of

    settings = asked.settings()
    if prepare:
        if not is_server(settings.database_url):
            raise InvalidInput(
                "A file needs no preparation; name a postgresql:// database with --db."
            )
        terminal.write_line(preparation_of(settings.database_url))
        return
    with closing(open_store(settings, migrate=True)) as store:
        done = Migrated(database=shown(settings.database_url), schema=store.upkeep.schema)
    told = f"{done.database} has schema {done.schema}, the newest."
    asked.answer(done, lambda _: terminal.write_line(told))


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


@command()
def encrypt(asked: Opening, key_file: KeyFile = None, new_key_file: NewKeyFile = None) -> None:
    """Encrypt the database, or change its key; nobody else may have it open."""
    from remanence.config.assembly.encryption import encrypt_store
    from remanence.config.settings import key_in

    settings = _keyed(asked.settings(), key_file)
    changed = encrypt_store(settings, "" if new_key_file is None else key_in(str(new_key_file)))
    said = "is encrypted" if changed else "was encrypted already"
    if new_key_file is not None:
        changed, said = True, f"has the key in {new_key_file}"
    done = Keyed(database=settings.database_url, encrypted=True, changed=changed)
    told = f"{done.database} {said}; with encryption_key_file set, it opens."
    asked.answer(done, lambda _: terminal.write_line(told))


@command()
def decrypt(asked: Opening, key_file: KeyFile = None) -> None:
    """Take the key off the database; nobody else may have it open."""
    from remanence.config.assembly.encryption import decrypt_store

    settings = _keyed(asked.settings(), key_file)
    changed = decrypt_store(settings)
    done = Keyed(database=settings.database_url, encrypted=False, changed=changed)
    said = "is not encrypted any more" if changed else "was not encrypted"
    told = f"{done.database} {said}; it opens without a key."
    asked.answer(done, lambda _: terminal.write_line(told))


def _keyed(settings: Settings, key_file: Path | None) -> Settings:
    if key_file is None:
        return settings
    return replace(settings, encryption_key="", encryption_key_file=str(key_file))
