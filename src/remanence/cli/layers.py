"""What layers do beside their verbs: a whole night, and a block in the editor of one's choice."""

from __future__ import annotations

from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer

from remanence.cli import values
from remanence.cli.common import Opening, command
from remanence.errors import InvalidInput, RemanenceError

if TYPE_CHECKING:
    from remanence.api.memory import Memory

Steps = Annotated[
    list[str] | None,
    typer.Option(
        "--step",
        help="only these: talks, merge, distil, reflect, forget, erase, compress, learn, upkeep, "
        "or consolidate for the second to the fourth",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", "-n", help="only say what would be done, and why")
]
User = Annotated[str | None, typer.Option("--user-id", "-u", help="only this user's memories")]
Model = Annotated[
    bool, typer.Option("--model", help="let the language model help; what it says is checked")
]
Now = Annotated[str | None, typer.Option("--now", metavar="DATE", help="what age counts from")]
Preview = Annotated[
    bool,
    typer.Option("--preview", help="show what sleep would forget by itself, when and why"),
]


@command()
def night(
    asked: Opening,
    steps: Steps = None,
    dry_run: DryRun = False,
    user_id: User = None,
    model: Model = False,
    now: Now = None,
) -> bool:
    """Sleep: consolidate, forget, compress, learn, tidy up. `rem sleep undo` takes a run back."""
    from remanence.api.verbs.table import verb_of
    from remanence.cli.sleep_screens import show
    from remanence.cli.terminal import progress

    moment = None if now is None else values.moment("now", now)
    chosen = verb_of("sleep.plan" if dry_run else "sleep.run")
    request = chosen.request(steps=tuple(steps or ()), user_id=user_id, model=model, now=moment)
    with asked.memory(create=False) as memory, progress(chosen.spelled) as report:
        response = chosen.perform(memory, request, report)
    asked.answer(response, show, chosen.listing)
    return not getattr(response, "healthy", True)


BlockUser = Annotated[
    str | None, typer.Option("--user-id", "-u", help="the user whose block it is")
]
Agent = Annotated[str | None, typer.Option("--agent-id", "-a", help="the agent whose block it is")]
Reason = Annotated[str | None, typer.Option("--reason", help="why; kept in the history")]


def add_edit(app: typer.Typer) -> None:
    """Add the command."""
    app.command("edit", help="Edit a block in $VISUAL or $EDITOR.")(_edit)


@command("database", "tenant")
def _edit(
    asked: Opening,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="the block's label")],
    user_id: BlockUser = None,
    agent_id: Agent = None,
    reason: Reason = None,
) -> None:
    with asked.memory(create=False) as memory:
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
