"""Small bars for the signals a score is made of."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

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
