"""The screen of `rem stats`."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table

from remanence.cli import terminal
from remanence.model.stats import Stats

MB = 1024 * 1024


def show_stats(stats: Stats) -> None:
    """Counts, growth and sizes as one small table."""
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in _rows(stats).items():
        table.add_row(name, value)
    terminal.stdout().print(table)


def _rows(stats: Stats) -> dict[str, str]:
    return {
        "memories": f"{stats.memories:,}  ({_counts(stats.by_kind)})",
        "states": _counts(stats.by_state),
        "per day": f"{stats.per_day:g}  over {len(stats.by_day)} active days",
        "associations": f"{stats.associations:,}",
        "without vectors": f"{stats.pending:,}",
        "embedder": stats.embedder,
        "on disk": f"{stats.bytes_on_disk / MB:.1f} MB",
        "in memory": f"{stats.memory_mb:.1f} of {stats.budget_mb:g} MB",
        "process": f"{stats.process_mb:.0f} MB",
    }


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"
