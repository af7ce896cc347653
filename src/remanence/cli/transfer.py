"""`rem export`, `rem import` and `rem restore`: memories in and out of files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer
from typer.core import TyperGroup

from remanence.cli import terminal
from remanence.cli.cleaning import admitting, cleaning
from remanence.cli.common import AsJson, Database, Opening, Tenant, Yes, confirm, opening
from remanence.cli.outcome import Form, answer, form_of, guarded
from remanence.errors import InvalidInput, NotFound
from remanence.operations.operation import Group

if TYPE_CHECKING:
    from remanence.config import Settings
    from remanence.transfer import ChatImported, Exported, GraphImported, Imported

Target = Annotated[str, typer.Argument(metavar="FILE", help="the file to write; - is stdout")]
Source = Annotated[str, typer.Argument(metavar="FILE", help="the file to read; - is stdin")]
Overwrite = Annotated[bool, typer.Option(help="replace a file that is there already")]
Copy = Annotated[Path, typer.Argument(metavar="BACKUP", help="a file that `rem backup` made")]


Receipts = Annotated[
    Path | None,
    typer.Option(help="receipts of erasures to apply, where the database itself was lost"),
]
DEFAULT = "memories"
IMPORT_HELP = (
    "Read an export: `rem import FILE`; chat histories: `rem import chat FILE`; or the reference "
    "MCP memory server's graph: `rem import graph FILE`."
)


class ChatFormat(StrEnum):
    """Whose export a chat history is; the same words as `remanence.transfer.chat.Format`."""

    AUTO = "auto"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    REMANENCE = "remanence"


Chats = Annotated[
    str, typer.Argument(metavar="FILE", help="a .json or .zip file; - is stdin, JSON only")
]
Whose = Annotated[ChatFormat, typer.Option("--format", help="whose export it is")]
User = Annotated[str | None, typer.Option("--user-id", "-u", help="whose conversations they are")]
AgentId = Annotated[
    str | None, typer.Option("--agent-id", "--agent", "-a", help="the agent that had them")
]
Summarise = Annotated[
    bool, typer.Option("--summarise", help="summarise what does not fit a conversation's window")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="tell what would be read in, and stop")]


class ImportGroup(TyperGroup):
    """What is not the name of a kind of import is a file that `rem export` made."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the usual kind first where none is named."""
        named = args and args[0] in (*self.commands, *ctx.help_option_names)
        if not named and not ctx.resilient_parsing:
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The database that now holds what the backup held, less what was erased since."""

    path: str
    erased: int = 0


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("export", rich_help_panel=Group.CARE.value)(_export)
    imports = typer.Typer(cls=ImportGroup)
    imports.command(DEFAULT)(_import)
    imports.command("chat")(_import_chat)
    imports.command("graph")(_import_graph)
    app.add_typer(imports, name="import", help=IMPORT_HELP, rich_help_panel=Group.CARE.value)
    app.command("restore", rich_help_panel=Group.CARE.value)(_restore)


def _export(
    context: typer.Context,
    file: Target = "-",
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    database: Database = None,
    tenant: Tenant = None,
) -> None:
    """Write every memory, with history and links, and every document, as JSON lines."""
    form = form_of(as_json)
    with guarded(form):
        if file != "-" and Path(file).exists() and not overwrite:
            raise InvalidInput(f"{file} exists already; pass --overwrite to replace it.")
        done = _exported(opening(context, database, tenant), file)
        told = f"{_carried(done)} written."
        _finish(done, form if file != "-" else Form.HUMAN, told)


def _import(
    context: typer.Context,
    file: Source = "-",
    as_json: AsJson = False,
    database: Database = None,
    tenant: Tenant = None,
) -> None:
    """Read an export; what is here already is passed over, so it can be run again."""
    form = form_of(as_json)
    with guarded(form):
        done = _imported(opening(context, database, tenant), file)
        here = _counted(done.skipped, "memory", "memories")
        told = f"{_carried(done)} read; {here} and "
        told += f"{_counted(done.kept, 'document', 'documents')} were here already."
        _finish(done, form, told)


def _import_chat(
    context: typer.Context,
    file: Chats = "-",
    format: Whose = ChatFormat.AUTO,
    user: User = None,
    agent: AgentId = None,
    summarise: Summarise = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    database: Database = None,
    tenant: Tenant = None,
) -> None:
    """Read the chats of ChatGPT, Claude or your own JSON; only what is not here yet is added."""
    form = form_of(as_json)
    with guarded(form):
        opened = opening(context, database, tenant)
        given = {"format": format.value, "user_id": user, "agent_id": agent}
        done = _chats_imported(opened, file, given | {"summarise": summarise, "dry_run": dry_run})
        _finish(done, form, _told(done))


def _import_graph(
    context: typer.Context,
    file: Source = "-",
    user: User = None,
    agent: AgentId = None,
    as_json: AsJson = False,
    database: Database = None,
    tenant: Tenant = None,
) -> None:
    """Read the graph that the reference MCP memory server keeps; it can be run again."""
    form = form_of(as_json)
    with guarded(form):
        done = _graph_imported(opening(context, database, tenant), file, user, agent)
        told = f"{_counted(done.entities, 'entity', 'entities')}, "
        told += f"{_counted(done.observations, 'observation', 'observations')} and "
        _finish(done, form, f"{told}{_counted(done.relations, 'relation', 'relations')} read.")


def _graph_imported(
    opened: Opening, file: str, user: str | None, agent: str | None
) -> GraphImported:
    from remanence.transfer import import_graph

    with _read(file) as source, opened.memory() as memory:
        clean = cleaning("graph line", memory.settings)
        return import_graph(memory, source, user_id=user, agent_id=agent, clean=clean)


def _restore(
    context: typer.Context,
    backup: Copy,
    receipts: Receipts = None,
    yes: Yes = False,
    as_json: AsJson = False,
    database: Database = None,
    tenant: Tenant = None,
) -> None:
    """Put a backup in the place of the database, after checking that it is whole.

    What was erased from the database since is not brought back.
    """
    form = form_of(as_json)
    with guarded(form):
        settings = opening(context, database, tenant).settings()
        target = _target(settings)
        _check_backup(backup)
        if not yes and (_is_server(settings) or Path(target).exists()):
            confirm(f"Replace {target}, with all it holds?")
        erased = _put_back(backup, settings, receipts)
        less = f", less {erased:,} memories that were erased since" if erased else ""
        told = f"{target} holds what {backup} held{less}."
        _finish(Restored(path=target, erased=erased), form, told)


def _exported(opened: Opening, file: str) -> Exported:
    from remanence.cli.progress import progress
    from remanence.transfer import export_memory

    with (
        opened.memory(create=False) as memory,
        _written(file) as target,
        progress("export") as report,
    ):
        return export_memory(memory, target, report)


def _imported(opened: Opening, file: str) -> Imported:
    from remanence.cli.progress import progress
    from remanence.transfer import import_memory

    with _read(file) as source, opened.memory() as memory, progress("import") as report:
        return import_memory(memory, source, report, admit=admitting(memory.settings))


def _chats_imported(opened: Opening, file: str, given: Mapping[str, Any]) -> ChatImported:
    from remanence.cli.progress import progress
    from remanence.transfer import import_chat

    if given["dry_run"] and not _is_there(opened):
        opened = replace(opened, database=":memory:")
    named: AbstractContextManager[Any] = nullcontext(Path(file))
    with (
        _read(file) if file == "-" else named as source,
        opened.memory() as memory,
        progress("import") as report,
    ):
        clean = cleaning("message", memory.settings)
        return import_chat(memory, source, progress=report, clean=clean, **given)


def _is_there(opened: Opening) -> bool:
    from remanence.wiring import check_there

    try:
        check_there(opened.settings().database_url)
    except NotFound:
        return False
    return True


def _carried(done: Exported | Imported) -> str:
    memories = _counted(done.memories, "memory", "memories")
    links = _counted(done.associations, "association", "associations")
    claims = _counted(done.claims, "claim", "claims")
    return f"{memories}, {links}, {claims} and {_counted(done.documents, 'document', 'documents')}"


def _told(done: ChatImported) -> str:
    would = "would be " if done.dry_run else ""
    messages = _counted(done.messages, "message", "messages")
    told = f"{messages} of {_counted(done.conversations, 'conversation', 'conversations')} "
    told += f"{would}read; {_counted(done.present, 'was', 'were')} here already."
    if done.summaries:
        told += f" {_counted(done.summaries, 'summary', 'summaries')} made."
    if done.skipped:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in done.skipped.items())
        told += f" Passed over: {reasons}.{_first(done)}"
    return told


def _first(done: ChatImported) -> str:
    """The first thing of a file that was wrong; what is left out as a rule needs no example."""
    one = next((one for one in done.first if one.detail is not None), None)
    if one is None:
        return ""
    where = {"conversation": one.conversation, "message": one.message}
    named = ", ".join(f"{what} {name}" for what, name in where.items() if name is not None)
    return f" The first {one.reason}: {f'{named}: ' if named else ''}{one.detail}"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _target(settings: Settings) -> str:
    """How to speak of the database that is replaced."""
    from remanence.config import shown
    from remanence.wiring import MEMORY, database_path

    if _is_server(settings):
        return shown(settings.database_url)
    path = database_path(settings.database_url)
    if path == MEMORY:
        raise InvalidInput("A memory that lives in RAM cannot be restored; name a file with --db.")
    return path


def _is_server(settings: Settings) -> bool:
    from remanence.wiring import is_server

    return is_server(settings.database_url)


def _check_backup(backup: Path) -> None:
    if not backup.is_file():
        raise NotFound(f"There is no backup at {backup}; check the path.")


def _put_back(backup: Path, settings: Settings, receipts: Path | None) -> int:
    from remanence.wiring import restore_store

    return restore_store(backup, settings, receipts)


@contextmanager
def _written(file: str) -> Iterator[BinaryIO]:
    """stdout, or a file that appears when it is whole; readable by its owner only."""
    if file == "-":
        yield sys.stdout.buffer
        return
    part = Path(f"{file}.part")
    opened = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(opened, "wb") as target:
            yield target
            os.fsync(target.fileno())
        part.replace(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def _read(file: str) -> Iterator[BinaryIO]:
    if file != "-":
        with Path(file).open("rb") as source:
            yield source
    elif sys.stdin.isatty():
        raise typer.BadParameter("Say which file to import, or pipe one in.")
    else:
        yield sys.stdin.buffer


def _finish(done: Any, form: Form, told: str) -> None:
    """The data of an export may be on stdout, so what is told to people goes to stderr."""
    answer(done, form, None, lambda _: _say(told))


def _say(told: str) -> None:
    console = terminal.stderr()
    console.print(terminal.shown(told), soft_wrap=not console.is_terminal)
