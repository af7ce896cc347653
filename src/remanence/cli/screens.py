"""Answers for people: one screen per kind of answer."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from rich.text import Text

from remanence.cli import terminal
from remanence.cli.bars import bars
from remanence.cli.figures import show_stats
from remanence.layers.cleanup import Cleanup
from remanence.model.hit import Hit, Understanding, WhyNot
from remanence.model.memory import Association, MemoryRecord, Revision
from remanence.model.purge import Purged
from remanence.model.stats import EMBEDDER, Finding, Stats
from remanence.operations.rendering import dumped, plain
from remanence.operations.responses import (
    Copied,
    Count,
    Examination,
    Forgotten,
    Found,
    Freed,
    History,
    Memories,
    Neighbours,
    Noted,
    Similarity,
    Zone,
)

INDENT = "    "
MOST = 500


def say(line: Text | str) -> None:
    """A line to stdout; only a terminal wraps it, so that pipes get whole lines."""
    console = terminal.stdout()
    console.print(line, soft_wrap=not console.is_terminal)


def note(line: str) -> None:
    """A remark beside the data, on stderr."""
    terminal.stderr().print(terminal.shown(line), style="dim", soft_wrap=True)


@singledispatch
def show(answer: Any, explain: bool = False) -> None:
    """Show an answer; each kind has its own screen."""
    raise TypeError(f"no screen for a {type(answer).__name__}")


@show.register
def _(answer: MemoryRecord, explain: bool = False) -> None:
    say(_body(answer.text))
    for name, value in _told(answer).items():
        say(Text.assemble((f"{INDENT}{name:<13}", "dim"), _value(value)))


@show.register
def _(answer: Memories, explain: bool = False) -> None:
    for record in answer.memories:
        show_brief(record)
    if not answer.memories:
        note("No memories here. (-u names a user; without it, those of no user are listed.)")


@show.register
def _(answer: Found, explain: bool = False) -> None:
    if explain:
        show_understood(answer.understood)
    for rank, hit in enumerate(answer.hits, 1):
        show_hit(rank, hit)
        if explain:
            say(bars(hit.signals, INDENT))
    if answer.degraded:
        note(f"Searched without {'; '.join(one.rstrip('.') for one in answer.degraded)}.")
    if not answer.hits:
        note("Nothing found. (-u names a user; without it, what belongs to none is searched.)")


@show.register
def _(answer: WhyNot, explain: bool = False) -> None:
    say(Text.assemble((f"{answer.stage}: ", "bold"), answer.explanation))
    if answer.signals:
        say(bars(answer.signals, INDENT))


@show.register(Forgotten)
@show.register(Cleanup)
def _(answer: Forgotten | Cleanup, explain: bool = False) -> None:
    for record in answer.memories:
        say(Text.assemble((f"{record.id}  ", "dim"), _short(record.text)))
    erased = getattr(answer, "erased", False)
    note(_counted(len(answer.memories), answer.dry_run, "erased" if erased else "archived"))
    if receipt := getattr(answer, "receipt", None):
        along = receipt.counts.get("derived", 0) + receipt.counts.get("merged", 0)
        more = f" {along:,} that came of them went too." if along else ""
        note(f"Receipt {receipt.id}: `rem erasures get` shows it.{more}")


@show.register
def _(answer: Purged, explain: bool = False) -> None:
    away = "erased" if answer.erased else "in quarantine"
    told = {away: answer.removed, "as before": answer.reverted, "back again": answer.returned}
    told |= {"claim gone": answer.claims, "link gone": tuple(map(" ".join, answer.links))}
    for name, ids in told.items():
        for id in ids:
            say(Text.assemble((f"{name:<14}", "dim"), terminal.shown(id)))
    for block in answer.blocks:
        now = f"version {block.version}" if block.version else "deleted"
        parts = (block.label, block.user_id, block.agent_id, now)
        line = " ".join(part for part in parts if part)
        say(Text.assemble(("block         ", "dim"), terminal.shown(line)))
    for one in answer.kept:
        named = " ".join(part for part in (one.what, one.id, one.field) if part)
        say(Text.assemble(("kept          ", "yellow"), terminal.shown(f"{named}: {one.reason}")))
    note(f"{answer.count:,} {'would be ' if answer.dry_run else ''}taken back.")
    if answer.receipt is not None:
        note(f"Receipt {answer.receipt.id}: `rem erasures get` shows it.")


@show.register
def _(answer: Count, explain: bool = False) -> None:
    say(f"{answer.count}")


@show.register
def _(answer: History, explain: bool = False) -> None:
    for revision in answer.revisions:
        say(_revision(revision))
        for name, value in revision.before.items():
            say(Text.assemble((f"{INDENT}{name} was ", "dim"), _value(plain(value))))


@show.register
def _(answer: Similarity, explain: bool = False) -> None:
    say(f"{answer.cosine:.3f}")


@show.register
def _(answer: Zone, explain: bool = False) -> None:
    say(terminal.shown(answer.timezone))


@show.register
def _(answer: Association, explain: bool = False) -> None:
    say(f"{answer.source} —{terminal.shown(answer.type)} {answer.strength:.2f}→ {answer.target}")


@show.register
def _(answer: Neighbours, explain: bool = False) -> None:
    for each in answer.related:
        arrow = "→" if each.outgoing else "←"
        say(Text(f"{arrow} {terminal.shown(each.type)} {each.strength:.2f}", style="bold"))
        show_brief(each.memory)
    if not answer.related:
        note("Nothing is linked with it.")


@show.register
def _(answer: Noted, explain: bool = False) -> None:
    say("Noted." if answer.useful else "Noted; sorry.")


@show.register
def _(answer: Examination, explain: bool = False) -> None:
    for each in answer.findings:
        mended = f", {each.repaired} mended" if each.repaired else ""
        state = "ok" if not each.problems else f"{each.problems} wrong{mended}"
        mark = ("✓ ", "green") if _sound(each) else ("✗ ", "red")
        say(Text.assemble(mark, f"{each.check}: {state}", (f"  {each.detail}", "dim")))
    if not all(_sound(each) for each in answer.findings if each.check != EMBEDDER):
        note("Run `rem doctor --repair` to mend what can be mended.")


@show.register
def _(answer: Freed, explain: bool = False) -> None:
    say(f"Compacted; {answer.bytes:,} bytes came free.")


@show.register
def _(answer: Copied, explain: bool = False) -> None:
    say(f"{answer.path} ({answer.bytes:,} bytes)")


@show.register
def _(answer: Stats, explain: bool = False) -> None:
    show_stats(answer)


def _sound(finding: Finding) -> bool:
    return finding.problems <= finding.repaired


def show_brief(record: MemoryRecord) -> None:
    """A memory in two lines."""
    say(headline(record))
    say(_body(record.text))


def show_hit(rank: int, hit: Hit) -> None:
    """A hit: rank, score, date and speaker, then the text or the passage that matched."""
    head = Text.assemble((f"{rank:>2}  ", "bold"), (f"{hit.score:+.2f}  ", "cyan"))
    say(head.append_text(headline(hit.memory)))
    say(_body(hit.memory.text if len(hit.memory.text) <= MOST else _passage(hit)))


def show_understood(understood: Understanding) -> None:
    """What was read out of the question."""
    say(Text(f"understood: {terminal.shown(told_of(understood))}", style="dim"))


def told_of(understood: Understanding) -> str:
    """What was read out of the question, in words."""
    parts = [f"words {', '.join(understood.terms)}"] if understood.terms else []
    if understood.people:
        parts.append(f"people {', '.join(understood.people)}")
    if understood.since and understood.until:
        parts.append(f"time {understood.since:%Y-%m-%d} to {understood.until:%Y-%m-%d}")
    return " · ".join(parts) or "nothing in particular"


def headline(record: MemoryRecord) -> Text:
    """When, who, what kind and which id."""
    line = Text(f"{record.happened_at:%Y-%m-%d}", style="green")
    if record.speaker or record.role:
        line.append(f"  {terminal.shown(record.speaker or record.role or '')}", style="bold")
    line.append(f"  {record.kind}  {record.id}", style="dim")
    return line


def _body(text: str) -> Text:
    lines = terminal.shown(text).splitlines() or [""]
    return Text("\n".join(f"{INDENT}{line}" for line in lines))


def _passage(hit: Hit) -> str:
    cut = hit.passage if len(hit.passage) <= MOST else f"{hit.passage[:MOST]} …"
    return cut if hit.memory.text.startswith(hit.passage) else f"… {cut}"


def _short(text: str) -> str:
    line = terminal.shown(" ".join(text.split()))
    return line if len(line) <= 80 else f"{line[:79]}…"


def _told(record: MemoryRecord) -> dict[str, Any]:
    data = plain(record)
    return {n: v for n, v in data.items() if n != "text" and v not in (None, {})}  # type: ignore[union-attr]


def _value(value: Any) -> str:
    return terminal.shown(value if isinstance(value, str) else dumped(value))


def _revision(revision: Revision) -> Text:
    line = Text(f"{revision.version:>3}  ", style="bold")
    line.append(f"{revision.at:%Y-%m-%d %H:%M}  {terminal.shown(revision.verb)}")
    if revision.actor:
        line.append(f"  by {terminal.shown(revision.actor)}")
    if revision.reason:
        line.append(f"  ({terminal.shown(revision.reason)})", style="dim")
    return line


def _counted(count: int, dry_run: bool, done: str) -> str:
    noun = "memory" if count == 1 else "memories"
    return f"{count:,} {noun} would be {done}." if dry_run else f"{count:,} {noun} {done}."
