"""Answers for people: one screen per kind of answer."""

from __future__ import annotations

from dataclasses import fields
from functools import singledispatch
from typing import Any

from rich.text import Text

from remanence.api.answers import (
    Copied,
    Examination,
    FeedbackGiven,
    ForgetResult,
    FreedSpace,
    MemoryList,
    Neighbours,
    SearchResult,
    Similarity,
    Wrapped,
)
from remanence.api.rendering import dumped, plain
from remanence.cli.figures import bars, show_stats
from remanence.cli.terminal import Part, counted, note, say, shown
from remanence.layers.cleanup import Cleanup
from remanence.model.erasure import PurgeResult
from remanence.model.hit import Hit, Understanding, WhyNot
from remanence.model.memory import Association, MemoryRecord, Related, Revision
from remanence.model.stats import EMBEDDER, Finding, Stats

INDENT = "    "
MOST = 500
# What is said where a list is empty.
NONE: dict[type, str] = {Neighbours: "Nothing is linked with it."}


@singledispatch
def show(answer: Any, explain: bool = False) -> None:
    """Show an answer; each kind has its own screen."""
    raise TypeError(f"no screen for a {type(answer).__name__}")


@show.register
def _(answer: Wrapped, explain: bool = False) -> None:
    """A value; or several things one after the other, or why there are none."""
    (only,) = fields(answer)  # type: ignore[arg-type]
    told = getattr(answer, only.name)
    if not isinstance(told, tuple):
        say(value_of(told))
        return
    for one in told:
        show(one)
    if not told and type(answer) in NONE:
        note(NONE[type(answer)])


@show.register
def _(answer: MemoryRecord, explain: bool = False) -> None:
    say(_body(answer.text))
    for name, value in _told(answer).items():
        say((f"{INDENT}{name:<13}", "dim"), value_of(value))


@show.register
def _(answer: MemoryList, explain: bool = False) -> None:
    for record in answer.memories:
        show_brief(record)
    if not answer.memories:
        note("No memories here. (-u names a user; without it, those of no user are listed.)")


@show.register
def _(answer: SearchResult, explain: bool = False) -> None:
    if explain:
        say(f"understood: {shown(told_of(answer.understood))}", style="dim")
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
    say((f"{answer.stage}: ", "bold"), answer.explanation)
    if answer.signals:
        say(bars(answer.signals, INDENT))


@show.register(ForgetResult)
@show.register(Cleanup)
def _(answer: ForgetResult | Cleanup, explain: bool = False) -> None:
    for record in answer.memories:
        say((f"{record.id}  ", "dim"), _short(record.text))
    told = counted(len(answer.memories), "memory", "memories")
    would = "would be " if answer.dry_run else ""
    note(f"{told} {would}{'erased' if getattr(answer, 'erased', False) else 'archived'}.")
    if receipt := getattr(answer, "receipt", None):
        along = receipt.counts.get("derived", 0) + receipt.counts.get("merged", 0)
        more = f" {along:,} that came of them went too." if along else ""
        note(f"Receipt {receipt.id}: `rem erasures get` shows it.{more}")


@show.register
def _(answer: PurgeResult, explain: bool = False) -> None:
    away = "erased" if answer.erased else "in quarantine"
    told = {away: answer.removed, "as before": answer.reverted, "back again": answer.returned}
    told |= {"claim gone": answer.claims, "link gone": tuple(map(" ".join, answer.links))}
    for name, ids in told.items():
        for id in ids:
            say((f"{name:<14}", "dim"), shown(id))
    for block in answer.blocks:
        now = f"version {block.version}" if block.version else "deleted"
        parts = (block.label, block.user_id, block.agent_id, now)
        say(("block         ", "dim"), shown(" ".join(filter(None, parts))))
    for one in answer.kept:
        named = " ".join(filter(None, (one.what, one.id, one.field)))
        say(("kept          ", "yellow"), shown(f"{named}: {one.reason}"))
    note(f"{answer.count:,} {'would be ' if answer.dry_run else ''}taken back.")
    if answer.receipt is not None:
        note(f"Receipt {answer.receipt.id}: `rem erasures get` shows it.")


@show.register(Similarity)
def _(answer: Any, explain: bool = False) -> None:
    say(f"{answer.cosine:.3f}")


@show.register
def _(answer: Association, explain: bool = False) -> None:
    say(f"{answer.source} —{shown(answer.type)} {answer.strength:.2f}→ {answer.target}")


@show.register
def _(answer: Related, explain: bool = False) -> None:
    arrow = "→" if answer.outgoing else "←"
    say(f"{arrow} {shown(answer.type)} {answer.strength:.2f}", style="bold")
    show_brief(answer.memory)


@show.register
def _(answer: Revision, explain: bool = False) -> None:
    when = f"{answer.version:>3}  {answer.at:%Y-%m-%d %H:%M}  "
    say(when, shown(answer.verb), *by_whom(answer.actor, answer.reason), style="bold")
    for name, value in answer.before.items():
        say((f"{INDENT}{name} was ", "dim"), value_of(plain(value)))


@show.register
def _(answer: FeedbackGiven, explain: bool = False) -> None:
    say("Noted." if answer.useful else "Noted; sorry.")


@show.register
def _(answer: Examination, explain: bool = False) -> None:
    for each in answer.findings:
        mended = f", {each.repaired} mended" if each.repaired else ""
        state = "ok" if not each.problems else f"{each.problems} wrong{mended}"
        mark = ("✓ ", "green") if _sound(each) else ("✗ ", "red")
        say(mark, f"{each.check}: {state}", (f"  {each.detail}", "dim"))
    if not all(_sound(each) for each in answer.findings if each.check != EMBEDDER):
        note("Run `rem doctor --repair` to mend what can be mended.")


@show.register(FreedSpace)
def _(answer: Any, explain: bool = False) -> None:
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
    say((f"{rank:>2}  ", "bold"), (f"{hit.score:+.2f}  ", "cyan"), headline(hit.memory))
    say(_body(hit.memory.text if len(hit.memory.text) <= MOST else _passage(hit)))


def by_whom(actor: str | None, reason: str | None) -> tuple[Part, Part]:
    """Who did it and why, as the end of a line."""
    why = f"  ({shown(reason)})" if reason else ""
    return f"  by {shown(actor)}" if actor else "", (why, "dim")


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
    who = record.speaker or record.role
    line = Text(f"{record.happened_at:%Y-%m-%d}", style="green")
    line.append(f"  {shown(who)}" if who else "", style="bold")
    return line.append(f"  {record.kind}  {record.id}", style="dim")


def _body(text: str) -> str:
    return "\n".join(f"{INDENT}{line}" for line in shown(text).splitlines() or [""])


def _passage(hit: Hit) -> str:
    cut = hit.passage if len(hit.passage) <= MOST else f"{hit.passage[:MOST]} …"
    return cut if hit.memory.text.startswith(hit.passage) else f"… {cut}"


def _short(text: str) -> str:
    line = shown(" ".join(text.split()))
    return line if len(line) <= 80 else f"{line[:79]}…"


def _told(record: MemoryRecord) -> dict[str, Any]:
    data = plain(record)
    return {n: v for n, v in data.items() if n != "text" and v not in (None, {})}  # type: ignore[union-attr]


def value_of(value: Any) -> str:
    """A value as JSON has it; a text is itself."""
    return shown(value if isinstance(value, str) else dumped(value))
