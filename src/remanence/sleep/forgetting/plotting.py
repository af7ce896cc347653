"""Pictures of fading: strength over days, as lines of text or as a PNG or SVG file."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.errors import ConfigError, InvalidInput
from remanence.model.memory import MemoryRecord
from remanence.model.sleep import ForgetPolicy
from remanence.sleep.forgetting.days import Days, calendar_days
from remanence.sleep.forgetting.forecast import Forecast, excerpt_of
from remanence.sleep.forgetting.strength import days_to_fade, strength, trace_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLOCKS = " ▁▂▃▄▅▆▇█"
LABEL = 40
WIDEST = 1_000
STEPS = 200
# Okabe and Ito's palette, told apart by colour-blind eyes too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """How one memory fades. `start` is its last use or change, in days from now, never above 0.

    What it was before is not known: only the last use and the number of uses are kept.
    """

    label: str
    importance: float
    uses: int
    start: float

    def at(self, day: float, policy: ForgetPolicy) -> float | None:
        """Its strength on a day counted from now; None before its last use."""
        if day < self.start:
            return None
        return strength(self.importance, day - self.start, self.uses, policy)


def curve_of(record: MemoryRecord, now: datetime, days: Days = calendar_days) -> Curve:
    """A memory's curve, labelled with the beginning of its text."""
    trace = trace_of(record)
    start = -max(0.0, days(trace.touched, now))
    label = excerpt_of(record.text, LABEL)
    return Curve(label=label, importance=trace.importance, uses=trace.uses, start=start)


def foreseen(coming: Forecast) -> list[Curve]:
    """The curves of what a forecast tells in detail."""
    return [
        Curve(
            label=excerpt_of(one.excerpt, LABEL),
            importance=one.importance,
            uses=one.uses,
            start=-max(0.0, calendar_days(one.touched, coming.now)),
        )
        for one in coming.first
    ]


def text_plot(
    curves: Sequence[Curve],
    policy: ForgetPolicy,
    *,
    days: int = 90,
    width: int = 60,
    height: int = 4,
) -> list[str]:
    """A small chart for each memory, in lines of at most `width` + 8 characters or its label's.

    `╌` is the floor, `●` the last use, `┼` now.
    """
    _check_size(days, width, height)
    first = _first(curves, days)
    charts = [_chart(curve, policy, (first, days), (width, height)) for curve in curves]
    return [line for chart in charts for line in chart]


def draw(curves: Sequence[Curve], policy: ForgetPolicy, path: Path, *, days: int = 90) -> None:
    """Draw the curves to a .png or .svg file, in place of what was there."""
    if path.suffix.lower() not in (".png", ".svg"):
        raise InvalidInput(f"A picture's path must end in .png or .svg; got {path.name[:60]!r}.")
    _check_size(days, 1, 1)
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError(
            f"Plotting needs an extra: run `pip install 'remanence[plot]'` ({error})."
        ) from error
    figure = Figure(figsize=(9, 5), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    _draw_on(axes, curves, policy, (_first(curves, days), days))
    _save(figure, path)


def _check_size(*sizes: int) -> None:
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= WIDEST:
            raise InvalidInput(
                f"days, width and height must be whole numbers, 1 to {WIDEST}; got {size!r:.40}."
            )


def _first(curves: Sequence[Curve], days: int) -> float:
    """The day a picture begins with: the earliest last use, no further back than it looks ahead."""
    return max(-float(days), min((curve.start for curve in curves), default=0.0))


def _chart(
    curve: Curve, policy: ForgetPolicy, span: tuple[float, int], size: tuple[int, int]
) -> list[str]:
    width, height = size
    first, last = span
    days = [first + (last - first) * (column + 0.5) / width for column in range(width)]
    values = [curve.at(day, policy) or 0.0 for day in days]
    top = max(curve.importance, policy.floor) or 1.0
    floor = min(int(policy.floor / top * height), height - 1)
    rows = []
    for row in reversed(range(height)):
        name = f"{top:.2f}" if row == height - 1 else f"{policy.floor:.2f}" if row == floor else ""
        cells = [_block(value / top * height - row) for value in values]
        line = "".join("╌" if row == floor and cell == " " else cell for cell in cells)
        rows.append(f"{name:>5} │{line}")
    axis = "".join(_tick(curve, *edges) for edges in _edges(first, last, width))
    return [curve.label, *rows, f"{'':>5} └{axis}", f"{'':>7}{_told(curve, policy, last)}"]


def _block(filled: float) -> str:
    return BLOCKS[max(0, min(8, round(filled * 8)))]


def _edges(first: float, last: float, width: int) -> list[tuple[float, float]]:
    step = (last - first) / width
    return [(first + step * n, first + step * (n + 1)) for n in range(width)]


def _tick(curve: Curve, left: float, right: float) -> str:
    if curve.uses and left <= curve.start < right:
        return "●"
    return "┼" if left <= 0 < right else "─"


def _told(curve: Curve, policy: ForgetPolicy, last: int) -> str:
    fading = days_to_fade(curve.importance, curve.uses, policy)
    left = None if fading is None else fading + curve.start
    if left is None:
        end = "never below the floor"
    elif left <= 0:
        end = "below the floor"
    else:
        end = f"below the floor in {left:.0f} days"
    return f"touched {-curve.start:.0f} days ago, uses {curve.uses}, {end}; {last} days ahead"


def _draw_on(
    axes: Axes, curves: Sequence[Curve], policy: ForgetPolicy, span: tuple[float, int]
) -> None:
    first, last = span
    for number, curve in enumerate(curves):
        start = max(first, curve.start)
        days = [start + (last - start) * n / STEPS for n in range(STEPS + 1)]
        colour = COLOURS[number % len(COLOURS)]
        # A label that begins with a line would be left out, one with dollar signs is no formula.
        label = " " + curve.label.replace("$", r"\$")
        axes.plot(days, [curve.at(day, policy) or 0.0 for day in days], color=colour, label=label)
        if curve.uses and curve.start >= first:
            axes.plot([curve.start], [curve.importance], "o", color=colour)
    axes.axhline(policy.floor, color="#777777", linestyle="--", linewidth=0.9, label="floor")
    axes.axvline(0, color="#BBBBBB", linewidth=0.9)
    axes.set_xlabel("active days from now" if policy.active_days else "days from now")
    axes.set_ylabel("strength")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=7)


def _save(figure: Figure, path: Path) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        try:
            figure.savefig(path, format=path.suffix[1:].lower())
        except OSError as error:
            raise InvalidInput(
                f"Cannot write {path}: {error.strerror}; give another path."
            ) from error
