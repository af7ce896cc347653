"""Answers for people: one screen per kind of answer, and bars for what a score is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import singledispatch
from typing import Any

from rich.table import Table
from rich.text import Text

from remanence.api import answers
from remanence.api.values import dumped, plain
from remanence.cli import terminal
from remanence.cli.terminal import Part, counted, note, say, shown
from remanence.layers.cleanup import Cleanup
from remanence.model.erasure import PurgeResult
from remanence.model.graph import TimelineEntry
from remanence.model.hit import Hit, Understanding, WhyNot
from remanence.model.knowledge import Mention
from remanence.model.memory import Association, MemoryRecord, Related, Revision
from remanence.model.stats import EMBEDDER, CacheUse, Finding, IndexUse, Stats
from remanence.model.tier import TierUse

INDENT = "    "
MOST = 500
# What is said where a list is empty.
NONE: dict[type, str] = {answers.Neighbours: "Nothing is linked with it."}


@singledispatch
def show(answer: Any, explain: bool = False) -> None:
    """Show an answer; each kind has its own screen."""
    raise TypeError(f"no screen for a {type(answer).__name__}")


@show.register
def _(answer: answers.Wrapped, explain: bool = False) -> None:
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


# What is said on one line, and in which colour.
LINES: Mapping[type, tuple[str, str]] = {
    answers.Similarity: ("{0.cosine:.3f}", ""),
    Association: ("{0.source} —{0.type} {0.strength:.2f}→ {0.target}", ""),
    answers.FreedSpace: ("Compacted; {0.bytes:,} bytes came free.", ""),
    answers.Copied: ("{0.path} ({0.bytes:,} bytes)", ""),
    TimelineEntry: ("{0.at:%Y-%m-%d}  {0.turn.value:<6} {0.fact.text}", "green"),
    Mention: ("{0.happened_at:%Y-%m-%d %H:%M}  {0.memory}", "green"),
}


def _one_line(answer: Any, explain: bool = False) -> None:
    line, style = LINES[type(answer)]
    say(shown(line.format(answer)), style=style)


for kind in LINES:
    show.register(kind, _one_line)


@show.register
def _(answer: MemoryRecord, explain: bool = False) -> None:
    say(_body(answer.text))
    for name, value in _told(answer).items():
        say((f"{INDENT}{name:<13}", "dim"), value_of(value))


@show.register
def _(answer: answers.MemoryList, explain: bool = False) -> None:
    for record in answer.memories:
        show_brief(record)
    if not answer.memories:
        note("No memories here. (-u names a user; without it, those of no user are listed.)")


@show.register
def _(answer: answers.SearchResult, explain: bool = False) -> None:
    if explain:
        say(f"understood: {shown(told_of(answer.understood))}", style="dim")
    for rank, hit in enumerate(answer.hits, 1):
        show_hit(rank, hit)
        if explain:
            say(bars(hit.signals, INDENT))
    if answer.confidence is not None:
        note(f"Confidence that the first hits answer: {answer.confidence:.2f}.")
    if explain and answer.confidence_signals:
        say("what the confidence is made of:", style="dim")
        say(bars(answer.confidence_signals, INDENT))
    if answer.degraded:
        note(f"Searched without {'; '.join(one.rstrip('.') for one in answer.degraded)}.")
    if not answer.hits and answer.confidence:
        note("Nothing here answers it well enough.")
    elif not answer.hits:
        note("Nothing found. (-u names a user; without it, what belongs to none is searched.)")


@show.register
def _(answer: WhyNot, explain: bool = False) -> None:
    say((f"{answer.stage}: ", "bold"), answer.explanation)
    if answer.signals:
        say(bars(answer.signals, INDENT))


@show.register(answers.ForgetResult)
@show.register(Cleanup)
def _(answer: answers.ForgetResult | Cleanup, explain: bool = False) -> None:
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
def _(answer: answers.FeedbackGiven, explain: bool = False) -> None:
    say("Noted." if answer.useful else "Noted; sorry.")


@show.register
def _(answer: answers.Examination, explain: bool = False) -> None:
    for each in answer.findings:
        mended = f", {each.repaired} mended" if each.repaired else ""
        state = "ok" if not each.problems else f"{each.problems} wrong{mended}"
        mark = ("✓ ", "green") if _sound(each) else ("✗ ", "red")
        say(mark, f"{each.check}: {state}", (f"  {each.detail}", "dim"))
    if not all(_sound(each) for each in answer.findings if each.check != EMBEDDER):
        note("Run `rem doctor --repair` to mend what can be mended.")


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
    if hit.times:
        told = "; ".join(f"{shown(one.text)}: {one.when}" for one in hit.times)
        say(f"{INDENT}{told}", style="dim")


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


MB = 1024 * 1024


def show_stats(stats: Stats) -> None:
    """Counts, growth and sizes as one small table."""
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in _rows(stats).items():
        table.add_row(name, value)
    terminal.stdout().print(table)


def _rows(stats: Stats) -> dict[str, str]:
    return {
        "memories": f"{stats.memories:,}{_of(stats.max_memories)}  ({_counts(stats.by_kind)})",
        "texts and documents": f"{stats.bytes_used:,}{_of(stats.max_bytes)} bytes",
        "states": _counts(stats.by_state),
        "per day": f"{stats.per_day:g}  over {len(stats.by_day)} active days",
        "associations": f"{stats.associations:,}",
        "layers": _counts(stats.documents),
        "knowledge": f"{stats.entities:,} entities, {stats.claims:,} claims",
        "without vectors": f"{stats.pending:,}",
        "embedder": stats.embedder,
        "index": _index(stats.index),
        "cache": _cache(stats.cache),
        "on disk": f"{stats.bytes_on_disk / MB:.1f} MB",
        **{f"{one.tier} tier": _tier(one) for one in stats.tiers if one.memories},
        "in memory": f"{stats.memory_mb:.1f} of {stats.budget_mb:g} MB",
        "process": f"{stats.process_mb:.0f} MB",
    }


def _of(most: int) -> str:
    return f" of {most:,}" if most else ""


def _tier(one: TierUse) -> str:
    """A tier: how many memories, and the bytes of each part without packing and as stored."""
    parts = {
        "text": (one.text_raw, one.text_stored),
        "vectors": (one.vectors_raw, one.vectors_stored),
        "codes": (one.codes_raw, one.codes_stored),
    }
    told = ", ".join(f"{name} {_size(raw)} → {_size(kept)}" for name, (raw, kept) in parts.items())
    return f"{one.memories:,} memories: {told}"


def _size(count: int) -> str:
    return f"{count / MB:.1f} MB" if count >= MB else f"{count / 1024:.1f} KB"


def _index(index: IndexUse) -> str:
    if not index.healthy:
        return f"{index.kind}: {index.detail}"
    return f"{index.kind}, {index.behind:,} changes behind" if index.behind else index.kind


def _cache(cache: CacheUse | None) -> str:
    if cache is None:
        return "none"
    if not cache.healthy:
        return f"{cache.kind}: {cache.detail}"
    asked = cache.hits + cache.misses
    return (
        f"{cache.kind}, {cache.entries:,} entries, {cache.mb:.1f} MB, {cache.hits} of {asked} hit"
    )


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"


WIDTH = 16
SLIGHT = 0.005


def bars(signals: Mapping[str, float], indent: str) -> Text:
    """A line per signal, strongest first: name, bar, value."""
    strongest = _strongest(signals)
    scale = max((abs(value) for value in strongest.values()), default=1.0)
    lines = Text()
    for name, value in strongest.items():
        lines.append(f"{indent}{name:<12}", style="dim")
        lines.append_text(_bar(value, scale, WIDTH))
        lines.append(f" {value:+.2f}\n", style="dim")
    lines.rstrip()
    return lines


def strip(signals: Mapping[str, float], most: int) -> Text:
    """The strongest signals on one line."""
    strongest = list(_strongest({n: v for n, v in signals.items() if n != "base"}).items())[:most]
    scale = max((abs(value) for _, value in strongest), default=1.0)
    line = Text()
    for name, value in strongest:
        line.append(f"{name} ", style="dim")
        line.append_text(_bar(value, scale, 5))
        line.append(f" {value:+.1f}   ", style="dim")
    line.rstrip()
    return line


def _strongest(signals: Mapping[str, float]) -> dict[str, float]:
    felt = {name: value for name, value in signals.items() if abs(value) >= SLIGHT}
    return dict(sorted(felt.items(), key=lambda pair: -abs(pair[1])))


def _bar(value: float, scale: float, width: int) -> Text:
    length = max(1, round(width * abs(value) / scale))
    return Text("▇" * length + " " * (width - length), style="green" if value > 0 else "red")
