"""Answers of the layers for people: blocks, conversations, sessions, snapshots, contexts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from remanence.cli import terminal
from remanence.cli.screens import INDENT, note, say, show, show_brief
from remanence.model.block import Block, BlockVersion
from remanence.model.context import Context
from remanence.model.conversation import Conversation, Window
from remanence.model.session import Session, WorkingItem
from remanence.model.snapshot import Restored, Snapshot, SnapshotDiff
from remanence.operations.layer_responses import (
    BlockHistory,
    Blocks,
    Conversations,
    Done,
    Sessions,
    Snapshots,
    Value,
    Wording,
    WorkingItems,
)
from remanence.operations.rendering import dumped

__all__ = ["show"]

COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@show.register
def _(answer: Wording, explain: bool = False) -> None:
    if not answer.text:
        note("Nothing to show.")
    for line in terminal.shown(answer.text).splitlines():
        say(Text(line, style=COLOURS.get(line[:1], "")))


@show.register
def _(answer: Done, explain: bool = False) -> None:
    note("Done." if answer.done else "There was nothing to do: no such thing is there.")


@show.register
def _(answer: Value, explain: bool = False) -> None:
    say(_told(answer.value))


@show.register
def _(answer: Block, explain: bool = False) -> None:
    say(_block_line(answer))
    for line in terminal.shown(answer.value).splitlines():
        say(Text(f"{INDENT}{line}"))


@show.register
def _(answer: Blocks, explain: bool = False) -> None:
    for block in answer.blocks:
        show(block)


@show.register
def _(answer: BlockHistory, explain: bool = False) -> None:
    for version in answer.versions:
        say(_version_line(version))
    if not answer.versions:
        note("Nobody has written it yet.")


@show.register
def _(answer: Conversation, explain: bool = False) -> None:
    when = f"{answer.last:%Y-%m-%d %H:%M}" if answer.last else "nothing said yet"
    title = f"  {terminal.shown(answer.title)}" if answer.title else ""
    head = Text(f"{when}  ", style="green")
    head.append(terminal.shown(answer.session_id), style="bold").append(title)
    say(head.append(f"  {answer.messages:,} messages", style="dim"))
    _show_pairs(answer.metadata)


@show.register
def _(answer: Conversations, explain: bool = False) -> None:
    for conversation in answer.conversations:
        show(conversation)
    if not answer.conversations:
        note("No conversations here. (-u names a user.)")


@show.register
def _(answer: Window, explain: bool = False) -> None:
    if answer.summary:
        say(Text(f"before that: {terminal.shown(answer.summary)}", style="dim"))
    for record in answer.messages:
        show_brief(record)
    note(f"{len(answer.messages)} messages, {answer.tokens:,} tokens; {answer.left:,} left out.")


@show.register
def _(answer: Session, explain: bool = False) -> None:
    state = f"ended {answer.ended_at:%Y-%m-%d %H:%M}" if answer.ended_at else "active"
    head = Text(f"{answer.active_at:%Y-%m-%d %H:%M}  ", style="green")
    head.append(terminal.shown(answer.id), style="bold")
    say(head.append(f"  {state}, until {answer.expires_at:%Y-%m-%d %H:%M}", style="dim"))
    _show_pairs(answer.data)


@show.register
def _(answer: Sessions, explain: bool = False) -> None:
    for session in answer.sessions:
        show(session)
    if not answer.sessions:
        note("No sessions are active here. (-u names a user.)")


@show.register
def _(answer: WorkingItem, explain: bool = False) -> None:
    say(Text.assemble((terminal.shown(answer.key), "bold"), f"  {_told(answer.value)}"))


@show.register
def _(answer: WorkingItems, explain: bool = False) -> None:
    for item in answer.items:
        show(item)
    if not answer.items:
        note("Nothing is kept for this session.")


@show.register
def _(answer: Snapshot, explain: bool = False) -> None:
    counts = ", ".join(f"{what} {count:,}" for what, count in answer.counts.items() if count)
    head = Text(f"{answer.at:%Y-%m-%d %H:%M}  ", style="green")
    head.append(terminal.shown(answer.name), style="bold").append(f"  {counts or 'nothing'}")
    say(head.append(f"  {terminal.shown(answer.note)}" if answer.note else "", style="dim"))


@show.register
def _(answer: Snapshots, explain: bool = False) -> None:
    for snapshot in answer.snapshots:
        show(snapshot)
    if not answer.snapshots:
        note("No snapshots here. (-u names a user.)")


@show.register
def _(answer: SnapshotDiff, explain: bool = False) -> None:
    show(Wording(text=answer.summary))


@show.register
def _(answer: Restored, explain: bool = False) -> None:
    show(answer.diff)
    if answer.dry_run:
        note("Nothing was changed.")
    elif answer.undo is None:
        note("Nothing differed.")
    else:
        note(f"Restored. To take that back, restore {answer.undo}.")


@show.register
def _(answer: Context, explain: bool = False) -> None:
    if answer.text:
        say(Text(terminal.shown(answer.table() if explain else answer.text)))
    if not answer.text:
        note("Nothing fits, or there is nothing to say. (-u names a user, -s a conversation.)")
    elif not explain:
        note(f"{answer.tokens:,} of {answer.max_tokens:,} tokens; --explain says what each is for.")


def _block_line(block: Block) -> Text:
    whose = " ".join(name for name in (block.user_id, block.agent_id) if name)
    line = Text(terminal.shown(block.label), style="bold")
    line.append(f"  {block.characters}/{block.limit}  version {block.version}", style="dim")
    line.append(f"  {terminal.shown(whose or 'shared by all users')}", style="dim")
    if block.read_only:
        line.append("  read-only", style="yellow")
    if block.description:
        line.append(f"  {terminal.shown(block.description)}", style="dim")
    return line


def _version_line(version: BlockVersion) -> Text:
    line = Text(f"{version.version:>3}  ", style="bold")
    line.append(f"{version.at:%Y-%m-%d %H:%M}  {terminal.shown(version.verb)}")
    if version.shows is not None:
        line.append(f" to {version.shows}")
    if version.author:
        line.append(f"  by {terminal.shown(version.author)}")
    if version.reason:
        line.append(f"  ({terminal.shown(version.reason)})", style="dim")
    return line.append(f"  {len(version.value)} characters", style="dim")


def _show_pairs(pairs: Mapping[str, Any]) -> None:
    for name, value in pairs.items():
        label = (f"{INDENT}{terminal.shown(name):<13}", "dim")
        say(Text.assemble(label, f" {_told(value)}"))


def _told(value: Any) -> str:
    return terminal.shown(value if isinstance(value, str) else dumped(value))
