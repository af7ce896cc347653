"""Answers about facts and the graph for people."""

from __future__ import annotations

from rich.text import Text

from remanence.cli import terminal
from remanence.cli.layer_screens import show
from remanence.cli.screens import INDENT, note, say
from remanence.knowledge.extract.statement import Statement
from remanence.model.graph import (
    Community,
    Likeness,
    Moment,
    Node,
    Relation,
    Resolved,
    Route,
    Subgraph,
)
from remanence.model.knowledge import Fact, Mention, Standing
from remanence.operations.knowledge_responses import (
    Communities,
    Conflicts,
    Facts,
    Likenesses,
    Mentions,
    Moments,
    Nodes,
    Paths,
    Picture,
    Read,
    Refused,
)

__all__ = ["show"]

COLOURS = {
    Standing.HOLDS: "green",
    Standing.ENDED: "dim",
    Standing.DISPUTED: "yellow",
    Standing.DOUBTED: "yellow",
    Standing.RETRACTED: "red",
}
NOBODY = "Nothing is known here. (-u names a user.)"


@show.register
def _(answer: Fact, explain: bool = False) -> None:
    line = Text(f"{answer.standing.value:<9} ", style=COLOURS[answer.standing])
    line.append(terminal.shown(answer.text)).append(f"  {answer.when}", style="cyan")
    line.append(f"  {answer.confidence:.0%} sure", style="dim")
    say(line)
    sources = f", {len(answer.sources)} sources" if len(answer.sources) > 1 else ""
    say(Text(f"{INDENT}{answer.id}  {answer.kind}{sources}", style="dim"))


@show.register
def _(answer: Facts, explain: bool = False) -> None:
    for fact in answer.facts:
        show(fact)
    if not answer.facts:
        note(NOBODY)


@show.register
def _(answer: Conflicts, explain: bool = False) -> None:
    for rivals in answer.conflicts:
        say(Text("either", style="bold"))
        for fact in rivals:
            show(fact)
    if not answer.conflicts:
        note("Nothing contradicts anything here.")


@show.register
def _(answer: Read, explain: bool = False) -> None:
    for statement in answer.statements:
        say(_statement(statement))
    for name in answer.names:
        say(Text(f"{INDENT}{terminal.shown(name.text)}: {name.type}", style="dim"))
    _reasons(answer.refused)
    if not (answer.statements or answer.names or answer.refused):
        note("It says nothing that would be kept.")


@show.register
def _(answer: Refused, explain: bool = False) -> None:
    _reasons(answer.reasons)
    if not answer.reasons:
        note("Nothing was refused since the memory was opened.")


@show.register
def _(answer: Node, explain: bool = False) -> None:
    say(_headline(answer))
    for relation in answer.relations:
        say(Text(INDENT).append_text(_edge(relation)))
    for fact in answer.facts:
        say(Text(f"{INDENT}{terminal.shown(fact.text)}  {fact.when}"))
    for observation in answer.observations:
        say(Text(f"{INDENT}· {terminal.shown(observation.text)}"))


@show.register
def _(answer: Nodes, explain: bool = False) -> None:
    for node in answer.nodes:
        say(_headline(node))
    if not answer.nodes:
        note(NOBODY)


@show.register
def _(answer: Relation, explain: bool = False) -> None:
    say(_edge(answer))


@show.register
def _(answer: Subgraph, explain: bool = False) -> None:
    for node in answer.nodes:
        say(_headline(node))
    for edge in answer.edges:
        say(Text(INDENT).append_text(_edge(edge)))
    for pair in answer.together:
        names = f"{terminal.shown(pair.a)} and {terminal.shown(pair.b)}"
        say(Text(f"{INDENT}{names}: together in {pair.memories}", style="dim"))


@show.register
def _(answer: Paths, explain: bool = False) -> None:
    for number, path in enumerate(answer.paths, 1):
        say(Text(f"{number}  ", style="bold").append(_way(path)))
    if not answer.paths:
        note("No way leads from one to the other.")


@show.register
def _(answer: Moments, explain: bool = False) -> None:
    for moment in answer.moments:
        say(_moment(moment))
    if not answer.moments:
        note(NOBODY)


@show.register
def _(answer: Mentions, explain: bool = False) -> None:
    for mention in answer.mentions:
        say(_mention(mention))
    if not answer.mentions:
        note("No memory speaks of it.")


@show.register
def _(answer: Communities, explain: bool = False) -> None:
    for community in answer.communities:
        say(_community(community))
    if not answer.communities:
        note(NOBODY)


@show.register
def _(answer: Likenesses, explain: bool = False) -> None:
    for one in answer.likenesses:
        say(_likeness(one))
    if not answer.likenesses:
        note("No two look like one.")


@show.register
def _(answer: Picture, explain: bool = False) -> None:
    note(f"Drawn to {terminal.shown(answer.path)}.")


@show.register
def _(answer: Resolved, explain: bool = False) -> None:
    for one in answer.merged:
        say(_likeness(one))
    if answer.unsure:
        say(Text("for a person to decide:", style="bold"))
    for one in answer.unsure:
        say(_likeness(one))
    done = "would be merged" if answer.dry_run else "merged; `rem graph unmerge` takes one back"
    note(f"{len(answer.merged)} {done}.")


def _statement(said: Statement) -> Text:
    line = Text(f"{terminal.shown(said.subject.text)} ", style="bold")
    line.append(f"{terminal.shown(said.predicate)} ").append(terminal.shown(said.value or "…"))
    began = f"  since {said.began}" if said.began else ""
    ended = f"  until {said.ended}" if said.ended else ""
    return line.append(f"{began}{ended}  {said.confidence:.0%} sure", style="dim")


def _reasons(reasons: object) -> None:
    if isinstance(reasons, dict):
        for reason, count in reasons.items():
            note(f"refused: {reason}, {count}")


def _headline(node: Node) -> Text:
    line = Text(terminal.shown(node.name), style="bold").append(f"  {terminal.shown(node.type)}")
    if node.aliases:
        line.append(f"  also {terminal.shown(', '.join(node.aliases))}", style="dim")
    noun = "memory" if node.mentions == 1 else "memories"
    return line.append(f"  in {node.mentions:,} {noun}" if node.mentions else "", style="dim")


def _edge(edge: Relation) -> Text:
    line = Text(f"{terminal.shown(edge.source)} ").append(terminal.shown(edge.relation), "cyan")
    line.append(f" {terminal.shown(edge.target)}")
    since = f"  since {edge.valid_from:%Y-%m-%d}" if edge.valid_from else ""
    until = f"  until {edge.valid_to:%Y-%m-%d}" if edge.valid_to else ""
    return line.append(since + until, style="dim")


def _way(path: Route) -> str:
    told = terminal.shown(path.names[0])
    for name, edge in zip(path.names[1:], path.edges, strict=True):
        how = edge.relation if isinstance(edge, Relation) else "spoken of with"
        told += f" –{terminal.shown(how)}– {terminal.shown(name)}"
    return told


def _moment(moment: Moment) -> Text:
    line = Text(f"{moment.at:%Y-%m-%d}  ", style="green")
    return line.append(f"{moment.turn.value:<6} {terminal.shown(moment.fact.text)}")


def _mention(mention: Mention) -> Text:
    return Text(f"{mention.happened_at:%Y-%m-%d %H:%M}  ", style="green").append(mention.memory)


def _community(community: Community) -> Text:
    line = Text(terminal.shown(community.name), style="bold")
    return line.append(f"  {terminal.shown(', '.join(community.members))}")


def _likeness(one: Likeness) -> Text:
    line = Text(f"{one.score:.2f}  ", style="cyan")
    line.append(f"{terminal.shown(one.name)} → {terminal.shown(one.into)}")
    return line.append(f"  {terminal.shown('; '.join(one.why))}", style="dim")
