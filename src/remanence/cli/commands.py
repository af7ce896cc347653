"""A command for every verb; a whole night at once, and a block in the editor of one's choice."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from remanence.api.verb import COMMANDS, AnyVerb, Group
from remanence.api.verbs.memory import OWN
from remanence.cli import common, values
from remanence.cli.terminal import counted, progress
from remanence.cli.values import parameters, request_of
from remanence.errors import InvalidInput, RemanenceError
from remanence.model.erasure import PurgeResult
from remanence.model.memory import MemoryRecord

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
Preview = Annotated[
    bool, typer.Option("--preview", help="show what sleep would forget by itself, when and why")
]


@common.command()
def night(
    asked: common.Opening,
    steps: Steps = None,
    dry_run: DryRun = False,
    user_id: User = None,
    model: Model = False,
    now: Annotated[str | None, typer.Option(metavar="DATE", help="what age counts from")] = None,
) -> bool:
    """Sleep: consolidate, forget, compress, learn, tidy up. `rem sleep undo` takes a run back."""
    from remanence.api.verbs.table import verb_of
    from remanence.cli.sleep_screens import show
    from remanence.cli.terminal import progress

    moment = None if now is None else values.moment("now", now)
    chosen = verb_of("sleep.plan" if dry_run else "sleep.run")
    request = chosen.request(steps=steps or None, user_id=user_id, model=model, now=moment)
    with asked.memory(create=False) as memory, progress(chosen.spelled) as report:
        response = chosen.perform(memory, request, report)
    asked.answer(response, show, chosen.listing)
    return not getattr(response, "healthy", True)


BlockUser = Annotated[
    str | None, typer.Option("--user-id", "-u", help="the user whose block it is")
]
Agent = Annotated[str | None, typer.Option("--agent-id", "-a", help="the agent whose block it is")]


@common.command("database", "tenant")
def _edit(
    asked: common.Opening,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="the block's label")],
    user_id: BlockUser = None,
    agent_id: Agent = None,
    reason: Annotated[str | None, typer.Option(help="why; kept in the history")] = None,
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


LAYER_HELP = {
    "blocks": "Core memory: labelled blocks that are always in the prompt.",
    "conversations": "Conversations: messages, the short-term window, summaries.",
    "sessions": "Sessions: state with a time to live. (Messages are in `rem conversation`.)",
    "working": "Working memory: the state of a session's task.",
    "facts": "Facts: what is known, since when, and who said so.",
    "graph": "The graph: people, places, things, and how they are related.",
    "sleep": "Sleep: consolidate, forget, compress, learn. Without a verb, it runs.",
    "schedules": "Schedules: when the memory sleeps by itself (see `rem worker`).",
    "learn": "Learning: a retrieval adapter from feedback; trained, judged, rolled back.",
    "tuning": "Tuning: a language model taught what the memory knows (the `train` extra).",
    "erasures": "Erasures: the signed receipts of what was erased.",
    "snapshots": "Snapshots of a scope: take one, compare it with the present, go back to it.",
}
# What the command of a layer does when no verb is named.
BARE = {"sleep": night}
EXPLAINED = ("context", "search")
# Where there is no database yet, these make one; the others say that there is none.
CREATING = ("add", "append", "create", "relate", "rethink", "set")


EXTRA = ("database", "tenant", "as_json", "as_lines", "yes", "explain", "preview")


def add_operations(app: typer.Typer) -> None:
    """Make a command of every layer; the memory's own verbs are `OwnVerbs`."""
    for layer, about in LAYER_HELP.items():
        bare = BARE.get(layer)
        group = typer.Typer(help=about, no_args_is_help=bare is None, cls=LayerGroup)
        if bare is not None:
            group.callback(invoke_without_command=True, help=about)(bare)
        app.add_typer(group, name=COMMANDS.get(layer, layer), rich_help_panel="Layers")


def _in_order(operations: Iterable[AnyVerb]) -> list[AnyVerb]:
    """By their groups."""
    return sorted(operations, key=lambda each: list(Group).index(each.group))


def _add(app: typer.Typer, operations: Iterable[AnyVerb]) -> None:
    for operation in _in_order(operations):
        name = operation.spelled.split(" ")[-1]
        panel = None if operation.layer else operation.group.value
        app.command(name, help=operation.summary, rich_help_panel=panel)(_command(operation))


class OwnVerbs(TyperGroup):
    """The program, with a command for each verb of the memory itself.

    A command is made when it is run. Its name and its words are all that the help of the program
    needs, and to make all of them would make every start slower.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands: the verbs in the order of their groups come first."""
        return list(dict.fromkeys([*_own(), *super().list_commands(ctx)]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, as far as help needs it."""
        verb = _own().get(cmd_name)
        if verb is None or cmd_name in self.commands:
            return super().get_command(ctx, cmd_name)
        return TyperCommand(cmd_name, help=verb.summary, rich_help_panel=verb.group.value)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is run."""
        if verb := _own().get(args[0]):
            made = typer.Typer()
            _add(made, [verb])
            self.commands[args[0]] = typer.main.get_command(made)
        return super().resolve_command(ctx, args)


@cache
def _own() -> Mapping[str, AnyVerb]:
    return {each.spelled: each for each in _in_order(OWN)}


class LayerGroup(TyperGroup):
    """The commands of a layer, made when one of them or their help is asked for.

    All of them at once would make every start of the program a third longer.
    """

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name."""
        self._fill()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands, in their order."""
        self._fill()
        return super().list_commands(ctx)

    def _fill(self) -> None:
        if self.commands:
            return
        from remanence.api.verbs.table import VERBS

        made = typer.Typer()
        _add(made, [each for each in VERBS if each.spelled.startswith(f"{self.name} ")])
        if self.name == "blocks":
            made.command("edit", help="Edit a block in $VISUAL or $EDITOR.")(_edit)
        self.commands.update(typer.main.get_group(made).commands)


def _command(operation: AnyVerb) -> Callable[..., None]:
    def call(context: typer.Context, **given: Any) -> None:
        extra = common.taken(given, *EXTRA)
        form = common.form_of(bool(extra["as_json"]), bool(extra["as_lines"]))
        with common.guarded(form):
            request = request_of(operation, given)
            opened = common.opening(context, extra["database"], extra["tenant"], form)
            creates = operation.verb.startswith(CREATING) and operation.layer != "schedules"
            with opened.memory(create=creates) as memory:
                if extra["preview"]:
                    coming = memory.sleep.forecast(user_id=request.user_id)
                    opened.answer(coming, partial(_show, operation, explain=False))
                    return
                request = common.cleaned(operation, request, memory)
                if operation.destructive and not extra["yes"]:
                    _confirm(operation, memory, request)
                response = _performed(operation, memory, request)
            show = partial(_show, operation, explain=bool(extra["explain"]))
            opened.answer(response, show, operation.listing)
        if not getattr(response, "healthy", True):
            raise typer.Exit(common.FAILED)

    common.with_signature(call, _signature(operation))
    return call


def _signature(operation: AnyVerb) -> list[inspect.Parameter]:
    own = {
        "explain": (common.Explain, operation.verb in EXPLAINED),
        "yes": (common.Yes, operation.destructive),
        "preview": (Preview, operation.name == "forget"),
        "as_lines": (common.AsLines, operation.listing is not None),
    }
    wanted = [common.keyword("context", typer.Context), *parameters(operation)]
    wanted += [common.keyword(name, kind, False) for name, (kind, has) in own.items() if has]
    return wanted + [common.keyword(name, *option) for name, option in common.EVERYWHERE.items()]


def _performed(operation: AnyVerb, memory: Memory, request: Any) -> Any:
    if not operation.reports:
        return operation.perform(memory, request)
    with progress(operation.spelled) as report:
        return operation.perform(memory, request, report)


def _confirm(operation: AnyVerb, memory: Memory, request: Any) -> None:
    """Ask before anything is forgotten, naming how many it would be.

    Archiving can be undone, so it goes ahead where nobody can be asked; erasing does not.
    """
    erase = getattr(request, "erase", operation.verb == "erase")
    if getattr(request, "dry_run", False) or not (erase or sys.stdin.isatty()):
        return
    if operation.layer:
        named = getattr(request, "label", None) or getattr(request, "name", None)
        named = named or getattr(request, "id", None) or getattr(request, "session_id", "")
        common.confirm(f"{operation.spelled} {named}{', for good' if erase else ''}: go ahead?")
        return
    found = operation.perform(memory, replace(request, dry_run=True))
    if isinstance(found, PurgeResult):
        common.confirm(f"Take back {found.count:,} things{', some for good' if erase else ''}?")
        return
    told = counted(len(found.memories), "memory", "memories")
    common.confirm(f"Forget {told}{' for good' if erase else ''}?")


def _show(operation: AnyVerb, response: Any, explain: bool) -> None:
    from remanence.cli.screens import show_brief
    from remanence.cli.sleep_screens import show

    if operation.writes and operation.response is MemoryRecord:
        show_brief(response)
    else:
        show(response, explain=explain)
