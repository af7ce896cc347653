"""`rem blocks edit`: a block in the editor of one's choice."""

from __future__ import annotations

from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer

from remanence.cli.common import Database, Tenant, opening
from remanence.cli.outcome import Form, guarded
from remanence.errors import InvalidInput, RemanenceError

if TYPE_CHECKING:
    from remanence.memory import Memory

User = Annotated[str | None, typer.Option("--user-id", "-u", help="the user whose block it is")]
Agent = Annotated[str | None, typer.Option("--agent-id", "-a", help="the agent whose block it is")]
Reason = Annotated[str | None, typer.Option("--reason", help="why; kept in the history")]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("edit", help="Edit a block in $VISUAL or $EDITOR.")(_edit)


def _edit(
    context: typer.Context,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="the block's label")],
    user_id: User = None,
    agent_id: Agent = None,
    reason: Reason = None,
    database: Database = None,
    tenant: Tenant = None,
) -> None:
    with guarded(Form.HUMAN), opening(context, database, tenant).memory(create=False) as memory:
        changed = _edited(memory, label, user_id, agent_id, reason)
    typer.echo(changed)


def _edited(
    memory: Memory, label: str, user_id: str | None, agent_id: str | None, reason: str | None
) -> str:
    """Let a person edit the block; whoever edits it meanwhile is not overwritten."""
    block = memory.blocks.get(label, user_id=user_id, agent_id=agent_id)
    text = _by_hand(block.value, f".{label}.txt")
    if text is None or text.rstrip("\n") == block.value.rstrip("\n"):
        return "Nothing changed."
    told = {"user_id": user_id, "agent_id": agent_id, "author": "editor", "reason": reason}
    try:
        after = memory.blocks.rethink(label, text.rstrip("\n"), version=block.version, **told)
    except RemanenceError as error:
        raise type(error)(f"{error} What you wrote is in {_kept(label, text)}.") from error
    used = f"{after.characters}/{after.limit} characters"
    return f"{label} is at version {after.version} now, {used}."


def _kept(label: str, text: str) -> str:
    """The file that holds what a person wrote and could not be stored."""
    with NamedTemporaryFile(
        "w", encoding="utf-8", prefix=f"rem-{label}-", suffix=".txt", delete=False
    ) as file:
        file.write(text)
    return file.name


def _by_hand(text: str, ending: str) -> str | None:
    import click

    try:
        return click.edit(text, extension=ending, require_save=False)
    except click.ClickException as error:
        raise InvalidInput(f"{error.format_message()}; set $EDITOR to an editor.") from None
    except UnicodeDecodeError:
        raise InvalidInput("What the editor saved is not UTF-8; nothing was changed.") from None
