"""The screen of `rem stats`, and small bars for the signals a score is made of."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from remanence.cli import terminal
from remanence.model.stats import CacheUse, IndexUse, Stats
from remanence.model.tier import TierUse

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
