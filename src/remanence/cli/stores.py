"""Whole stores: `rem copy`, `rem migrate`, `rem encrypt` and `rem decrypt`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

import typer

from remanence.cli import terminal
from remanence.cli.common import PANEL, Opening, command
from remanence.cli.terminal import note, progress, say
from remanence.errors import InvalidInput, RemanenceError

if TYPE_CHECKING:
    from remanence.config import Settings
    from remanence.model.ports.store import Store
    from remanence.tools.transfer.entries import Differences
    from remanence.tools.transfer.store_copy import CopyCounts
    from remanence.tools.transfer.verification import Comparison, TenantDigests

Prepare = Annotated[
    bool, typer.Option("--sql", help="print what an administrator runs first, and do nothing")
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
    Path | None, typer.Option(help="the file of the key, where the settings do not name it")
]
NewKeyFile = Annotated[Path | None, typer.Option(help="change the key to the one in this file")]


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


Tenant = Annotated[
    str | None, typer.Option(help="this tenant only; else all of them", rich_help_panel=PANEL)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="tell what would be copied, and stop")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="replace what was changed in the target")
]
Unverified = Annotated[bool, typer.Option("--no-verify", help="do not compare at the end")]

# What stands between the colon and the @ of a login, and after password= in a query.
_SECRETS = re.compile(r"^[a-z+]+:/*[^:@/]*:(.*)@|[?&]password=([^&]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """What was copied, and whether both are alike; None if they were not compared."""

    source: str
    target: str
    dry_run: bool
    memories: int
    skipped: int
    replaced: int
    links: int
    feedback: int
    documents: int
    knowledge: int
    tenants: int
    identical: bool | None
    digests: tuple[TenantDigests, ...]
    differences: Differences


@command("as_json", tenant=Tenant)
def copy(
    asked: Opening,
    source: Annotated[str, typer.Argument(help="the database to read: a path or postgresql://…")],
    target: Annotated[str, typer.Argument(help="the database to write: a path or postgresql://…")],
    dry_run: DryRun = False,
    overwrite: Overwrite = False,
    no_verify: Unverified = False,
) -> bool:
    """Copy everything into another database, SQLite or PostgreSQL; goes on where it stopped."""
    from remanence.config import shown

    with _secretive(source, target):
        with _stores(source, target, asked.config, dry_run) as stores:
            copied, found = _copied(stores, asked.tenant, overwrite, dry_run, no_verify)
        differences = copied.kept if found is None else found.differences
        report = CopyReport(
            source=shown(source),
            target=shown(target),
            dry_run=dry_run,
            identical=None if found is None else not differences.count,
            digests=() if found is None else found.tenants,
            differences=differences,
            **{one.name: getattr(copied, one.name) for one in fields(copied) if one.type == "int"},
        )
        asked.answer(report, _show)
    return differences.count > 0


def _copied(
    stores: tuple[Store, Store], tenant: str | None, overwrite: bool, dry_run: bool, no_verify: bool
) -> tuple[CopyCounts, Comparison | None]:
    """What was copied, and how both compare where that is wanted."""
    from remanence.tools.transfer.store_copy import copy_store
    from remanence.tools.transfer.verification import copy_and_verify

    wanted: Any = {"tenants": None if tenant is None else [tenant], "overwrite": overwrite}
    if not (dry_run or no_verify):
        return copy_and_verify(*stores, **wanted, stages=progress)
    with progress("copy") as report:
        return copy_store(*stores, **wanted, dry_run=dry_run, progress=report), None


@contextmanager
def _stores(
    source: str, target: str, config: str | None, dry_run: bool
) -> Iterator[tuple[Store, Store]]:
    """Both stores; neither a source nor, in a dry run, a target is made."""
    from remanence.config.assembly import MEMORY, check_there

    for url in (source, target):
        if _file(url) == MEMORY:
            raise InvalidInput("A memory that lives in RAM cannot be copied; name a file.")
    check_there(source)
    path = _file(target)
    unmade = dry_run and path is not None and not Path(path).exists()
    with (
        closing(_open(source, config)) as theirs,
        closing(_open(MEMORY if unmade else target, config)) as ours,
    ):
        yield theirs, ours


def _open(url: str, config: str | None) -> Store:
    from remanence.config import load_settings
    from remanence.config.assembly import is_server, open_store

    settings = load_settings({"database": url}, file=config)
    if is_server(url):  # the key is the file's, whichever side that is
        settings = replace(settings, encryption_key="", encryption_key_file="")
    return open_store(settings)


def _file(url: str) -> str | None:
    from remanence.config.assembly import database_path, is_server

    return None if is_server(url) else database_path(url)


@contextmanager
def _secretive(*urls: str) -> Iterator[None]:
    """Errors are told without the passwords of these databases, whoever wrote the message."""
    try:
        yield
    except (RemanenceError, OSError) as error:
        told = str(error)
        found = {one for url in urls for pair in _SECRETS.findall(url) for one in pair if one}
        secrets = found | {unquote(one) for one in found}
        if not any(secret in told for secret in secrets):
            raise
        for secret in sorted(secrets, key=len, reverse=True):
            told = told.replace(secret, "…")
        kind = type(error) if isinstance(error, RemanenceError) else RemanenceError
        raise kind(told) from None


def _show(report: CopyReport) -> None:
    for line in _lines(report):
        say(terminal.shown(line))
    note(_summary(report))


def _lines(report: CopyReport) -> Iterator[str]:
    for one in report.digests:
        verdict = "identical" if one.source == one.target else "different"
        yield f"{one.tenant}: source {one.source}, target {one.target}, {verdict}"
    for found in report.differences.first:
        yield f"{found.tenant}: {found.what} {found.id} {found.why}"
    if more := report.differences.count - len(report.differences.first):
        yield f"and {more:,} more"


def _summary(report: CopyReport) -> str:
    would = "would be " if report.dry_run else ""
    return (
        f"{report.memories:,} memories {would}copied and {report.replaced:,} {would}brought up to "
        f"date, {report.skipped:,} were there already; {report.links:,} links, "
        f"{report.feedback:,} pieces of feedback, {report.documents:,} documents and "
        f"{report.knowledge:,} pieces of knowledge {would}copied; "
        f"tenants: {report.tenants:,}."
    )
