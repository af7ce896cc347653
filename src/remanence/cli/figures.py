"""The screen of `rem stats`."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table

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
