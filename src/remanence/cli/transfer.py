"""`rem export`, `rem import` and `rem restore`: memories in and out of files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer
from typer.core import TyperGroup

from remanence.cli import terminal
from remanence.cli.common import Opening, OutputForm, Yes, admitting, cleaning, command, confirm
from remanence.cli.terminal import counted, progress
from remanence.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from remanence.config import Settings
    from remanence.tools.transfer import ChatImported, Exported, Imported

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


# Whose export a chat history is; the same words as `remanence.tools.transfer.chat.Format`.
ChatFormat = StrEnum("ChatFormat", ["auto", "chatgpt", "claude", "remanence"])
Chats = Annotated[
    str, typer.Argument(metavar="FILE", help="a .json or .zip file; - is stdin, JSON only")
]
Whose = Annotated[ChatFormat, typer.Option(help="whose export it is")]
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


imports = typer.Typer(cls=ImportGroup, help=IMPORT_HELP)


@command()
def export(asked: Opening, file: Target = "-", overwrite: Overwrite = False) -> None:
    """Write every memory, with history and links, and every document, as JSON lines."""
    if file != "-" and Path(file).exists() and not overwrite:
        raise InvalidInput(f"{file} exists already; pass --overwrite to replace it.")
    from remanence.tools.transfer import export_memory

    with (
        asked.memory(create=False) as memory,
        _written(file) as target,
        progress("export") as report,
    ):
        done = export_memory(memory, target, report)
    told = f"{_carried(done)} written."
    _finish(asked if file != "-" else replace(asked, form=OutputForm.HUMAN), done, told)


@imports.command(DEFAULT)
@command()
def _import(asked: Opening, file: Source = "-") -> None:
    """Read an export; what is here already is passed over, so it can be run again."""
    from remanence.tools.transfer import import_memory

    with _read(file) as source, asked.memory() as memory, progress("import") as report:
        done = import_memory(memory, source, report, admit=admitting(memory.settings))
    here = counted(done.skipped, "memory", "memories")
    told = f"{_carried(done)} read; {here} and "
    told += f"{counted(done.kept, 'document', 'documents')} were here already."
    _finish(asked, done, told)


@imports.command("chat")
@command()
def _import_chat(
    asked: Opening,
    file: Chats = "-",
    format: Whose = ChatFormat.auto,
    user: User = None,
    agent: AgentId = None,
    summarise: Summarise = False,
    dry_run: DryRun = False,
) -> None:
    """Read the chats of ChatGPT, Claude or your own JSON; only what is not here yet is added."""
    from remanence.tools.transfer import import_chat

    if dry_run and not _is_there(asked):
        asked = replace(asked, database=":memory:")
    named: AbstractContextManager[Any] = nullcontext(Path(file))
    with (
        _read(file) if file == "-" else named as source,
        asked.memory() as memory,
        progress("import") as report,
    ):
        done = import_chat(
            memory,
            source,
            format=format.value,
            user_id=user,
            agent_id=agent,
            summarise=summarise,
            dry_run=dry_run,
            progress=report,
            clean=cleaning("message", memory.settings),
        )
    _finish(asked, done, _told(done))


@imports.command("graph")
@command()
def _import_graph(
    asked: Opening, file: Source = "-", user: User = None, agent: AgentId = None
) -> None:
    """Read the graph that the reference MCP memory server keeps; it can be run again."""
    from remanence.tools.transfer import import_graph

    with _read(file) as source, asked.memory() as memory:
        clean = cleaning("graph line", memory.settings)
        done = import_graph(memory, source, user_id=user, agent_id=agent, clean=clean)
    told = f"{counted(done.entities, 'entity', 'entities')}, "
    told += f"{counted(done.observations, 'observation', 'observations')} and "
    _finish(asked, done, f"{told}{counted(done.relations, 'relation', 'relations')} read.")


@command()
def restore(asked: Opening, backup: Copy, receipts: Receipts = None, yes: Yes = False) -> None:
    """Put a backup in the place of the database, after checking that it is whole.

    What was erased from the database since is not brought back.
    """
    from remanence.config.assembly import is_server, restore_store

    settings = asked.settings()
    target = _target(settings)
    if not backup.is_file():
        raise NotFound(f"There is no backup at {backup}; check the path.")
    if not yes and (is_server(settings.database_url) or Path(target).exists()):
        confirm(f"Replace {target}, with all it holds?")
    erased = restore_store(backup, settings, receipts)
    less = f", less {erased:,} memories that were erased since" if erased else ""
    told = f"{target} holds what {backup} held{less}."
    _finish(asked, Restored(path=target, erased=erased), told)


def _is_there(opened: Opening) -> bool:
    from remanence.config.assembly import check_there

    try:
        check_there(opened.settings().database_url)
    except NotFound:
        return False
    return True


def _carried(done: Exported | Imported) -> str:
    memories = counted(done.memories, "memory", "memories")
    links = counted(done.associations, "association", "associations")
    claims = counted(done.claims, "claim", "claims")
    return f"{memories}, {links}, {claims} and {counted(done.documents, 'document', 'documents')}"


def _told(done: ChatImported) -> str:
    would = "would be " if done.dry_run else ""
    messages = counted(done.messages, "message", "messages")
    told = f"{messages} of {counted(done.conversations, 'conversation', 'conversations')} "
    told += f"{would}read; {counted(done.present, 'was', 'were')} here already."
    if done.summaries:
        told += f" {counted(done.summaries, 'summary', 'summaries')} made."
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


def _target(settings: Settings) -> str:
    """How to speak of the database that is replaced."""
    from remanence.config import shown
    from remanence.config.assembly import MEMORY, database_path, is_server

    if is_server(settings.database_url):
        return shown(settings.database_url)
    path = database_path(settings.database_url)
    if path == MEMORY:
        raise InvalidInput("A memory that lives in RAM cannot be restored; name a file with --db.")
    return path


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


def _finish(asked: Opening, done: Any, told: str) -> None:
    """The data of an export may be on stdout, so what is told to people goes to stderr."""

    def say(_: Any) -> None:
        console = terminal.stderr()
        console.print(terminal.shown(told), soft_wrap=not console.is_terminal)

    asked.answer(done, say)
