"""`rem mcp`: the memory as an MCP server on stdin and stdout, and its entry in clients' files."""

from __future__ import annotations

import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from remanence.cli import terminal
from remanence.cli.common import Opening, command
from remanence.cli.running import check_installed
from remanence.cli.terminal import tell
from remanence.errors import InvalidInput

if TYPE_CHECKING:
    from remanence.server.mcp.clients import Installed

HELP = "MCP: the memory for Claude, Cursor, VS Code, Codex. Without a verb, it serves on stdin."


# The profiles of `mcp.tools` and the names of `mcp.clients`, which are not loaded for help.
Profile = StrEnum("Profile", ["default", "graph", "full"])
ClientName = StrEnum("ClientName", ["claude-desktop", "claude-code", "cursor", "codex", "vscode"])
Where = StrEnum("Where", ["user", "project"])
Tools = Annotated[
    Profile | None,
    typer.Option(help="which tools: default, graph (the reference server's) or full"),
]
User = Annotated[
    str | None, typer.Option("--user-id", "-u", help="the user meant when a call names none")
]
Agent = Annotated[
    str | None, typer.Option("--agent-id", "-a", help="the agent meant when a call names none")
]
Session = Annotated[
    str | None, typer.Option("--session-id", "-s", help="the conversation, likewise")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", "-n", help="change nothing, show what would be written")
]
Scope = Annotated[Where, typer.Option(help="for you everywhere, or for this folder")]
File = Annotated[Path | None, typer.Option(help="the client's file, if it lies elsewhere")]


group = typer.Typer(help=HELP)


@group.callback(invoke_without_command=True, help=HELP)
@command("database", "tenant")
def _serve(
    asked: Opening,
    tools: Tools = None,
    user_id: User = None,
    agent_id: Agent = None,
    session_id: Session = None,
) -> None:
    check_installed("MCP", "mcp", "starlette")
    from remanence.server.mcp.mounting import serve_stdio

    settings = asked.settings()
    given = {"user_id": user_id, "agent_id": agent_id, "session_id": session_id}
    scope = {name: text for name, text in given.items() if text}
    with asked.memory() as memory:
        serve_stdio(memory, settings, profile=tools or settings.tools, scope=scope)


@group.command("install")
@command()
def _install(
    asked: Opening,
    client: Annotated[ClientName, typer.Option(help="the client to install it in")],
    scope: Scope = Where.user,
    dry_run: DryRun = False,
    tools: Tools = None,
    user_id: User = None,
    agent_id: Agent = None,
    name: Annotated[str, typer.Option(help="what the client calls the server")] = "remanence",
    config_file: File = None,
) -> None:
    """Tell a client of this memory: its file gains one entry, and keeps all else."""
    check_installed("MCP", "mcp", "starlette")  # the client would start what cannot run
    from remanence.server.mcp.clients import CLIENTS, install

    chosen = CLIENTS[client.value]
    program, *before = _program()
    options = {"--tools": tools, "--user-id": user_id, "--agent-id": agent_id}
    args = (*before, *_everywhere(asked), "mcp", *_spelled(options))
    file = config_file or chosen.file(scope.value)
    done = install(chosen, file, name, chosen.entry(program, args), dry_run=dry_run)
    asked.answer(done, _show)


def _program() -> list[str]:
    """How a client starts `rem`: by its whole path, as it may know another PATH than a shell."""
    own = Path(sys.argv[0])
    found = str(own.resolve()) if own.name == "rem" and own.exists() else shutil.which("rem")
    if found:
        return [found]
    return [sys.executable, "-c", "from remanence.cli.app import main; main()"]


def _everywhere(asked: Opening) -> list[str]:
    """Which memory, so that the client finds the same one from wherever it starts."""
    config = str(Path(asked.config).resolve()) if asked.config else None
    database = None if config and not asked.database else _address(asked.settings().database)
    return _spelled({"--config": config, "--db": database, "--tenant": asked.tenant})


def _address(database: str) -> str | None:
    if "://" not in database:
        return str(Path(database).expanduser().resolve()) if database else None
    if urlsplit(database).password:
        raise InvalidInput(
            "The database's address holds a password, which does not belong into a client's "
            "file: put the address into a settings file and pass `rem --config FILE mcp install`."
        )
    return database


def _spelled(options: dict[str, str | None]) -> list[str]:
    return [part for name, value in options.items() if value for part in (name, str(value))]


def _show(done: Installed) -> None:
    if done.dry_run or not done.changed:
        would = "would be added to" if done.changed else "is already in"
        terminal.stderr().print(f"This {would} {terminal.shown(str(done.file))}:", soft_wrap=True)
        tell(done.snippet.rstrip())
        return
    tell(f"Added to {done.file}. Restart the client.")
    if done.backup is not None:
        tell(f"The file as it was: {done.backup}")
