"""Answers of the layers for people: blocks, conversations, sessions, facts, graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from remanence.api.answers import Acknowledgement, TextAnswer
from remanence.api.verbs.blocks import BlockHistory
from remanence.api.verbs.conversations import ConversationList
from remanence.api.verbs.facts import Conflicts, Extraction, FactList, RefusedCounts
from remanence.api.verbs.graph import (
    Communities,
    Likenesses,
    Mentions,
    Nodes,
    Paths,
    Picture,
    Timeline,
)
from remanence.api.verbs.sessions import SessionList, WorkingItems
from remanence.api.verbs.snapshots import SnapshotList
from remanence.cli.screens import INDENT, NONE, by_whom, show, show_brief, value_of
from remanence.cli.terminal import counted, note, say, shown
from remanence.language.english.extraction.statement import Statement
from remanence.model import graph
from remanence.model.block import Block, BlockVersion
from remanence.model.context import Context
from remanence.model.conversation import Conversation, Window
from remanence.model.knowledge import Fact, Standing
from remanence.model.session import Session, WorkingItem
from remanence.model.snapshot import Restored, Snapshot, SnapshotDiff

NONE.update(
    {
        BlockHistory: "Nobody has written it yet.",
        ConversationList: "No conversations here. (-u names a user.)",
        SessionList: "No sessions are active here. (-u names a user.)",
        SnapshotList: "No snapshots here. (-u names a user.)",
        WorkingItems: "Nothing is kept for this session.",
    }
)
COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@show.register(TextAnswer)
def _(answer: Any, explain: bool = False) -> None:
    show_text(answer.text)


def show_text(text: str) -> None:
    """A text, the lines of a difference in colours."""
    if not text:
        note("Nothing to show.")
    for line in shown(text).splitlines():
        say(line, style=COLOURS.get(line[:1], ""))


@show.register
def _(answer: Acknowledgement, explain: bool = False) -> None:
    note("Done." if answer.done else "There was nothing to do: no such thing is there.")


@show.register
def _(answer: Block, explain: bool = False) -> None:
    whose = " ".join(filter(None, (answer.user_id, answer.agent_id)))
    size = f"  {answer.characters}/{answer.limit}  version {answer.version}"
    about = f"  {shown(answer.description)}" if answer.description else ""
    say(
        shown(answer.label),
        (f"{size}  {shown(whose or 'shared by all users')}", "dim"),
        ("  read-only" if answer.read_only else "", "yellow"),
        (about, "dim"),
        style="bold",
    )
    for line in shown(answer.value).splitlines():
        say(f"{INDENT}{line}")


@show.register
def _(answer: BlockVersion, explain: bool = False) -> None:
    done = f"{answer.version:>3}  {answer.at:%Y-%m-%d %H:%M}  {shown(answer.verb)}"
    to = "" if answer.shows is None else f" to {answer.shows}"
    size = (f"  {len(answer.value)} characters", "dim")
    say(done, to, *by_whom(answer.author, answer.reason), size, style="bold")


@show.register
def _(answer: Conversation, explain: bool = False) -> None:
    when = f"{answer.last:%Y-%m-%d %H:%M}" if answer.last else "nothing said yet"
    title = f"  {shown(answer.title)}" if answer.title else ""
    name, size = (shown(answer.session_id), "bold"), (f"  {answer.messages:,} messages", "dim")
    say(f"{when}  ", name, title, size, style="green")
    _show_pairs(answer.metadata)


@show.register
def _(answer: Window, explain: bool = False) -> None:
    if answer.summary:
        say(f"before that: {shown(answer.summary)}", style="dim")
    for record in answer.messages:
        show_brief(record)
    note(f"{len(answer.messages)} messages, {answer.tokens:,} tokens; {answer.left:,} left out.")


@show.register
def _(answer: Session, explain: bool = False) -> None:
    state = f"ended {answer.ended_at:%Y-%m-%d %H:%M}" if answer.ended_at else "active"
    ends = (f"  {state}, until {answer.expires_at:%Y-%m-%d %H:%M}", "dim")
    say(f"{answer.active_at:%Y-%m-%d %H:%M}  ", (shown(answer.id), "bold"), ends, style="green")
    _show_pairs(answer.data)


@show.register
def _(answer: WorkingItem, explain: bool = False) -> None:
    say((shown(answer.key), "bold"), f"  {value_of(answer.value)}")


@show.register
def _(answer: Snapshot, explain: bool = False) -> None:
    counts = ", ".join(f"{what} {count:,}" for what, count in answer.counts.items() if count)
    named = ((shown(answer.name), "bold"), f"  {counts or 'nothing'}")
    remark = (f"  {shown(answer.note)}" if answer.note else "", "dim")
    say(f"{answer.at:%Y-%m-%d %H:%M}  ", *named, remark, style="green")


@show.register
def _(answer: SnapshotDiff, explain: bool = False) -> None:
    show_text(answer.summary)


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
        say(shown(answer.table() if explain else answer.text))
    if not answer.text:
        note("Nothing fits, or there is nothing to say. (-u names a user, -s a conversation.)")
    elif not explain:
        note(f"{answer.tokens:,} of {answer.max_tokens:,} tokens; --explain says what each is for.")


def _show_pairs(pairs: Mapping[str, Any]) -> None:
    for name, value in pairs.items():
        say((f"{INDENT}{shown(name):<13}", "dim"), f" {value_of(value)}")


__all__ = ["show"]

STANDINGS = {
    Standing.HOLDS: "green",
    Standing.ENDED: "dim",
    Standing.DISPUTED: "yellow",
    Standing.DOUBTED: "yellow",
    Standing.RETRACTED: "red",
}
NOBODY = "Nothing is known here. (-u names a user.)"
NONE.update(dict.fromkeys((FactList, Timeline, Communities), NOBODY))
NONE.update({Mentions: "No memory speaks of it.", Likenesses: "No two look like one."})


@show.register
def _(answer: Fact, explain: bool = False) -> None:
    said = f"{answer.standing.value:<9} {shown(answer.text)}"
    sure = ((f"  {answer.when}", "cyan"), (f"  {answer.confidence:.0%} sure", "dim"))
    say(said, *sure, style=STANDINGS[answer.standing])
    sources = f", {len(answer.sources)} sources" if len(answer.sources) > 1 else ""
    say(f"{INDENT}{answer.id}  {answer.kind}{sources}", style="dim")


@show.register(Conflicts)
def _(answer: Any, explain: bool = False) -> None:
    for rivals in answer.conflicts:
        say("either", style="bold")
        for fact in rivals:
            show(fact)
    if not answer.conflicts:
        note("Nothing contradicts anything here.")


@show.register
def _(answer: Extraction, explain: bool = False) -> None:
    for statement in answer.statements:
        _show_statement(statement)
    for name in answer.names:
        say(f"{INDENT}{shown(name.text)}: {name.type}", style="dim")
    _reasons(answer.refused)
    if not (answer.statements or answer.names or answer.refused):
        note("It says nothing that would be kept.")


@show.register(RefusedCounts)
def _(answer: Any, explain: bool = False) -> None:
    _reasons(answer.reasons)
    if not answer.reasons:
        note("Nothing was refused since the memory was opened.")


@show.register
def _(answer: graph.Node, explain: bool = False) -> None:
    say(_headline(answer))
    for relation in answer.relations:
        say(INDENT, _edge(relation))
    for fact in answer.facts:
        say(f"{INDENT}{shown(fact.text)}  {fact.when}")
    for observation in answer.observations:
        say(f"{INDENT}· {shown(observation.text)}")


@show.register(Nodes)
def _(answer: Any, explain: bool = False) -> None:
    for node in answer.nodes:
        say(_headline(node))
    if not answer.nodes:
        note(NOBODY)


@show.register
def _(answer: graph.Relation, explain: bool = False) -> None:
    say(_edge(answer))


@show.register
def _(answer: graph.Subgraph, explain: bool = False) -> None:
    for node in answer.nodes:
        say(_headline(node))
    for edge in answer.edges:
        say(INDENT, _edge(edge))
    for pair in answer.together:
        names = f"{shown(pair.a)} and {shown(pair.b)}"
        say(f"{INDENT}{names}: together in {pair.memories}", style="dim")


@show.register(Paths)
def _(answer: Any, explain: bool = False) -> None:
    for number, path in enumerate(answer.paths, 1):
        say(f"{number}  {_way(path)}", style="bold")
    if not answer.paths:
        note("No way leads from one to the other.")


@show.register
def _(answer: Picture, explain: bool = False) -> None:
    note(f"Drawn to {shown(answer.path)}.")


@show.register
def _(answer: graph.Community, explain: bool = False) -> None:
    say(f"{shown(answer.name)}  {shown(', '.join(answer.members))}", style="bold")


@show.register
def _(answer: graph.Likeness, explain: bool = False) -> None:
    pair = f"{answer.score:.2f}  {shown(answer.name)} → {shown(answer.into)}"
    say(pair, (f"  {shown('; '.join(answer.why))}", "dim"), style="cyan")


@show.register
def _(answer: graph.ResolveResult, explain: bool = False) -> None:
    for one in answer.merged:
        show(one)
    if answer.unsure:
        say("for a person to decide:", style="bold")
    for one in answer.unsure:
        show(one)
    done = "would be merged" if answer.dry_run else "merged; `rem graph unmerge` takes one back"
    note(f"{len(answer.merged)} {done}.")


def _show_statement(said: Statement) -> None:
    told = " ".join(map(shown, (said.subject.text, said.predicate, said.value or "…")))
    when = f"  {said.when}" if said.when else ""
    say(told, (f"{when}  {said.confidence:.0%} sure", "dim"), style="bold")


def _reasons(reasons: object) -> None:
    if isinstance(reasons, dict):
        for reason, count in reasons.items():
            note(f"refused: {reason}, {count}")


def _headline(node: graph.Node) -> Text:
    line = Text(shown(node.name), style="bold").append(f"  {shown(node.type)}")
    if node.aliases:
        line.append(f"  also {shown(', '.join(node.aliases))}", style="dim")
    told = f"  in {counted(node.mentions, 'memory', 'memories')}" if node.mentions else ""
    return line.append(told, style="dim")


def _edge(edge: graph.Relation) -> Text:
    line = Text(f"{shown(edge.source)} ").append(shown(edge.relation), "cyan")
    line.append(f" {shown(edge.target)}")
    return line.append(f"  {edge.when}" if edge.when else "", style="dim")


def _way(path: graph.Route) -> str:
    told = shown(path.names[0])
    for name, edge in zip(path.names[1:], path.edges, strict=True):
        how = edge.relation if isinstance(edge, graph.Relation) else "spoken of with"
        told += f" –{shown(how)}– {shown(name)}"
    return told
