"""`rem copy`: everything of one store into another, compared at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

import typer

from remanence.cli import terminal
from remanence.cli.common import PANEL, AsJson, opening
from remanence.cli.outcome import FAILED, answer, form_of, guarded
from remanence.errors import InvalidInput, RemanenceError
from remanence.operations.operation import Group

if TYPE_CHECKING:
    from remanence.ports.store import Store
    from remanence.transfer.differences import Differences
    from remanence.transfer.verifying import TenantDigests

Source = Annotated[str, typer.Argument(help="the database to read: a path or postgresql://…")]
Target = Annotated[str, typer.Argument(help="the database to write: a path or postgresql://…")]
Tenant = Annotated[
    str | None,
    typer.Option("--tenant", help="this tenant only; else all of them", rich_help_panel=PANEL),
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


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("copy", rich_help_panel=Group.CARE.value)(_copy)


def _copy(
    context: typer.Context,
    source: Source,
    target: Target,
    dry_run: DryRun = False,
    overwrite: Overwrite = False,
    no_verify: Unverified = False,
    as_json: AsJson = False,
    tenant: Tenant = None,
) -> None:
    """Copy everything into another database, SQLite or PostgreSQL; goes on where it stopped."""
    form = form_of(as_json)
    opened = opening(context, None, tenant)
    with guarded(form), _secretive(source, target):
        with _stores(source, target, opened.config, dry_run) as stores:
            wanted = None if opened.tenant is None else [opened.tenant]
            report = _Command(source, target, dry_run, overwrite, no_verify).run(stores, wanted)
        answer(report, form, None, _show)
    if report.differences.count:
        raise typer.Exit(FAILED)


@dataclass(frozen=True, slots=True)
class _Command:
    """What was asked for."""

    source: str
    target: str
    dry_run: bool
    overwrite: bool
    no_verify: bool

    def run(self, stores: tuple[Store, Store], tenants: list[str] | None) -> CopyReport:
        from remanence.cli.progress import progress
        from remanence.config import shown
        from remanence.transfer.copying import copy_store
        from remanence.transfer.verifying import copy_and_verify

        found = None
        if self.dry_run or self.no_verify:
            with progress("copy") as report:
                copied = copy_store(
                    *stores,
                    tenants=tenants,
                    overwrite=self.overwrite,
                    dry_run=self.dry_run,
                    progress=report,
                )
        else:
            copied, found = copy_and_verify(
                *stores, tenants=tenants, overwrite=self.overwrite, stages=progress
            )
        differences = copied.kept if found is None else found.differences
        return CopyReport(
            source=shown(self.source),
            target=shown(self.target),
            dry_run=self.dry_run,
            memories=copied.memories,
            skipped=copied.skipped,
            replaced=copied.replaced,
            links=copied.links,
            feedback=copied.feedback,
            documents=copied.documents,
            knowledge=copied.knowledge,
            tenants=copied.tenants,
            identical=None if found is None else not differences.count,
            digests=() if found is None else found.tenants,
            differences=differences,
        )


@contextmanager
def _stores(
    source: str, target: str, config: str | None, dry_run: bool
) -> Iterator[tuple[Store, Store]]:
    """Both stores; neither a source nor, in a dry run, a target is made."""
    from remanence.wiring import MEMORY, check_there

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
    from remanence.wiring import is_server, open_store

    settings = load_settings({"database": url}, file=config)
    if is_server(url):  # the key is the file's, whichever side that is
        settings = replace(settings, encryption_key="", encryption_key_file="")
    return open_store(settings)


def _file(url: str) -> str | None:
    from remanence.wiring import database_path, is_server

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
    from remanence.cli.screens import note, say

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
